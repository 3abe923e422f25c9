"""Writing a report as CSV, Excel or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars

from comptroller.analysis.formatting import csv_of
from comptroller.bulk.excel import LONGEST_TEXT, MOST_ROWS, new_workbook
from comptroller.bulk.files import whole_file
from comptroller.display import numbers
from comptroller.errors import invalid

if TYPE_CHECKING:
    from comptroller.analysis.report import Report

#: Excel keeps the first 15 digits of a number, and days from 1900 on.
_MOST_DIGITS = 15
_FIRST_DAY = date(1900, 3, 1)
_NUMBER, _PERCENT = "#,##0.##################", "0.00%"
_DAY, _TIME = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"


def save(report: Report, path: str | PathLike[str], *formats: str) -> None:
    """Writes all rows of a report to a file, in the format that its suffix names.

    Raises:
        InvalidRequest: the suffix names none of the `formats`, by default of any; the file belongs
            to an open store; or a sheet cannot hold the rows.
        Unusable: the file cannot be written.
        MissingExtra: XlsxWriter is not installed.
    """
    suffix = Path(path).suffix.lower()
    known = formats or tuple(FORMATS)
    if suffix not in known:
        raise invalid("path", f"{path} does not end in {' or '.join(known)}")
    with whole_file(path) as part:
        FORMATS[suffix](report, part)


def _csv(report: Report, part: Path) -> None:
    part.write_text(csv_of(report.to_polars()), encoding="utf-8", newline="")


def _parquet(report: Report, part: Path) -> None:
    report.to_polars().write_parquet(part)


def _excel(report: Report, part: Path) -> None:
    """Writes a sheet of the rows, and one that says what they mean."""
    frame = report.to_polars()
    if frame.height > MOST_ROWS:
        raise invalid("path", f"a sheet has at most {MOST_ROWS:,} rows; write CSV or Parquet")
    with new_workbook(part) as workbook:
        bold = workbook.add_format({"bold": True})
        sheet = workbook.add_worksheet(report.name)
        sheet.write_row(0, 0, frame.columns, bold)
        sheet.freeze_panes(1, 0)
        for place, column in enumerate(frame):
            shown, style = _cells(column, report)
            written = workbook.add_format(style)
            for row, value in enumerate(shown.to_list(), start=1):
                _write(sheet, row, place, value, written)
        sheet.autofit()
        about = workbook.add_worksheet("about")
        wrapped = workbook.add_format({"text_wrap": True, "valign": "top"})
        about.set_column(0, 0, 24)
        about.set_column(1, 1, 100, wrapped)
        for row, (name, meaning) in enumerate(_meanings(report)):
            about.write_string(row, 0, name, bold)
            about.write_string(row, 1, meaning)


def _meanings(report: Report) -> list[tuple[str, str]]:
    definition = report.definition
    columns = definition.columns.items()
    return [
        ("report", report.title),
        ("question", definition.question),
        ("rows", report.over),
        ("formula", report.formula),
        *((name, f"{column.meaning} ({column.unit})") for name, column in columns),
    ]


def _cells(column: polars.Series, report: Report) -> tuple[polars.Series, Mapping[str, Any]]:
    """Returns the values of a column as Excel keeps them, and their format.

    If Excel would change one value of a column, all of them are text.
    """
    known = column.drop_nulls()
    if column.dtype.is_decimal():
        texts = [numbers.plain(amount) for amount in known]
        if any(sum(map(str.isdigit, text.strip("-0."))) > _MOST_DIGITS for text in texts):
            return _texts(column, numbers.plain), {"align": "right"}
        return column.cast(polars.Float64), {"num_format": _NUMBER}
    if column.dtype.is_temporal():
        if len(known) and known.dt.date().min() < _FIRST_DAY:  # type: ignore[operator]
            return _texts(column, lambda value: value.isoformat().replace("+00:00", "Z")), {}
        is_day = column.dtype == polars.Date
        naive = column if is_day else column.dt.replace_time_zone(None)
        return naive, {"num_format": _DAY if is_day else _TIME}
    declared = report.definition.columns.get(column.name)
    if column.name == "deviation" or (declared is not None and declared.unit == "share"):
        return column, {"num_format": _PERCENT}
    return column, {}


def _texts(column: polars.Series, text: Callable[[Any], str]) -> polars.Series:
    texts = [None if value is None else text(value) for value in column]
    return polars.Series(column.name, texts, polars.String)


def _write(sheet: Any, row: int, place: int, value: Any, style: Any) -> None:
    if value is None:
        return
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            most = f"a cell has at most {LONGEST_TEXT:,} characters"
            raise invalid("path", f"{most}; write CSV or Parquet")
        sheet.write_string(row, place, value, style)
    elif isinstance(value, bool):
        sheet.write_boolean(row, place, value, style)
    elif isinstance(value, date):
        sheet.write_datetime(row, place, value, style)
    else:
        sheet.write_number(row, place, value, style)


#: The writers by suffix.
FORMATS: Mapping[str, Callable[[Report, Path], None]] = {
    ".csv": _csv,
    ".xlsx": _excel,
    ".parquet": _parquet,
}
