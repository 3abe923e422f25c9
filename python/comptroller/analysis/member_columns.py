"""A table of someone else as the members of a kind, with exact types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

import polars

from comptroller.bulk import tables
from comptroller.bulk.columns import FrameMapping
from comptroller.bulk.frames import column_of, frame_of
from comptroller.bulk.mapping import ColumnMapping, RowMapping
from comptroller.errors import InvalidRequest, invalid, shorten

if TYPE_CHECKING:
    from comptroller.bulk.sources import LoadSource

#: The column of the numbers of the rows; a file's header is row 1.
ROW = "row"
_AMOUNT = r"^-?[0-9]{1,20}(\.[0-9]{1,18})?$"
_RFC_3339 = "%Y-%m-%dT%H:%M:%S%.f%#z"
_LEAP_SECOND = r"^(.{16}):60(\.\d+)?"
_TEXTS = polars.List(polars.String)


class MemberTable(NamedTuple):
    """The columns of a table that are members, with the column ROW, and the names of the others."""

    frame: polars.DataFrame
    ignored: list[str]


def member_table(
    kind: str, source: LoadSource, mapping: ColumnMapping, types: Mapping[str, str]
) -> MemberTable:
    """Reads anything that a load reads, and converts its columns as a load does.

    Blank rows are left out. Amounts become decimals, times UTC microseconds, lists lists of texts,
    and all other members text.

    Args:
        kind: the kind of the records.
        source: the table.
        mapping: how columns become members.
        types: the types of the members to read, by name.

    Raises:
        InvalidRequest: the source cannot be read, or has a value that is not of its member's type;
            the message names the row.
    """
    whole, lines_before = frame_of(source, mapping)
    names = {each: mapping.rename.get(each, each) for each in whole.columns}
    for name in types:
        if list(names.values()).count(name) > 1:
            raise invalid(name, "several columns set it; rename or remove all but one")
    ignored = [each for each, name in names.items() if name not in types]
    numbers = polars.int_range(1 + lines_before, len(whole) + 1 + lines_before, eager=True)
    if not len(whole):
        return MemberTable(_cast_members(whole.rename(names), types, numbers), ignored)
    is_filled = whole.select(polars.any_horizontal(polars.all().is_not_null())).to_series()
    frame, numbers = whole.filter(is_filled), numbers.filter(is_filled)
    rows = RowMapping(kind, mapping, unescapes=lines_before > 0)
    members, hard = FrameMapping(kind, rows, mapping)(frame)
    if hard is None:
        return MemberTable(_cast_members(members, types, numbers), ignored)
    records = _records(frame.filter(hard), rows, types, numbers.filter(hard))
    parts = [_cast_members(records, types, numbers.filter(hard))]
    if not hard.all():
        parts.append(_cast_members(members.filter(~hard), types, numbers.filter(~hard)))
    return MemberTable(polars.concat(parts, how="diagonal"), ignored)


def _records(
    frame: polars.DataFrame, rows: RowMapping, types: Mapping[str, str], numbers: polars.Series
) -> polars.DataFrame:
    """Returns rows as records, converted one by one."""
    columns: dict[str, list[object]] = {name: [] for name in types}
    for number, row in zip(numbers, tables.rows_of((frame,)), strict=True):
        try:
            record = cast("Mapping[str, object]", rows(row))
        except InvalidRequest as error:
            name, why = error.errors[0]
            raise _invalid_row(name, number, why) from error
        for name, values in columns.items():
            values.append(record.get(name))
    filled = {
        name: values for name, values in columns.items() if any(v is not None for v in values)
    }
    return polars.DataFrame([column_of(polars, *each) for each in filled.items()])


def _cast_members(
    frame: polars.DataFrame, types: Mapping[str, str], numbers: polars.Series
) -> polars.DataFrame:
    """Returns the columns that are members, as the exact types of the members, and ROW."""
    columns = [numbers.alias(ROW)]
    for name, type in types.items():
        if name not in frame.columns:
            continue
        column = frame[name]
        if type in _CONVERTERS and column.dtype == polars.String:
            column = column.set(column == "", None)  # a file may quote its empty cells
        typed = _CONVERTERS.get(type, _texts)(column)
        is_wrong = (typed.is_null() & column.is_not_null()).arg_true()
        if len(is_wrong):
            value = column[is_wrong[0]]
            shown = shorten(
                repr(value if not isinstance(value, polars.Series) else value.to_list())
            )
            why = f"{shown} is not {_MEANINGS.get(type, 'text')}"
            raise _invalid_row(name, numbers[is_wrong[0]], why)
        columns.append(typed)
    return polars.DataFrame(columns)


def _amounts(column: polars.Series) -> polars.Series:
    exact = polars.Decimal(38, 18)
    if column.dtype.is_integer():
        return column.cast(exact, strict=False)
    if isinstance(column.dtype, polars.Decimal):
        column = column.cast(polars.String).str.replace(r"(\.\d*?)0+$", "$1").str.strip_suffix(".")
    texts = _texts(column)
    return texts.set(~texts.str.contains(_AMOUNT), None).cast(exact)


def _times(column: polars.Series) -> polars.Series:
    """Returns times as the core reads them: further digits cut, a leap second at its place only."""
    if isinstance(column.dtype, polars.Datetime) and column.dtype.time_zone is not None:
        return column.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
    texts = _texts(column).str.to_uppercase()
    is_day = texts.str.contains(r"^\d{4}-\d\d-\d\d$").fill_null(False)
    texts = (texts + "T00:00:00Z").zip_with(is_day, texts)
    is_leap = texts.str.contains(_LEAP_SECOND).fill_null(False)
    times = texts.str.replace(_LEAP_SECOND, "$1:59.999999").str.to_datetime(
        _RFC_3339, strict=False, time_unit="us", time_zone="UTC"
    )
    is_last = (times.dt.hour() == 23) & (times.dt.minute() == 59)
    is_time = times.dt.year().is_between(1, 9999) & (is_last | ~is_leap)
    return times.set(~is_time, None)


def _booleans(column: polars.Series) -> polars.Series:
    if column.dtype == polars.Boolean:
        return column
    return _texts(column).replace_strict(
        ["true", "false"], [True, False], default=None, return_dtype=polars.Boolean
    )


def _lists(column: polars.Series) -> polars.Series:
    if column.dtype == _TEXTS:
        return column
    if column.dtype == polars.String:
        found = column.str.contains(r"^\s*\[")
        try:
            return column.set(~found, None).str.json_decode(_TEXTS)
        except polars.exceptions.ComputeError:
            return polars.Series(column.name, [None] * len(column), dtype=_TEXTS)
    return polars.Series(column.name, [None] * len(column), dtype=_TEXTS)


def _texts(column: polars.Series) -> polars.Series:
    is_text = column.dtype in (polars.String, polars.Categorical, polars.Enum, polars.Null)
    if is_text or column.dtype.is_integer():
        return column.cast(polars.String)
    return polars.Series(column.name, [None] * len(column), dtype=polars.String)


_CONVERTERS = {"amount": _amounts, "timestamp": _times, "boolean": _booleans, "string[]": _lists}
_MEANINGS = {
    "amount": "a plain decimal number of at most 20 digits before and 18 after the point",
    "timestamp": "a time with an offset",
    "boolean": "true or false",
    "string[]": "a list of texts",
}


def _invalid_row(member: str, row: int, why: str) -> InvalidRequest:
    return invalid(member, f"row {row}: {why}")
