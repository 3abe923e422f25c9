"""JSON Schemas (2020-12) of records, requests and values, from the core's description.

A record has a schema for responses, which permits further members. If a record is also a request,
it has a second schema, ``...Input``, which permits none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
from comptroller.bulk.loading import LoadResult
from comptroller.description import core_description
from comptroller.journal import Checkpoint

Schema = dict[str, Any]

_REFERENCE = "#/components/schemas/{name}"
TEXT_PATTERN = r"^[^\u0000-\u001f]*$"
_DECIMAL = r"[0-9]{1,20}(\.[0-9]{1,18})?$"
_MAX_VALUES = 100  # of an array in a query
_LABEL = (1, 128)  # the default limits of a text, in characters
# The addresses of each ledger. A pattern cannot check the length of 32 bytes, or the checksum of
# EIP-55 in mixed case.
_SOLANA = "^[1-9A-HJ-NP-Za-km-z]{32,44}$"
_EVM = "^0x([0-9a-f]{40}|[0-9A-F]{40}|[0-9A-Fa-f]{40})$"
_ADDRESSES = ("address", "claimer_address")
_CURSORS = ("page_cursor", "cursor", "next_cursor", "after")

#: The schemas of the value types of records and requests.
SCALARS: dict[str, Schema] = {
    "Id": {
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "pattern": "^[!-~]+$",
        "examples": ["customer-17"],
    },
    "Uuid": {
        "type": "string",
        "format": "uuid",
        "examples": ["0190163d-8694-739b-aea5-966c26f8ad91"],
    },
    "Word": {
        "type": "string",
        "pattern": "^[A-Z][A-Z0-9_]{0,63}$",
        "description": "A value of an open set; the service may add further values.",
        "examples": ["PROCESSING"],
    },
    "Timestamp": {
        "type": "string",
        "format": "date-time",
        "description": "RFC 3339 in UTC with microseconds; years 0001 to 9999.",
        "examples": ["2026-01-31T23:59:59.000000Z"],
    },
    "TimestampInput": {
        "anyOf": [
            {"type": "string", "format": "date-time"},
            {"type": "string", "format": "date"},
        ],
        "description": "RFC 3339 with an offset, or a date, which is the start of this day in UTC; "
        "years 0001 to 9999. Further digits than microseconds are cut.",
        "examples": ["2026-01-31T23:59:59.000000Z", "2026-01-31"],
    },
    "Amount": {
        "type": "string",
        "pattern": "^" + _DECIMAL,
        "description": "A plain decimal: no exponent, no sign, never a float.",
        "examples": ["1250.75"],
    },
    "SignedAmount": {
        "type": "string",
        "pattern": "^-?" + _DECIMAL,
        "description": "A plain decimal that may be negative: no exponent, never a float.",
        "examples": ["-1250.75"],
    },
    "PageLimit": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 1000,
    },
    "Members": {
        "type": "object",
        "description": "Members of a record.",
        "examples": [{"amount": "1250.75"}],
    },
    "Number": {"type": "integer", "format": "int64", "minimum": 0},
    "Metadata": {
        "type": "object",
        "maxProperties": 50,
        "propertyNames": {"minLength": 1, "maxLength": 64, "pattern": TEXT_PATTERN},
        "additionalProperties": {"type": "string", "maxLength": 512, "pattern": TEXT_PATTERN},
        "examples": [{"desk": "7"}],
    },
}
_BY_TYPE = {
    "id": "Id",
    "uuid": "Uuid",
    "word": "Word",
    "timestamp": "Timestamp",
    "amount": "Amount",
    "integer": "PageLimit",
    "members": "Members",
    "metadata": "Metadata",
    "number": "Number",
}
# Examples of members by name, where the type has no suitable one.
_EXAMPLES = {
    "address": "0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359",
    "asset_type": "RPL",
    "chain": "INK",
    "claimer_address": "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
    "customer_id": "default",
    "destination_asset": "USD",
    "error_message": "out of gas",
    "jurisdiction": "CH",
    "name": "Northgate 1",
    "name_prefix": "North",
    "reason": "the document has expired",
    "reason_code": "DOCUMENT_EXPIRED",
    "ref_id": "customer-17",
    "source_asset": "ETH",
    "tx_hash": "0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b",
}

# How the text of a default becomes a value, by type; the others are texts.
_DEFAULTS: dict[str, Callable[[str], object]] = {"boolean": "true".__eq__, "integer": int}


class Field(NamedTuple):
    """The core's description of a member of a record or request."""

    name: str
    type: str
    is_required: bool
    lengths: tuple[int, int | None]
    doc: str
    is_deprecated: bool
    is_completed: bool  # optional in a body, although every record has it
    may_be_negative: bool
    default: str | None

    @property
    def is_array(self) -> bool:
        """Whether the type is an array."""
        return self.type.endswith("[]")


def fields(name: str) -> Iterator[Field]:
    """Yields the members of a record or request."""
    core = core_description()
    record = core["records"].get(name) or core["requests"][name]
    for member, details in record["members"].items():
        lengths: tuple[int, int | None] = _LABEL
        if member in _CURSORS:
            lengths = (0, None)
        elif "min_length" in details:
            lengths = (details["min_length"], details.get("max_length"))
        yield Field(
            *(member, details["type"], details["required"], lengths, details["doc"]),
            is_deprecated=details.get("is_deprecated", False),
            is_completed=details.get("is_completed", False),
            may_be_negative=details.get("may_be_negative", False),
            default=details.get("default"),
        )


def reference(name: str) -> Schema:
    """Returns a reference to a schema."""
    return {"$ref": _REFERENCE.format(name=name)}


def components() -> dict[str, Schema]:
    """Returns all named schemas."""
    core = core_description()
    closed = {name: _closed_set(values) for name, values in core["enums"].items()}
    answers = {
        name: {"description": record["doc"], **_object(fields(name))}
        for name, record in core["records"].items()
    }
    return SCALARS | closed | answers | dict(_inputs()) | dict(_pages()) | _structs()


def _closed_set(values: dict[str, str]) -> Schema:
    meanings = "; ".join(f"`{value}`: {meaning}" for value, meaning in values.items())
    return {"type": "string", "enum": list(values), "description": meanings}


def value(field: Field) -> Schema:
    """Returns the schema of a member in a path or a query."""
    schema = _member(field, is_input=True)
    del schema["description"]
    return schema | ({"maxItems": _MAX_VALUES} if field.is_array else {})


def _member(field: Field, *, is_input: bool) -> Schema:
    schema = _typed(field, field.type, is_input)
    schema["description"] = field.doc
    if field.is_deprecated:
        schema["deprecated"] = True
    if field.default is not None:
        schema["default"] = _DEFAULTS.get(field.type, str)(field.default)
    if field.name in _EXAMPLES and not field.is_array:
        schema["examples"] = [_EXAMPLES[field.name]]
    return schema


def input_name(request: str) -> str:
    """Returns the schema name of a request in a body."""
    return request + "Input" if request in core_description()["records"] else request


def _typed(field: Field, type: str, is_input: bool) -> Schema:
    if type.endswith("[]"):
        return {"type": "array", "items": _typed(field, type[:-2], is_input)}
    if type.endswith("?"):
        return {"anyOf": [_typed(field, type[:-1], is_input), {"type": "null"}]}
    if type == "boolean":
        return {"type": "boolean"}
    if type == "string":
        least, most = field.lengths
        limits = {"minLength": least} | ({} if most is None else {"maxLength": most})
        return {"type": "string", **limits, "pattern": TEXT_PATTERN}
    if type == "timestamp" and is_input:
        return reference("TimestampInput")
    if field.may_be_negative:
        return reference("SignedAmount")
    return reference(_BY_TYPE.get(type) or (input_name(type) if is_input else type))


def _object(members: Iterator[Field]) -> Schema:
    listed = list(members)
    return {
        "type": "object",
        "properties": {field.name: _member(field, is_input=False) for field in listed},
        "required": [field.name for field in listed if field.is_required],
    }


def _inputs() -> Iterator[tuple[str, Schema]]:
    """Yields the schemas of all bodies, and of the records in them."""
    core = core_description()
    for operation in core["operations"]:
        if operation["is_write"]:
            pending = [operation["request"]]
            while pending:
                name = pending.pop()
                yield input_name(name), body(name, operation["request_source"])
                pending += [each.type for each in fields(name) if each.type in core["records"]]


def body(request: str, request_source: str) -> Schema:
    """Returns the schema of a body, without members that the path or the service provides."""
    listed = [
        field for field in fields(request) if field.name != "id" or request_source != "id_and_body"
    ]
    in_path = {"id"} if request_source == "id_in_both" else set()
    properties = {field.name: _member(field, is_input=True) for field in listed}
    schema = {
        "type": "object",
        "properties": properties,
        "required": [
            field.name
            for field in listed
            if field.is_required and not field.is_completed and field.name not in in_path
        ],
        "additionalProperties": False,
    }
    return schema | (_by_ledger(properties) if "ledger" in properties else {})


def _by_ledger(properties: Schema) -> Schema:
    """Returns the conditional patterns of addresses by ledger."""

    def each(pattern: str) -> Schema:
        return {"properties": {n: {"pattern": pattern} for n in _ADDRESSES if n in properties}}

    is_solana = {"properties": {"ledger": {"const": "SOLANA"}}, "required": ["ledger"]}
    return {"if": is_solana, "then": each(_SOLANA), "else": each(_EVM)}


def _pages() -> Iterator[tuple[str, Schema]]:
    """Yields the schemas of the pages of lists."""
    for operation in core_description()["operations"]:
        if operation["is_list"]:
            items = {"type": "array", "items": reference(operation["answer"])}
            cursor = {
                "type": "string",
                "description": "cursor of the next page; empty on the last page. A page with fewer "
                "items than `limit` is not always the last one.",
            }
            yield (
                operation["answer"] + "Page",
                {
                    "type": "object",
                    "properties": {"items": items, "next_page_cursor": cursor},
                    "required": ["items", "next_page_cursor"],
                },
            )


def _structs() -> dict[str, Schema]:
    """Returns the schemas of the answers that the core does not describe."""
    answers = [LoadResult, Checkpoint]
    _, components = msgspec.json.schema_components(answers, ref_template=_REFERENCE)
    for schema in components.values():  # msgspec before 0.23 keeps the indentation of a docstring
        if "description" in schema:
            schema["description"] = inspect.cleandoc(schema["description"])
    return components
