"""Values of rows: those of libraries as Python's, and those with members."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from math import isnan
from typing import Any, cast
from uuid import UUID

from comptroller.bulk.unread_cells import UnreadCell
from comptroller.description import core_description
from comptroller.errors import invalid, shorten


def plain(value: Any) -> object:
    """Returns a value of a table as one of Python; None if it is missing (NaN, NaT, pandas.NA)."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return None if isnan(value) else float(value)
    if isinstance(value, Decimal):
        return None if value.is_nan() else value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "dtype") and hasattr(value, "tolist"):  # of numpy
        if value.dtype.kind == "M":
            is_day = value.dtype.name.endswith(("[D]", "[W]", "[M]", "[Y]"))
            value = value.astype("datetime64[D]" if is_day else "datetime64[us]")
        if value.dtype.kind == "f" and value.dtype.itemsize < 8:
            return plain(float(str(value)))  # the shortest decimal that it has
        if value.dtype.char == "g":  # longdouble, which tolist() does not convert
            return plain(float(value))
        if value.dtype.char == "G":
            return value
        items = value.tolist()
        return list(map(plain, items)) if isinstance(items, list) else plain(items)
    return value


def printable(name: object) -> str:
    """Returns the name of a column as text that UTF-8 can represent."""
    return str(name).encode(errors="backslashreplace").decode()


def _metadata(value: object) -> object:
    """Returns pairs, as libraries make of a map, as a dict.

    A list with anything but pairs, or with a duplicate key, is returned unchanged, to be rejected.
    """
    if isinstance(value, (list, tuple)):
        pairs = [pair for each in value if (pair := _pair(each))]
        found = dict(pairs)
        return value if len(found) < len(value) else found
    return value


def _pair(value: object) -> tuple[str, object] | None:
    """Returns the key and the value of an entry of a map; None if it is no such entry."""
    if isinstance(value, Mapping) and value.keys() == {"key", "value"}:
        value = (value["key"], value["value"])
    if isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[0], str):
        return value[0], value[1]
    return None


def nested(path: str, type: str, value: object, *, is_of_cell: bool) -> object:
    """Returns a value that may have members, with 0 for those that the service does not know.

    A date has no single text form, so it is rejected as text: raises InvalidRequest.
    """
    value = plain(value)
    if isinstance(value, UnreadCell):
        raise invalid(path, f"{shorten(repr(value.text))} {value.why}")
    if isinstance(value, date) and type != "timestamp":
        why = f"{value.isoformat()} is a date or a time, and the member is not one"
        advice = ": in a spreadsheet, format the cells as text" if is_of_cell else ""
        raise invalid(path, f"{why}; give text{advice}")
    if type.endswith("[]") and isinstance(value, (list, tuple)):
        type = type.removesuffix("[]")
        return [nested(path, type, each, is_of_cell=is_of_cell) for each in value]
    if type == "metadata":
        value = _metadata(value)
    known = _members_of(type, value)
    if known is None:
        return value
    return {
        name if name in known else printable(name): nested(
            f"{path}.{name}", known[name], each, is_of_cell=is_of_cell
        )
        if name in known
        else 0
        for name, each in cast("Mapping[Any, object]", value).items()
        if each is not None
    }


def _members_of(type: str, value: object) -> Mapping[Any, str] | None:
    """Returns the types of the members of a nested value; None if it is no record or metadata."""
    if not isinstance(value, Mapping):
        return None
    return dict.fromkeys(value, "string") if type == "metadata" else _types_of_record(type)


@cache
def _types_of_record(type: str) -> Mapping[Any, str] | None:
    record = core_description()["records"].get(type)
    return record and {
        name: each["type"].removesuffix("?") for name, each in record["members"].items()
    }


def is_plain(type: str, value: object) -> bool:
    """Whether the load reads a value as if it was converted."""
    if isinstance(value, (list, tuple)):
        each_type = type.removesuffix("[]")
        classes = plain_classes(each_type)
        return each_type != type and all(
            each.__class__ in classes or is_plain(each_type, each) for each in value
        )
    if value.__class__ in plain_classes(type):
        return True
    known = _members_of(type, value)
    return known is not None and all(
        each is None or name not in known or is_plain(known[name], each)
        for name, each in cast("Mapping[Any, object]", value).items()
    )


def is_nested(type: str) -> bool:
    """Whether values of a type have members or items."""
    return type.endswith("[]") or type == "metadata" or type in core_description()["records"]


@cache
def plain_classes(type: str) -> frozenset[Any]:
    """Returns the classes of the values of a type that need no conversion."""
    if is_nested(type):
        return frozenset()
    others: dict[str, set[Any]] = {
        "boolean": {bool},
        "amount": {str, int, Decimal},
        "timestamp": {str, datetime},
    }
    return frozenset(others.get(type, {str, UUID}))


def distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Returns an object of JSON. Raises ValueError if a name appears more than once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate name")
    return found
