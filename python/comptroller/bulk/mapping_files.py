"""Mapping files, and the options of a call that change them."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from comptroller.arguments import path, refuse_unknown
from comptroller.bulk.mapping import ColumnMapping
from comptroller.bulk.zones import zone_of
from comptroller.errors import InvalidRequest, invalid, shorten

_KNOWN = ColumnMapping.__struct_fields__
_ACCEPTED = {
    "rename": "the member of each column, as text",
    "constants": "the value of each member",
    "decimal": '"." or ","',
    "separator": 'one ASCII character, such as ";"',
    "sheet": "the name of a sheet",
    "tz": "a known time zone such as Europe/Zurich, and install tzdata if the system has none",
    "dayfirst": "true or false",
    "ids": '"uuid5"',
    "floats": '"shortest"',
}


def read_mapping(
    file: object, options: Mapping[str, object], known: Collection[str] = ()
) -> ColumnMapping:
    """Returns the mapping of a TOML file, changed by options, which are `known` or of a mapping.

    Raises InvalidRequest, which names the file for what is wrong in it.
    """
    given = {} if file is None else _read(path("mapping", file))
    refuse_unknown(options, known or _KNOWN)
    for name, value in options.items():
        before = given.get(name)
        if isinstance(value, Mapping) and isinstance(before, dict):
            given[name] = before | {**value}
        elif value is not None:
            given[name] = value
    return _checked(given)


def _read(name: str) -> dict[str, object]:
    try:
        given: dict[str, object] = tomllib.loads(Path(name).read_text(encoding="utf-8"))
        _checked(given)
    except OSError as error:
        raise invalid("mapping", f"{name} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise invalid("mapping", f"{name} is not TOML in UTF-8: {error}") from error
    except InvalidRequest as error:
        raise invalid("mapping", f"{name}: {error.detail}") from error
    return given


def _checked(given: Mapping[str, object]) -> ColumnMapping:
    refuse_unknown(given, _KNOWN)
    for name, value in given.items():
        try:
            mapping = msgspec.convert({name: value}, ColumnMapping)
            is_valid = mapping.separator is None or len(mapping.separator.encode()) == 1
            if mapping.tz is not None:
                is_valid = zone_of(mapping.tz) is not None
        except (msgspec.ValidationError, ValueError):
            is_valid = False
        if not is_valid:
            why = f"{shorten(repr(value))} is not allowed; give {_ACCEPTED[name]}"
            raise invalid(name, why)
    return msgspec.convert(given, ColumnMapping)
