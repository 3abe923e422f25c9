"""SQL that makes plain values of those of any type: nothing is rounded, and JSON has them all.

Amounts are text without an exponent or zeros at their end, times RFC 3339 (in UTC where they have a
zone), bytes hexadecimal; truth, numbers, lists, tuples, structs and maps stay what they are. A
number that is infinite or none becomes NULL; all else, unions too, is the text that DuckDB makes.
"""

from __future__ import annotations

from typing import Any

_NUMBERS = frozenset(
    f"{sign}{size}" for sign in ("", "u") for size in ("tinyint", "smallint", "integer", "bigint")
) | {"hugeint", "uhugeint"}
_REAL = ("float", "double")
_MOMENTS = ("timestamp", "timestamp_s", "timestamp_ms")
_FIXED = ("boolean", "timestamp", "uuid")
_SMALL = _NUMBERS - {"ubigint", "hugeint", "uhugeint"}
_IN_CORE = ("varchar", "decimal", "timestamp", "timestamp with time zone")
_SAME = _NUMBERS | {"boolean", "varchar", "null"}


def is_number(type: Any) -> bool:
    """Whether a type of DuckDB is one of numbers."""
    return type.id in _NUMBERS or type.id in (*_REAL, "decimal", "bignum")


def is_free(type: Any) -> bool:
    """Whether the text of a type of DuckDB is whatever someone wrote."""
    return not (is_number(type) or is_nested(type) or type.id.startswith(_FIXED))


def is_nested(type: Any) -> bool:
    """Whether values of a type of DuckDB are made of others."""
    return type.id in ("list", "array", "tuple", "struct", "map")


def in_core(value: str, type: Any) -> str | None:
    """An expression for what the core writes as text itself; None if SQL has to make the text."""
    if type.id in _SMALL:
        return f"{value}::BIGINT"
    if str(type) == "JSON":
        return f"{value}::VARCHAR"
    return value if type.id in _IN_CORE or str(type) == "VARCHAR[]" else None


def columns(relation: Any, *, has_zones: bool = True) -> str:
    """All columns of a relation of DuckDB for a projection: closed sets, its enums, as text.

    Times are kept with their zone, or without one in UTC, in which they are truncated ten times
    as fast.
    """
    made = {"enum": 'CAST("{0}" AS VARCHAR) AS "{0}"'}
    if not has_zones:
        made["timestamp with time zone"] = 'make_timestamp(epoch_us("{0}")) AS "{0}"'
    replaced = [
        made[type.id].format(column)
        for column, type in zip(relation.columns, relation.types, strict=True)
        if type.id in made
    ]
    return f"* REPLACE ({', '.join(replaced)})" if replaced else "*"


def document(value: str, type: Any) -> str:
    """An expression for the plain value as JSON text."""
    return f"to_json({plain(value, type)})::VARCHAR"


def plain(value: str, type: Any, depth: int = 0) -> str:
    """An expression for the plain value of the expression `value`."""
    if str(type) == "JSON":  # whose numbers would become floats
        return f"{value}::VARCHAR"
    if type.id in _SAME:
        return value
    if type.id in _REAL:
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if type.id == "decimal":
        return _amount(value, **dict(type.children))
    if type.id == "timestamp with time zone":
        zone = f"CASE WHEN isfinite({value}) THEN 'Z' ELSE '' END"
        return f"{_moment(f'{value}::TIMESTAMP')} || {zone}"
    if type.id in _MOMENTS:
        return _moment(value)
    if type.id == "timestamp_ns":
        return _moment(value, "%n")
    if type.id == "blob":
        return f"lower(hex({value}))"
    if is_nested(type):
        return _nested(value, type, depth)
    return f"{value}::VARCHAR"


def _nested(value: str, type: Any, depth: int) -> str:
    item = f"item{depth}"
    if type.id in ("list", "array"):
        of_one = plain(item, type.children[0][1], depth + 1)
        return value if of_one == item else f"list_transform({value}, lambda {item}: {of_one})"
    if type.id == "map":
        (_, key), (_, of) = type.children
        name = f"struct_extract({item}, 'key')"
        known = name if key.id in _REAL else plain(name, key, depth + 1)  # a key cannot be NULL
        member = plain(f"struct_extract({item}, 'value')", of, depth + 1)
        entry = f"{{'key': ({known})::VARCHAR, 'value': {member}}}"
        entries = f"list_transform(map_entries({value}), lambda {item}: {entry})"
        return f"map_from_entries({entries})"
    if type.id == "tuple":
        places = enumerate((of for _, of in type.children), start=1)
        members = (plain(f"struct_extract({value}, {place})", of, depth) for place, of in places)
        made = f"json_array({', '.join(members)})"
    else:
        members = (
            f"{quoted(name)} := {plain(f'struct_extract({value}, {literal(name)})', of, depth)}"
            for name, of in type.children
        )
        made = f"struct_pack({', '.join(members)})"
    return f"CASE WHEN {value} IS NOT NULL THEN {made} END"


def text(value: str, type: Any) -> str:
    """An expression for the plain value as text; of a nested one as JSON."""
    return document(value, type) if is_nested(type) else f"({plain(value, type)})::VARCHAR"


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def _amount(value: str, precision: int, scale: int) -> str:
    text = f"{value}::VARCHAR"
    if scale == 0:
        return text
    short = f"rtrim(rtrim({text}, '0'), '.')"
    # Where there is no room for a digit before the point, there is none.
    return short if scale < precision else f"regexp_replace({short}, '^-?', '\\00')"


def _moment(value: str, fraction: str = "%f") -> str:
    return f"rtrim(rtrim(strftime({value}, '%Y-%m-%dT%H:%M:%S.{fraction}'), '0'), '.')"
