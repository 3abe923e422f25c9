"""What to do about a rejected line, added to its message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from os import PathLike
from typing import TypeVar

import msgspec

from comptroller.bulk.mapping import GROUPED, TIME, WITH_EXPONENT, ColumnMapping
from comptroller.bulk.rejections import Rejection, RejectionGroup
from comptroller.description import members

Rejected = TypeVar("Rejected", bound=Rejection | RejectionGroup)

# A member in a message of the core, and its value, if that is a text or a number.
_TEXT = re.compile(r'(\w+): must be [^"]*?, not "([^"]*)"')
_NUMBER = re.compile(r"(\w+): must be a string, not (\d+):")
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+\.\d+|\d{1,3}(,\d{3}){2,}")
# The times of the day that a load accepts without an offset.
_CLOCK = re.compile(r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?")
#: By an attribute of an object, how it becomes a dict.
_AS_DICT = {
    "__dataclass_fields__": "dataclasses.asdict(row)",
    "_asdict": "row._asdict()",  # a named tuple
    "model_dump": "row.model_dump()",  # of pydantic
    "to_dict": "row.to_dict()",  # a Series of pandas
    "keys": "dict(row)",  # of sqlite3
}
_NO_LIST = ": must be an array"
_ROUNDED = " may be a rounded float"


def with_advice(
    kind: str, options: ColumnMapping, rejections: Sequence[Rejected]
) -> list[Rejected]:
    """Returns the rejections of a load with options, with advice in their messages."""
    types = {name: each["type"].removesuffix("?") for name, each in members(kind).items()}
    advised: list[Rejected] = []
    for each in rejections:
        advice = dict.fromkeys(_advice(kind, types, options, each.message))
        message = each.message
        value = getattr(each, "value", None)
        # The value is that of the first invalid member.
        if f" {message}".endswith(f" {each.member}{_NO_LIST}") and value:
            message += f", not {value}"
        message = "; ".join([message, *advice])
        advised.append(msgspec.structs.replace(each, message=message) if advice else each)
    return advised


def of_no_row(row: object) -> str:
    """Returns why an object that is not a dict or a record is no row, and what to give."""
    name = type(row).__name__
    if hasattr(row, "columns"):
        return f"{name} is a table, not a row; load each on its own, or concatenate them"
    if isinstance(row, (str, bytes, PathLike)):
        return f"{name} is not a row; load files one by one"
    how = next((how for method, how in _AS_DICT.items() if hasattr(row, method)), None)
    if how is None and isinstance(row, (list, tuple)):
        how = "dict(zip(columns, row))"
    return f"{name} is not a row; give dicts" + (f", such as {how}" if how else "")


def _advice(
    kind: str, types: dict[str, str], options: ColumnMapping, message: str
) -> Iterator[str]:
    if kind == "controls" and "identity_id: is required" in message:
        yield (
            "answers of GET /controls are about one identity and do not name it: give it with "
            'constants={"identity_id": ...}'
        )
    if _ROUNDED in message and options.floats is None:
        yield 'or give floats="shortest" for the shortest decimal of each float'
    if _NO_LIST in message:
        yield 'give a list, in CSV as JSON such as ["a", "b"], which DuckDB writes with to_json()'
    for member, value in _TEXT.findall(message):
        if types.get(member) == "amount" and "," in value and GROUPED.fullmatch(value):
            yield 'give decimal="," if the comma separates the decimals'
        if types.get(member) == "amount" and WITH_EXPONENT.fullmatch(value):
            yield 'give floats="shortest" to read it as a decimal'
        if types.get(member) == "uuid" and value.strip() != value:
            yield "remove the spaces around it"
        elif types.get(member) == "uuid" and value and options.ids is None:
            yield 'give ids="uuid5" to convert other ids to UUIDs'
        if types.get(member) == "amount" and _THOUSANDS.fullmatch(value):
            yield "remove the commas between its thousands"
        if types.get(member) == "timestamp":
            yield from _of_time(options, value)
    if any(types.get(member) == "timestamp" for member, _ in _NUMBER.findall(message)):
        yield (
            "a number is not a time: write times as text, from pandas with "
            'to_json(date_format="iso", date_unit="us")'
        )


def _of_time(options: ColumnMapping, value: str) -> Iterator[str]:
    found = TIME.fullmatch(value.strip())
    if found is None:
        return
    is_ambiguous = len(found["a"]) < 4 and found["by"] != "."
    if len(found["a"]) < 4 and len(found["c"]) < 4:
        yield "write the year in full, such as 2026"
    elif is_ambiguous and options.dayfirst is None:
        yield "the day or the month may be first; give dayfirst"
    elif not _is_day(found, is_day_first=not is_ambiguous or bool(options.dayfirst)):
        yield "there is no such day"
        if is_ambiguous and _is_day(found, is_day_first=not options.dayfirst):
            other = "month" if options.dayfirst else "day"
            yield f"give dayfirst={not options.dayfirst} if the {other} is first"
    elif found["zone"] and found["time"] is None:
        yield "a day has no offset; remove it, or write the time of the day"
    elif found["time"] and _CLOCK.fullmatch(found["time"]) is None:
        yield "write the time of the day as 09:05 or 09:05:30, up to 23:59:59"
    elif found["time"] and not found["zone"] and options.tz is None:
        yield 'it has no time zone; give tz, such as tz="UTC" or tz="Europe/Zurich"'


def _is_day(found: re.Match[str], *, is_day_first: bool) -> bool:
    first, second, third = (int(found[name]) for name in "abc")
    if len(found["a"]) < 4:
        day, month = (first, second) if is_day_first else (second, first)
        first, second, third = third, month, day
    try:
        date(first, second, third)
    except ValueError:
        return False
    return True
