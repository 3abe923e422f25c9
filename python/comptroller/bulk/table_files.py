"""Files of tables (CSV, Parquet, Excel) as batches of rows, and their lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from comptroller.bulk import tables
from comptroller.bulk.compression import Content
from comptroller.bulk.csv_files import CsvFile
from comptroller.bulk.formats import Format, separator_of
from comptroller.bulk.line_numbers import LineNumbers
from comptroller.bulk.mapping import ColumnMapping
from comptroller.bulk.sheets import read_sheet

if TYPE_CHECKING:
    import polars

#: Is called with the number of a row that is broken, from 1, and why.
Refuse: TypeAlias = Callable[[int, str], None]


class TableFile(NamedTuple):
    """The rows of a file.

    Attributes:
        frames: yields the rows in batches, each time from the first; broken ones are refused.
        lines: returns the lines of the rows that were read.
        separator: the separator of the cells of a CSV file.
    """

    frames: Callable[[Refuse | None], Iterable[polars.DataFrame]]
    lines: Callable[[], LineNumbers]
    separator: str = ","


def table_file(
    format: Format,
    path: str,
    found: Content,
    options: ColumnMapping,
    is_used: Callable[[str], bool] = lambda _column: True,
    is_text: Callable[[str], bool] = lambda _column: True,
) -> TableFile:
    """Returns the rows of a file.

    Args:
        format: the format, which is not JSON.
        path: a file that has the content.
        found: the content, for its name and first bytes.
        options: the separator and the sheet.
        is_used: whether the values of a column are used.
        is_text: whether a number in a column of a sheet is the text that its format shows.
    """
    if format == "parquet":
        return TableFile(
            lambda _refuse: tables.parquet_frames(path, found.name, is_used), LineNumbers
        )
    if format == "xlsx":
        sheet = read_sheet(path, found.name, options.sheet, is_text)
        return TableFile(lambda _refuse: (sheet.frame,), lambda: LineNumbers(sheet.rows_before))
    separator = options.separator or separator_of(found.head, found.name)
    file = CsvFile(path, found.name, separator)
    return TableFile(file.frames, file.line_numbers, separator)
