"""Sheets of Excel with the rows of a frame, in which every value stays exact."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import date
from typing import Any

import polars

from comptroller.analysis.formatting import exact_text
from comptroller.bulk.excel import MOST_ROWS, TOO_LONG, is_too_long
from comptroller.display import numbers
from comptroller.errors import invalid

#: Excel keeps the first 15 digits of a number, milliseconds, and days from 1900 on.
_MOST_DIGITS = 15
_FIRST_DAY = date(1900, 3, 1)
_NUMBER, _PERCENT = "#,##0.##################", "0.00%"
_DAY, _TIME = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"


def refuse_long(frame: polars.DataFrame) -> None:
    """Raises InvalidRequest for more rows than a sheet can hold."""
    if frame.height > MOST_ROWS:
        raise invalid(
            "path",
            f"{frame.height:,} rows are too many for Excel; a sheet has at most {MOST_ROWS:,} rows "
            "below its header: write .csv or .parquet",
        )


def add_rows(
    workbook: Any, name: str, frame: polars.DataFrame, shares: Collection[str] = ()
) -> None:
    """Adds a sheet of rows to a workbook.

    Args:
        workbook: the workbook.
        name: the name of the sheet.
        frame: the rows, which `refuse_long` accepts, without nested values.
        shares: the columns to show as percentages.
    """
    sheet = workbook.add_worksheet(name)
    bold = workbook.add_format({"bold": True})
    for place, column_name in enumerate(frame.columns):
        _write(sheet, 0, place, column_name, bold)  # a text is never a formula
    sheet.freeze_panes(1, 0)
    for place, column in enumerate(frame):
        shown, style = _cells(column, is_share=column.name in shares)
        written = workbook.add_format(style)
        for row, value in enumerate(shown.to_list(), start=1):
            _write(sheet, row, place, value, written)
    sheet.autofit()


def _cells(column: polars.Series, *, is_share: bool) -> tuple[polars.Series, Mapping[str, Any]]:
    """Returns the values of a column as Excel keeps them, and their format.

    If Excel would change one value of a column, all of them are text.
    """
    known = column.drop_nulls()
    if column.dtype.is_decimal():
        texts = [numbers.plain(amount) for amount in known]
        if any(sum(map(str.isdigit, text.strip("-0."))) > _MOST_DIGITS for text in texts):
            return _texts(column, numbers.plain), {"align": "right"}
        return column.cast(polars.Float64), {"num_format": _NUMBER}
    if column.dtype == polars.Duration:
        return _texts(column, str), {"align": "right"}
    if column.dtype.is_temporal():
        if not _keeps(known):
            return _texts(column, lambda value: str(value.isoformat()).replace("+00:00", "Z")), {}
        is_day = column.dtype == polars.Date
        naive = column if is_day else column.dt.replace_time_zone(None)
        return naive, {"num_format": _DAY if is_day else _TIME}
    if column.dtype.is_integer() and any(abs(each) >= 10**_MOST_DIGITS for each in known):
        return _texts(column, str), {"align": "right"}
    if column.dtype == polars.Binary:
        return _texts(column, exact_text), {}
    return column, {"num_format": _PERCENT} if is_share else {}


def _keeps(times: polars.Series) -> bool:
    """Whether Excel keeps days and times."""
    if not isinstance(times.dtype, (polars.Date, polars.Datetime)):
        return False
    if isinstance(times.dtype, polars.Datetime) and (times.dt.microsecond() % 1000 != 0).any():
        return False
    return not (times.dt.date() < _FIRST_DAY).any()


def _texts(column: polars.Series, text: Callable[[Any], str]) -> polars.Series:
    texts = [None if value is None else text(value) for value in column]
    return polars.Series(column.name, texts, polars.String)


def _write(sheet: Any, row: int, place: int, value: Any, style: Any) -> None:
    if value is None:
        return
    if isinstance(value, str):
        if is_too_long(value):
            raise invalid("path", f"{TOO_LONG}; write CSV or Parquet")
        sheet.write_string(row, place, value, style)
    elif isinstance(value, bool):
        sheet.write_boolean(row, place, value, style)
    elif isinstance(value, date):
        sheet.write_datetime(row, place, value, style)
    else:
        sheet.write_number(row, place, value, style)
