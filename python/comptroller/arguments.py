"""Conversion of Python values for the core: parameters as text, bodies and lines as JSON.

Inexact and ambiguous values raise InvalidRequest, which names the argument: a float for an amount,
a time without a zone.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from math import isfinite, isnan
from operator import index
from typing import SupportsIndex, TypeAlias
from uuid import UUID

import msgspec

from comptroller.errors import InvalidRequest, invalid, shorten
from comptroller.values import AMOUNTS, KINDS, RENAMED

Id: TypeAlias = str | UUID
#: An idempotency key.
Key: TypeAlias = str | UUID
Ids: TypeAlias = Id | Iterable[Id]
Texts: TypeAlias = str | Iterable[str]
#: A time, or a day, which is its start in UTC.
Timestamp: TypeAlias = str | datetime | date
Money: TypeAlias = str | Decimal | int
#: The value of a filter; an array filter accepts one or several.
Value: TypeAlias = str | bool | int | Decimal | datetime | date | UUID
Filter: TypeAlias = Value | Iterable[Value] | None

#: A character that the name of an input and other texts of the journal may not have.
CONTROL_CHARACTER = re.compile(r"[\x00-\x1f]")

_MAX_DEPTH = 32
_MAX_FLOAT = sys.float_info.max
# Larger than that of any valid amount, so that the core reports an amount that is too long; small
# enough to format any number cheaply.
_MAX_EXPONENT = 100
_FRACTION_DIGITS = 18
_EXACT = Context(prec=1000)

# The integers that msgspec writes.
_LEAST_INTEGER, _MOST_INTEGER = -(2**63), 2**64 - 1

_ALLOWED = "give a str, bool, int, Decimal, UUID, date or aware datetime"


def text(name: str, value: object) -> str:
    """Returns one value as text. Raises InvalidRequest for an inexact or a compound value."""
    if isinstance(value, str):
        return _unicode(name, str.__str__(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer(name, value)
    if isinstance(value, datetime):
        return _timestamp(name, value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return _decimal(name, value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, float):
        raise _inexact(name, value)
    if isinstance(value, SupportsIndex):  # an integer of NumPy
        return _integer(name, index(value))
    raise invalid(name, f"{_type_name(value)} is not allowed; {_ALLOWED}")


def texts(name: str, value: object, *, may_be_empty: bool = False) -> list[str]:
    """Returns one value or several as a list of text; a set is sorted.

    Raises InvalidRequest also for an empty list, which could mean everything or nothing, unless it
    may be empty.
    """
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return [text(name, value)]
    values = [text(name, item) for item in value]
    if not values and not may_be_empty:
        raise invalid(name, "it is empty; give at least one value, or omit it")
    return sorted(values) if isinstance(value, (set, frozenset)) else values


def money(name: str, value: object) -> str:
    """Returns an amount as text. Raises InvalidRequest unless it is an exact, finite number."""
    if isinstance(value, bool) or not isinstance(value, (str, int, Decimal)):
        if isinstance(value, float):
            raise _inexact(name, value)
        raise invalid(
            name, f"{_type_name(value)} is not an amount; give a Decimal, an int or a str"
        )
    return text(name, value)


def whole(name: str, value: object, most: int, *, least: int = 0) -> int:
    """Returns a whole number from `least` to `most`. Raises InvalidRequest for anything else."""
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        number = index(value)
        if least <= number <= most:
            return number
    raise invalid(name, f"it must be a whole number from {least} to {most}")


def seconds(name: str, value: float, most: float = _MAX_FLOAT) -> float:
    """Returns a number of seconds above 0, at most `most`. Raises InvalidRequest for others."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < value <= most:
        limit = "" if most == _MAX_FLOAT else f", at most {most:,}"
        raise invalid(name, f"not a time limit; give a number of seconds above 0{limit}")
    return value


def flag(name: str, value: object) -> bool:
    """Returns a bool. Raises InvalidRequest for anything else, such as the text "false"."""
    if not isinstance(value, bool):
        raise invalid(name, f"{_type_name(value)} is not allowed; give True or False")
    return value


def path(name: str, value: object) -> str:
    """Returns a path as text. Raises InvalidRequest if it cannot name a file."""
    if not isinstance(value, (str, os.PathLike)):
        raise invalid(name, f"{_type_name(value)} is not a path; give a str or a Path")
    place = os.fspath(value)
    if not isinstance(place, str) or "\0" in place:
        raise invalid(name, "not a file name; give a str or a Path without a NUL character")
    return _unicode(name, place)


def query(
    filters: Mapping[str, object], known: Iterable[str] | None = None
) -> list[tuple[str, str]]:
    """Returns filters as parameters: None is left out, several values repeat the name.

    Raises InvalidRequest for a name that is not in `known`; the message suggests the nearest name.
    """
    if known is not None:
        refuse_unknown(filters, known)
    return [
        (RENAMED.get(name, name), item)
        for name, value in filters.items()
        if value is not None
        for item in texts(name, value)
    ]


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Raises InvalidRequest for the first of `given` that is not `known`."""
    names = list(known)
    for name in given:
        if name not in names:
            raise invalid(name, f"unknown argument; {nearest(name, names)}")


def body(members: Mapping[str, object]) -> bytes:
    """Returns a JSON object of the members that are not None. Raises InvalidRequest."""
    return _encode(_members("", members, exact=True, depth=1), "body")


def record(value: object) -> bytes:
    """Returns a record, or a dict of its members, as lossless JSON. Raises InvalidRequest."""
    if isinstance(value, msgspec.Struct):
        return body(msgspec.structs.asdict(value))
    if isinstance(value, Mapping):
        return body(value)
    raise invalid("record", f"{_type_name(value)} is not allowed; give a record or a dict")


def line(value: object) -> bytes:
    """Returns a row to load as a line of NDJSON, with its line feed.

    Invalid values are written unchanged, so that the load rejects their line. Raises
    InvalidRequest only for values that JSON cannot represent.
    """
    plain = _plain("", value, exact=False, depth=0)
    try:
        return msgspec.json.encode(plain) + b"\n"
    except UnicodeEncodeError:
        _refuse_surrogates("", plain)
        raise


def choice(name: str, value: str, allowed: Iterable[str]) -> str:
    """Returns `value` if it is allowed. Raises InvalidRequest, which suggests the nearest value."""
    known = list(allowed)
    if not isinstance(value, str):
        raise invalid(name, f"{_type_name(value)} is not allowed; give one of {', '.join(known)}")
    if value not in known:
        raise invalid(name, f"{shorten(repr(value))} is not allowed; {nearest(value, known)}")
    return value


def choices(name: str, values: str | Iterable[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """Returns one value or several. Raises InvalidRequest if one is unknown or a duplicate."""
    chosen = (
        tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else (values,)
    )
    for value in chosen:
        if value not in allowed:
            known = ", ".join(allowed)
            raise invalid(name, f"{shorten(repr(value))} is not allowed; give some of {known}")
        if chosen.count(value) > 1:
            raise invalid(name, f"duplicate value {value}; name each value once")
    return chosen


def kind(value: str, others: Iterable[str] = ()) -> str:
    """Returns a kind as the core spells it, with dashes for underscores; or one of `others`."""
    word = value.replace("_", "-") if isinstance(value, str) else value
    return choice("kind", word, [*KINDS, *others])


def nearest(name: str, names: list[str]) -> str:
    """Returns the known name that is similar to one that is not, or all names, for a message."""
    from difflib import get_close_matches

    close = get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return "allowed are " + ", ".join(names)


def _type_name(value: object) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _inexact(name: str, value: float) -> InvalidRequest:
    return invalid(
        name, f"{value!r} is a float, which is not exact; give a Decimal, an int or a str"
    )


def _unicode(name: str, value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            why = f"{shorten(repr(value))} contains a lone surrogate; give valid Unicode text"
            raise invalid(name, why) from None
    return value


def _integer(name: str, value: int) -> str:
    if value.bit_length() > _MAX_EXPONENT * 3:
        raise invalid(name, "the number is too long")
    return str(value)


def _decimal(name: str, value: Decimal) -> str:
    if not value.is_finite():
        raise invalid(name, f"{value} is not an amount; give a finite Decimal")
    if abs(value.adjusted()) > _MAX_EXPONENT:
        given = shorten(str(value))
        raise invalid(name, f"{given} has too many digits; at most 20 and 18 fraction digits")
    if int(value.as_tuple().exponent) < -_FRACTION_DIGITS:  # a column of decimals may add zeros
        value = value.normalize(_EXACT)
    return format(value, "f")


def _timestamp(name: str, value: datetime) -> str:
    try:
        offset = value.utcoffset()
    except ValueError:  # pandas.NaT is an instance of datetime
        raise invalid(name, f"{value} is not a time; give an aware datetime") from None
    if offset is None:
        raise invalid(
            name,
            f"{value.isoformat()} has no time zone; give an aware datetime, such as "
            "datetime(..., tzinfo=timezone.utc), or a str such as '2026-01-31T12:00:00Z'",
        )
    try:
        utc = value.astimezone(UTC)
    except OverflowError:
        raise invalid(name, f"{value.isoformat()} is not in the years 0001-9999 in UTC") from None
    return utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _members(
    path: str, members: Mapping[str, object], *, exact: bool, depth: int
) -> dict[str, object]:
    # None means "not given", except in metadata, where the core rejects it.
    keep_none = path == "metadata"
    plain: dict[str, object] = {}
    for name, value in members.items():
        if not isinstance(name, str):
            given = shorten(repr(name))
            raise invalid(path or "record", f"{given} is not a member name; member names are str")
        if value is None and not keep_none:
            continue
        if value.__class__ is str and not exact:  # most values of loads
            plain[name] = value
            continue
        place = f"{path}.{name}" if path else name
        if depth == 1 and name in AMOUNTS and exact:
            plain[name] = money(place, value)
        elif depth == 1 and name in AMOUNTS and _is_number(value):
            plain[name] = text(place, value)
        else:
            item = _plain(place, value, exact=exact, depth=depth)
            if item is not None or keep_none:  # a missing value of a table, such as NaN
                plain[name] = item
    return plain


def _plain(path: str, value: object, *, exact: bool, depth: int) -> object:
    if isinstance(value, str):
        return _unicode(path, str.__str__(value)) if exact else str.__str__(value)
    if value is None or isinstance(value, (bool, msgspec.Raw)):  # a number of a JSON file
        return value
    if isinstance(value, int):
        if exact or _LEAST_INTEGER <= value <= _MOST_INTEGER:
            return int(value)
        return msgspec.Raw(_integer(path, int(value)).encode())
    if isinstance(value, (date, Decimal, UUID)):
        return text(path, value) if exact else _encode_invalid(path, value)
    if isinstance(value, float):
        if exact:
            raise _inexact(path, value)
        if isnan(value):
            return None  # a missing value of a table
        if not isfinite(value):
            raise invalid(path, f"{float(value)} is not a finite number")
        return float(value)
    if depth >= _MAX_DEPTH:
        raise invalid(path, f"nested too deeply; at most {_MAX_DEPTH} levels")
    if isinstance(value, msgspec.Struct):
        return _members(path, msgspec.structs.asdict(value), exact=exact, depth=depth + 1)
    if isinstance(value, Mapping):
        return _members(path, value, exact=exact, depth=depth + 1)
    if isinstance(value, (list, tuple)):
        return [_plain(path, item, exact=exact, depth=depth + 1) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(
            (_plain(path, item, exact=exact, depth=depth + 1) for item in value), key=repr
        )
    raise invalid(path, f"{_type_name(value)} cannot be written as JSON; {_ALLOWED}, list or dict")


def _is_number(value: object) -> bool:
    """Whether a value is a number, but not NaN, which is a missing value."""
    if isinstance(value, Decimal):
        return not value.is_nan()
    if isinstance(value, float):
        return not isnan(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _encode_invalid(path: str, value: date | Decimal | UUID) -> object:
    if type(value).__name__ == "NaTType" or (isinstance(value, Decimal) and value.is_nan()):
        return None  # a missing value of a table
    try:
        return text(path, value)
    except InvalidRequest:
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, Decimal) and not value.is_finite():
            raise invalid(path, f"{value} is not a finite number") from None
        raise


def _refuse_surrogates(path: str, value: object) -> None:
    """Raises InvalidRequest for a text that UTF-8 cannot represent, and names its member."""
    if isinstance(value, str):
        _unicode(path or "record", value)
    elif isinstance(value, dict):
        for name, each in value.items():
            _unicode(path or "record", name)
            _refuse_surrogates(f"{path}.{name}" if path else name, each)
    elif isinstance(value, list):
        for each in value:
            _refuse_surrogates(path, each)


def _encode(value: object, name: str) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise invalid(name, "contains a lone surrogate; give valid Unicode text") from None
    except (OverflowError, ValueError):
        raise invalid(name, "contains an integer that is too long") from None
