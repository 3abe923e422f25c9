"""SQL expressions that convert values of any DuckDB type to exact values that JSON can represent.

Amounts become text without an exponent or trailing zeros, times RFC 3339 text (in UTC if they have
a zone), bytes hexadecimal text. Booleans, numbers, lists, tuples, structs and maps keep their type.
Infinities and NaN become NULL. Any other type, such as a union, becomes DuckDB's text.
"""

from __future__ import annotations

from typing import Any

from comptroller.bulk.parquet import quote_name

_WIDE = ("hugeint", "uhugeint")
_NUMBERS = frozenset(
    f"{sign}{size}" for sign in ("", "u") for size in ("tinyint", "smallint", "integer", "bigint")
) | {"hugeint", "uhugeint"}
_REAL = ("float", "double")
_TIMESTAMPS = ("timestamp", "timestamp_s", "timestamp_ms")
_FIXED = ("boolean", "timestamp", "uuid")
_SMALL = _NUMBERS - {"ubigint", *_WIDE}
_IN_CORE = ("varchar", "decimal", "timestamp", "timestamp with time zone")
_SAME = _NUMBERS | {"boolean", "varchar", "null"}


def is_number(type: Any) -> bool:
    """Whether a type of DuckDB is a number."""
    return type.id in _NUMBERS or type.id in (*_REAL, "decimal", "bignum")


def may_hold_a_formula(type: Any) -> bool:
    """Whether values of a type of DuckDB are arbitrary text, which may contain a formula."""
    return not (is_number(type) or is_nested(type) or type.id.startswith(_FIXED))


def is_nested(type: Any) -> bool:
    """Whether a type of DuckDB is a list, array, tuple, struct or map."""
    return type.id in ("list", "array", "tuple", "struct", "map")


def lacks_in_polars(type: Any) -> bool:
    """Whether polars has no type for the values of a type of DuckDB, or for some in them."""
    if type.id == "map" and is_nested(dict(type.children)["key"]):
        return True
    return type.id in ("interval", "union", "bit", "bignum") or any(
        map(lacks_in_polars, _parts(type))
    )


def has_wide_integers(type: Any) -> bool:
    """Whether values of a type of DuckDB are integers of 128 bits, or have some in them."""
    return type.id in _WIDE or any(map(has_wide_integers, _parts(type)))


def has_seconds(type: Any) -> bool:
    """Whether values of a type of DuckDB are times in seconds, or have some in them."""
    return type.id == "timestamp_s" or any(map(has_seconds, _parts(type)))


def _parts(type: Any) -> list[Any]:
    """Returns the types of the values in a nested type of DuckDB."""
    return [of for _, of in type.children if hasattr(of, "id")] if is_nested(type) else []


def core_expression(value: str, type: Any) -> str | None:
    """Returns an expression of a type that the core formats; None if SQL has to format it."""
    if type.id in _SMALL:
        return f"{value}::BIGINT"
    if str(type) == "JSON":
        return f"{value}::VARCHAR"
    return value if type.id in _IN_CORE or str(type) == "VARCHAR[]" else None


def document(value: str, type: Any) -> str:
    """Returns an expression for the plain value as JSON text."""
    return f"to_json({plain(value, type)})::VARCHAR"


def plain(value: str, type: Any, depth: int = 0) -> str:
    """Returns an expression for the plain value of the expression `value`."""
    if str(type) == "JSON":  # as JSON, its numbers would become floats
        return f"{value}::VARCHAR"
    if type.id in _SAME:
        return value
    if type.id in _REAL:
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if type.id == "decimal":
        return _amount(value, **dict(type.children))
    if type.id == "timestamp with time zone":
        zone = f"CASE WHEN isfinite({value}) THEN 'Z' ELSE '' END"
        return f"{_timestamp(f'{value}::TIMESTAMP')} || {zone}"
    if type.id in _TIMESTAMPS:
        return _timestamp(f"{value}::TIMESTAMP")  # strftime() refuses some far seconds
    if type.id == "timestamp_ns":
        return _timestamp(value, "%n")
    if type.id == "blob":
        return f"lower(hex({value}))"
    if is_nested(type):
        return _cast_nested(value, type, depth)
    return f"{value}::VARCHAR"


def _cast_nested(value: str, type: Any, depth: int) -> str:
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
            f"{literal(name)}: {plain(f'struct_extract({value}, {literal(name)})', of, depth)}"
            for name, of in type.children
        )
        made = f"{{{', '.join(members)}}}"
    return f"CASE WHEN {value} IS NOT NULL THEN {made} END"


def text(value: str, type: Any) -> str:
    """Returns an expression for the plain value as text; a nested value as JSON text."""
    return document(value, type) if is_nested(type) else f"({plain(value, type)})::VARCHAR"


def duration(value: str, name: str) -> str:
    """Returns an expression for the microseconds of an interval; an error if it has months."""
    why = f"{name} has months, which differ in length; write it as days, or as text: ::VARCHAR"
    return (
        f"CASE WHEN year({value}) = 0 AND month({value}) = 0 THEN epoch_us({value}) "
        f"WHEN {value} IS NOT NULL THEN error({literal(why)}) END"
    )


def narrow_integers(value: str, type: Any, name: str) -> str:
    """Returns an expression with decimals for integers of 128 bits; an error for 39 digits.

    Polars would round these.
    """
    why = f"{name}: an integer has more than 38 digits; write it as text: ::VARCHAR"
    narrowed = f"TRY_CAST({value} AS {_in_polars(type)})"  # NULL for 39 digits, also within
    is_same = f"{narrowed}::{type} IS NOT DISTINCT FROM {value}"
    return f"CASE WHEN {is_same} THEN {narrowed} ELSE error({literal(why)}) END"


def with_microseconds(value: str, type: Any) -> str:
    """Returns an expression with microseconds for times in seconds.

    Polars makes milliseconds of these, also of infinity.
    """
    return f"{value}::{_in_polars(type)}"


def _in_polars(type: Any) -> str:
    """Returns a type of DuckDB with decimals for integers of 128 bits, and without seconds."""
    if type.id in _WIDE:
        return "DECIMAL(38, 0)"
    if type.id == "timestamp_s":
        return "TIMESTAMP"
    if not has_wide_integers(type) and not has_seconds(type):
        return str(type)
    of = list(map(_in_polars, _parts(type)))
    if type.id == "list":
        return f"{of[0]}[]"
    if type.id == "array":
        return f"{of[0]}[{dict(type.children)['size']}]"
    if type.id == "struct":
        names = (quote_name(name) for name, _ in type.children)
        of = [f"{name} {each}" for name, each in zip(names, of, strict=True)]
    return f"{type.id.upper()}({', '.join(of)})"


def literal(text: str) -> str:
    """Returns an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _amount(value: str, precision: int, scale: int) -> str:
    text = f"{value}::VARCHAR"
    if scale == 0:
        return text
    short = f"rtrim(rtrim({text}, '0'), '.')"
    # If the scale equals the precision, DuckDB writes no digit before the point; add a zero.
    return short if scale < precision else f"regexp_replace({short}, '^-?', '\\00')"


def _timestamp(value: str, fraction: str = "%f") -> str:
    return f"rtrim(rtrim(strftime({value}, '%Y-%m-%dT%H:%M:%S.{fraction}'), '0'), '.')"
