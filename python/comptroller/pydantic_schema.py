"""How pydantic, and so FastAPI, reads and writes records. Imported by records on its request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from comptroller import arguments
from comptroller.description import core_description, record_members
from comptroller.errors import InvalidRequest

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema

    from comptroller.decoding import Record

#: The JSON Schemas of the types of the core's description; others are sets of values or records.
_TYPES: dict[str, dict[str, Any]] = {
    "id": {"type": "string"},
    "uuid": {"type": "string", "format": "uuid"},
    "string": {"type": "string"},
    "word": {"type": "string"},
    "boolean": {"type": "boolean"},
    "timestamp": {"type": "string", "format": "date-time"},
    "amount": {"type": "string", "pattern": r"^-?[0-9]{1,20}(\.[0-9]{1,18})?$"},
    "members": {"type": "object"},
    "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
    "number": {"type": "integer"},
}


def core_schema(record: type[Record], read: Callable[[bytes], Record]) -> CoreSchema:
    """Returns how pydantic validates and writes a record: amounts and times as exact text.

    Accepts a record, or a dict of its members, which `read` decodes from JSON.
    """
    from pydantic_core import core_schema as schemas

    def validate(given: object) -> Record:
        if isinstance(given, record):
            return given
        if not isinstance(given, Mapping):
            raise ValueError(f"it must be a {record.__name__} or an object of its members")
        try:
            return read(arguments.record(given))
        except (InvalidRequest, msgspec.MsgspecError) as error:
            raise ValueError(str(error)) from error

    return schemas.no_info_plain_validator_function(
        validate,
        ref=f"{record.__module__}.{record.__qualname__}:{id(record)}",
        json_schema_input_schema=schemas.any_schema(),
        serialization=schemas.plain_serializer_function_ser_schema(
            lambda each: _complete(record.__name__, each.to_dict()),
            return_schema=schemas.dict_schema(),
        ),
    )


def json_schema(name: str) -> dict[str, Any]:
    """Returns the JSON Schema of a record, with the records in it."""
    members = record_members(name)
    return {
        "title": name,
        "description": core_description()["records"][name]["doc"],
        "type": "object",
        "properties": {
            member: {**_schema(each["type"]), "description": each["doc"]}
            for member, each in members.items()
        },
        "required": [member for member, each in members.items() if each.get("required")],
    }


def _complete(type: str, given: Any) -> Any:
    """Adds the members that the interface writes as null, such as the end of an active control."""
    if isinstance(given, list):
        return [_complete(type.removesuffix("[]"), each) for each in given]
    if type not in core_description()["records"]:
        return given
    members = record_members(type)
    nulls = {name: None for name, each in members.items() if each["type"].endswith("?")}
    whole = {**nulls, **given}
    return {
        name: _complete(members[name]["type"], whole[name]) for name in members if name in whole
    }


def _schema(type: str) -> dict[str, Any]:
    if type.endswith("?"):
        return {"anyOf": [_schema(type.removesuffix("?")), {"type": "null"}]}
    if type.endswith("[]"):
        return {"type": "array", "items": _schema(type.removesuffix("[]"))}
    if type in core_description()["enums"]:
        return {"type": "string", "enum": list(core_description()["enums"][type])}
    return _TYPES[type] if type in _TYPES else json_schema(type)
