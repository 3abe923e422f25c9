"""Generates the resource classes, their asyncio counterparts, and the routes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from description import Description, Member, Operation, Resource, python_name
from writing import docstring, module, sentence

_TYPES = {
    "amount": "Money",
    "boolean": "bool",
    "id": "Id",
    "integer": "int",
    "metadata": "Mapping[str, str]",
    "string": "str",
    "timestamp": "Timestamp",
    "uuid": "Id",
    "word": "str",
}
_SEVERAL = {"Id": "Ids", "str": "Texts"}
_PAGE_SIZE = "items on a page, 1 to 1000; it does not limit how many are returned"
_PAGING = ("limit", "order", "page_cursor")
_KEY = "repeating the call with the same key returns the first answer"
_MORE = {
    "order": "order by creation time, newest first by default",
    "limit": "items on a page, 1 to 1000",
    "columns": "the columns; all of them by default",
    "filters": "those of `list`",
}
# Docstring entry of streams and iterators, which have the filters of their list.
_FILTERS = [("filters", _MORE["filters"])]
# What makes the class of a resource that of its coroutines.
_ASYNC = (
    (r"^class (\w+)\(Resource\)", r"class Async\1(AsyncResource)"),
    (r" of a service\.", " of an asynchronous service."),
    (r"^    def (?!iter\b)", "    async def "),
    (r"(= |return )(self\._(?:send|stream)\()", r"\1await \2"),
    (r"-> Iterator\[", "-> AsyncIterator["),
)


def routes_module(description: Description) -> str:
    """Returns the module with the method, path, operation and envelope of every route."""
    rows = [
        (operation.method, path, operation.name, operation.envelope or None)
        for operation in description.operations
        for path in operation.paths
    ]
    return module(
        (
            "The routes: method, path, operation, and the member that holds the record.",
            "The first route of an operation is the one that is documented.",
        ),
        "ROUTES: tuple[tuple[str, str, str, str | None], ...] = (\n"
        + "".join(f"{row!r},\n" for row in rows)
        + ")",
    )


def package_module(description: Description) -> str:
    """Returns the package of the operations, whose class `Resources` has one of each resource."""
    classes = [(each.name, each.class_name) for each in description.resources]
    return module(
        (
            "The operations: one class for each resource, one method for each operation.",
            "The classes do not know where the service runs: a :class:`Transport` carries their "
            "calls to a store of this process or to a server.",
        ),
        *_package(classes, "operations", "Transport", "Resources"),
    )


def async_package_module(description: Description) -> str:
    """Returns the package of the asyncio operations."""
    classes = [(each.name, f"Async{each.class_name}") for each in description.resources]
    return module(
        ("The asynchronous twins of the operations: the same methods, as coroutines.", ""),
        *_package(classes, "async_operations", "AsyncTransport", "AsyncResources"),
    )


def _package(
    classes: list[tuple[str, str]], package: str, transport: str, holder: str
) -> Iterator[str]:
    imports = [f"from comptroller.{package}.{name} import {each}" for name, each in classes]
    yield "\n".join([*imports, f"from comptroller.{package}.resource import {transport}"])
    yield f"__all__ = {sorted([*(each for _, each in classes), holder, transport])!r}"
    yield "\n".join(
        [
            f"class {holder}:",
            docstring(4, "The resources of a service, each with its operations."),
            "",
            *(f"    {name}: {each}" for name, each in classes),
            "",
            f"    def __init__(self, transport: {transport}) -> None:",
            *(f"        self.{name} = {each}(transport)" for name, each in classes),
        ]
    )


def resource_module(description: Description, resource: Resource) -> str:
    """Returns the module of a resource: its class, and the filters of its list."""
    return module(
        (f"Operations on {resource.plural}.", ""),
        _imports(description, resource)
        + "from comptroller.operations.resource import Resource, list_request, record_request\n"
        "from comptroller.operations.resource import request\n",
        _filters_class(description, resource),
        _class(description, resource),
    )


def async_resource_module(description: Description, resource: Resource) -> str:
    """Returns the module of the asyncio class of a resource."""
    return module(
        (f"Operations on {resource.plural}, as coroutines.", ""),
        _imports(description, resource)
        + f"from comptroller.operations.{resource.name} import {resource.record}Filters\n"
        "from comptroller.async_operations.resource import AsyncResource\n"
        "from comptroller.operations.resource import list_request, record_request, request\n",
        _asynchronous(_class(description, resource)),
    )


def async_webhooks_module(webhooks: str) -> str:
    """Returns the module of the asyncio class of the webhooks, from that of their class."""
    _, _, body = webhooks.partition("class WebhookOperations")
    return module(
        ("Operations on webhooks, as coroutines.", ""),
        """
from comptroller.arguments import Id, Key, Texts, Timestamp
from comptroller.async_operations.resource import AsyncResource
from comptroller.operations.resource import request
from comptroller.operations.webhooks import event_type_texts, write_request
from comptroller.records import Webhook, WebhookDeliveries, WebhookDelivery, Webhooks, WebhookSecret
from comptroller.values import WebhookStatus
""",
        _asynchronous("class WebhookOperations" + body.partition("\n\n\ndef ")[0]),
        note="# Generated from operations/webhooks.py by `make generate`.",
    )


def _imports(description: Description, resource: Resource) -> str:
    """Returns all possible imports of a class; formatting removes the unused ones."""
    answers = {operation.answer for operation in description.operations_of(resource)}
    return f"""
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Never, TypedDict, Unpack
from comptroller.arguments import Id, Ids, Key, Money, Texts, Timestamp
from comptroller.operations.pages import Page
from comptroller.records import {", ".join(sorted(answers))}
from comptroller.bulk.streams import Stream
from comptroller.values import {", ".join(description.enums)}
"""


def _filters(description: Description, resource: Resource) -> dict[str, Member]:
    listing = next(o for o in description.operations_of(resource) if o.is_list)
    members = description.members_of(listing.request)
    return {name: member for name, member in members.items() if name not in _PAGING}


def _filters_class(description: Description, resource: Resource) -> str:
    lines = [
        f"class {resource.record}Filters(TypedDict, total=False):",
        docstring(
            4,
            f"The filters of {resource.plural}.",
            "A record must match all of them, and of several values of one filter any.",
        ),
        "",
    ]
    for name, member in _filters(description, resource).items():
        lines.append(f"    {python_name(name)}: {_type(member)} | None")
    return "\n".join(lines)


def _asynchronous(text: str) -> str:
    """Returns the class of the coroutines of a resource, from the text of its class."""
    for pattern, replacement in _ASYNC:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text


def _class(description: Description, resource: Resource) -> str:
    answer = f":class:`comptroller.records.{resource.record}`"
    parts = [
        f"class {resource.class_name}(Resource):",
        docstring(4, f"The {resource.plural} of a service.", f"Each is a {answer}."),
        "",
        "    __slots__ = ()",
    ]
    for operation in description.operations_of(resource):
        parts += ["", _method(description, operation)]
        if operation.is_list:
            parts += ["", _iter(resource, operation)]
            parts += ["", _stream(resource)]
    return "\n".join(parts)


def _type(member: Member) -> str:
    one = _TYPES.get(member.item_type, member.item_type)
    # Of a closed set, `one` is a Literal; several are any text, as in a list that was computed.
    several = one if member.item_type in _TYPES else "str"
    return _SEVERAL.get(one, f"{one} | Iterable[{several}]") if member.is_array else one


def _method(description: Description, operation: Operation) -> str:
    takes_record = operation.verb == "put" and operation.request in description.records
    members = description.members_of(operation.request)
    names = {python_name(name): name for name in members}
    arguments = [(name, description.doc_of(members[given])) for name, given in names.items()]
    if takes_record:
        required = [n for n, said in members.items() if said.required and not said.is_completed]
        wanted = f"{', '.join(required[:-1])} and {required[-1]}"
        arguments = [("record", f"a {operation.answer}, or a mapping with {wanted}")]
    if operation.is_write:
        arguments.append(("idempotency_key", _KEY))
    answer = description.records[operation.answer]
    is_bare = len(answer.members) == 1
    returns = f"Page[{operation.answer}]" if operation.is_list else operation.answer
    (member, *_) = answer.members
    annotation = _TYPES[answer.members[member].type] if is_bare else returns
    signature = _signature(description, operation, takes_record=takes_record)
    sent = f"self._send({_request(description, operation, takes_record)}, {returns})"
    lines = [f"answer = {sent}", f"return answer.{member}"] if is_bare else [f"return {sent}"]
    more = "Returns one page." if operation.is_list else operation.details
    one_line = f"{operation.summary} {more}".strip()
    fits = len(one_line) < 80
    return "\n".join(
        [
            f"    def {operation.verb}({', '.join(signature)}) -> {annotation}:",
            docstring(
                8,
                one_line if fits else operation.summary,
                "" if fits else more,
                arguments,
                _errors(description, operation),
            ),
            *(f"        {line}" for line in lines),
        ]
    )


def _signature(
    description: Description, operation: Operation, *, takes_record: bool
) -> Iterator[str]:
    """Returns the parameters; the id of the record is positional."""
    yield "self"
    if takes_record:
        yield f"record: {operation.answer} | Mapping[str, object]"
        yield "*"
    else:
        members = description.members_of(operation.request)
        by_position = set(_by_position(description, operation))
        for name in members:
            if name in by_position:
                yield f"{name}: {_type(members[name])}"
        if by_position < members.keys() or operation.is_write:
            yield "*"
        for name, member in members.items():
            if name not in by_position:
                default = "" if member.required else " | None = None"
                yield f"{python_name(name)}: {_type(member)}{default}"
    if operation.is_write:
        yield "idempotency_key: Key | None = None"
    if operation.is_list:
        yield "**unknown: Never"


def _by_position(description: Description, operation: Operation) -> list[str]:
    members = description.members_of(operation.request)
    if operation.is_list:
        return []
    if operation.request_source == "either":  # the member that has an alias
        aliases = description.requests[operation.request].members.values()
        return [each.alias_of for each in aliases if each.alias_of is not None]
    if operation.is_write:
        return ["id"] if "{id}" in operation.paths[0] else []
    return [name for name, member in members.items() if member.required]


def _request(description: Description, operation: Operation, takes_record: bool) -> str:
    name = repr(operation.name)
    if takes_record:
        return f"record_request({name}, record, idempotency_key)"
    if operation.is_list:
        return f"list_request({name}, locals())"
    members = list(description.members_of(operation.request))
    in_query = operation.request_source in ("parameters", "path_id", "either")
    query = [n for n in members if in_query or (n == "id" and "{id}" in operation.paths[0])]
    body = [n for n in members if n not in query]
    parts = [name]
    if query:
        parts.append(f"query={_mapping(query)}")
    if body:
        parts.append(f"body={_mapping(body)}")
    if operation.is_write:
        parts.append("idempotency_key=idempotency_key")
    return f"request({', '.join(parts)})"


def _mapping(names: list[str]) -> str:
    return "{" + ", ".join(f"{name!r}: {name}" for name in names) + "}"


def _errors(description: Description, operation: Operation) -> list[tuple[str, str]]:
    """Returns when each exception is raised; adds codes that are more specific than the class."""
    by_exception: dict[str, list[str]] = {}
    if operation.is_list:
        by_exception["InvalidRequest"] = ["a filter is unknown or not valid"]
    elif set(description.members_of(operation.request)) != {"id"}:
        by_exception["InvalidRequest"] = ["an argument is not valid"]
    for refusal in operation.errors:
        exception = description.exception_of(refusal.code)
        plain = {"NotFound": "not-found", "Conflict": "already-exists"}.get(exception)
        code = "" if refusal.code == plain else f" (``{refusal.code}``)"
        by_exception.setdefault(exception, []).append(refusal.when + code)
    order = ["InvalidRequest", "Forbidden", "NotFound", "Conflict"]
    exceptions = sorted(by_exception, key=order.index)
    return [(each, "; ".join(by_exception[each])) for each in exceptions]


def _iter(resource: Resource, operation: Operation) -> str:
    filters = f"{resource.record}Filters"
    return "\n".join(
        [
            "    def iter(self, *, order: Order | None = None, limit: int = 1000, "
            f"**filters: Unpack[{filters}]) -> Iterator[{resource.record}]:",
            docstring(
                8,
                sentence(f"iterates over all {resource.plural} that match"),
                "A page is fetched when its first item is needed.",
                [("order", _MORE["order"]), ("limit", _PAGE_SIZE), *_FILTERS],
                [("InvalidRequest", "a filter is unknown or not valid")],
            ),
            f'        return self._walk("{operation.name}", Page[{resource.record}], filters, '
            f"{filters}, order, limit)",
        ]
    )


def _stream(resource: Resource) -> str:
    filters = f"{resource.record}Filters"
    return "\n".join(
        [
            f"    def stream(self, columns: str | Sequence[str] | None = None, "
            f"**filters: Unpack[{filters}]) -> Stream:",
            docstring(
                8,
                sentence(f"returns all {resource.plural} that match as Arrow columns"),
                "",
                [("columns", _MORE["columns"]), *_FILTERS],
                [("InvalidRequest", "a filter or column is unknown, or a filter is not valid")],
            ),
            f'        return self._stream("{resource.kind}", columns, filters, {filters})',
        ]
    )
