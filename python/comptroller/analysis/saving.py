"""Writing a report as CSV, Excel or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from comptroller.analysis.formatting import csv_of
from comptroller.analysis.sheets import add_rows, refuse_long
from comptroller.bulk.excel import new_workbook
from comptroller.bulk.files import whole_file
from comptroller.errors import invalid

if TYPE_CHECKING:
    from comptroller.analysis.report import Report


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
    frame, columns = report.to_polars(), report.definition.columns
    refuse_long(frame)
    shares = {name for name, each in columns.items() if each.unit == "share"} | {"deviation"}
    with new_workbook(part) as workbook:
        add_rows(workbook, report.name, frame, shares)
        about = workbook.add_worksheet("about")
        bold = workbook.add_format({"bold": True})
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
        ("rows", report.summary),
        ("formula", report.formula),
        *((name, f"{column.meaning} ({column.unit})") for name, column in columns),
    ]


#: The writers by suffix.
FORMATS: Mapping[str, Callable[[Report, Path], None]] = {
    ".csv": _csv,
    ".xlsx": _excel,
    ".parquet": _parquet,
}
