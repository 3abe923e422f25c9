"""The HTTP reference as Markdown, written from the interface's own OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from comptroller.http import openapi

_LONGEST_PATTERN = 60


def text() -> str:
    """The operations by what they belong to, then the values and the records that they name."""
    document = json.loads(openapi.document())
    lines = [document["info"]["description"]]
    for tag in document["tags"]:
        lines += _section(document, tag["name"])
    lines += _components(document["components"])
    return "\n".join(["", *lines, ""])


def _section(document: dict[str, Any], tag: str) -> Iterator[str]:
    yield f"\n## {tag.capitalize()}\n"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            is_repeated = operation.get("description", "").startswith("The same as")
            if tag in operation["tags"] and not is_repeated:
                yield from _operation(document, f"{method.upper()} {path}", operation)


def _operation(document: dict[str, Any], title: str, operation: dict[str, Any]) -> Iterator[str]:
    about = f"{operation['summary']} {operation.get('description', '')}".strip()
    yield f"\n### `{title}`\n\n{about}\n"
    scopes = [f"`{scope}`" for need in operation["security"] for scope in need.get("oauth2", [])]
    if scopes:
        yield f"Scope: {' or '.join(scopes)}.\n"
    parameters = operation.get("parameters", [])
    headers = [_name(each) for each in parameters if "$ref" in each]
    if len(headers) < len(parameters):
        yield from _table(("Parameter", "In", "Type", "Meaning"), map(_parameter, parameters))
    if headers:
        yield f"Headers: {', '.join(f'[{name}](#http-headers)' for name in headers)}.\n"
    if "requestBody" in operation:
        yield f"Body: {_content(operation['requestBody'])}.\n"
    success, *refusals = operation["responses"].items()
    yield f"Answer: {_content(success[1])}. {success[1]['description']}\n"
    yield f"Refusals: {', '.join(_refusal(*each) for each in refusals)}.\n"


def _parameter(parameter: dict[str, Any]) -> tuple[str, ...] | None:
    """Returns a row of the table of parameters; None for a header, which is a reference."""
    if "$ref" in parameter:
        return None
    name = f"`{parameter['name']}`{_star(parameter.get('required'))}"
    meaning = parameter.get("description", "")
    return name, parameter["in"], _type(parameter["schema"]), meaning


def _refusal(status: str, response: dict[str, Any]) -> str:
    if "$ref" in response:
        return f"[{status}](#http-refusals)"
    return f"{status} ({response['description'].rstrip('.')}: {_content(response)})"


def _components(components: dict[str, Any]) -> Iterator[str]:
    yield "\n(http-headers)=\n## Headers of requests\n"
    yield from _table(
        ("Header", "Meaning"),
        ((f"`{name}`", each["description"]) for name, each in components["parameters"].items()),
    )
    yield "\n(http-refusals)=\n## Refusals\n\nEach is a [Problem](#http-problem).\n"
    yield from _table(
        ("Status", "Codes"),
        (
            (name.removeprefix("Problem"), each["description"])
            for name, each in components["responses"].items()
        ),
    )
    schemas = components["schemas"]
    values = {name: each for name, each in schemas.items() if "properties" not in each}
    yield "\n## Values\n"
    yield from _table(
        ("Name", "Type", "Meaning"),
        (
            (f"[`{name}`]{{#{_anchor(name)}}}", _value(each), each.get("description", ""))
            for name, each in values.items()
        ),
    )
    yield "\n## Records and bodies\n\nA member with a star is always there, or has to be.\n"
    for name, schema in schemas.items():
        if name not in values:
            yield from _record(name, schema)


def _record(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"\n({_anchor(name)})=\n### {name}\n\n{schema.get('description', '')}\n"
    required = schema.get("required", ())
    yield from _table(
        ("Member", "Type", "Meaning"),
        (
            (f"`{member}`{_star(member in required)}", _type(each), each.get("description", ""))
            for member, each in schema["properties"].items()
        ),
    )


def _content(message: dict[str, Any]) -> str:
    """What a body or an answer holds, by its media type."""
    return ", or ".join(
        f"{_type(held['schema'])} as `{media}`" for media, held in message["content"].items()
    )


def _type(schema: dict[str, Any]) -> str:
    """A schema in a few words, with links to what it names."""
    if "$ref" in schema:
        name = _name(schema)
        return f"[{name}](#{_anchor(name)})"
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_type(each) for each in schema[several]))
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_type(schema['items'])}"
    if "properties" in schema:
        members = (f"`{name}`: {_type(each)}" for name, each in schema["properties"].items())
        return f"{{{', '.join(members)}}}"
    return str(schema.get("type", schema.get("description", "anything")))


def _value(schema: dict[str, Any]) -> str:
    pattern = schema.get("pattern", "")
    facts = [_type(schema), schema.get("format", "")]
    if pattern and len(pattern) <= _LONGEST_PATTERN:
        facts.append(f"`{pattern}`")
    return ", ".join(filter(None, facts))


def _name(reference: dict[str, Any]) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...] | None]) -> Iterator[str]:
    yield _row(head)
    yield _row("---" for _ in head)
    yield from (_row(row) for row in rows if row is not None)
    yield ""


def _row(cells: Iterable[str]) -> str:
    facts = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(facts)} |"


def _star(is_required: object) -> str:
    return " \\*" if is_required else ""


def _anchor(name: str) -> str:
    return f"http-{name.lower()}"
