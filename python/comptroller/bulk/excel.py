"""Writing records as an Excel file, through polars and XlsxWriter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from comptroller.bulk.files import whole_file
from comptroller.errors import invalid, require, unavailable

MOST_ROWS = (1 << 20) - 1  # without the header
LONGEST_TEXT = 32_767  # UTF-16 code units
TOO_LONG = f"a cell has at most {LONGEST_TEXT:,} UTF-16 code units"


def write_excel(csv: str, path: str) -> None:
    """Writes an exported CSV file as a sheet whose cells are all text, so that amounts stay exact.

    An empty text is an apostrophe, because Excel has no empty texts. Raises InvalidRequest for more
    rows, or longer texts, than a sheet can hold.
    """
    library = require("polars", "an Excel export", "analysis")
    frame = library.read_csv(csv, infer_schema=False)
    if frame.height > MOST_ROWS:
        raise invalid("path", f"a sheet has at most {MOST_ROWS:,} rows; export CSV or Parquet")
    texts = library.all()
    # A character beyond U+FFFF has two units.
    lengths = texts.str.len_chars() + texts.str.count_matches("[\U00010000-\U0010ffff]")
    if frame.select((lengths > LONGEST_TEXT).any()).transpose().to_series().any():
        raise invalid("path", f"{TOO_LONG}; export CSV or Parquet")
    frame = frame.with_columns(texts.replace("", "'"))
    with whole_file(path) as part, new_workbook(part) as workbook:
        sheet = workbook.add_worksheet()
        for column, values in enumerate(frame.get_columns()):
            sheet.write_string(0, column, values.name)
            for row, value in enumerate(values, start=1):
                if value is not None:
                    sheet.write_string(row, column, value)


def is_too_long(text: str) -> bool:
    """Whether a cell cannot hold a text."""
    if len(text) <= LONGEST_TEXT // 2:  # a character has at most two units
        return False
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 > LONGEST_TEXT


@contextmanager
def new_workbook(path: Path) -> Iterator[Any]:
    """Yields an XlsxWriter workbook, and writes it to `path` after the block.

    Raises Unavailable if it cannot be written, MissingExtra without XlsxWriter.
    """
    writer = require("xlsxwriter", "an Excel file", "analysis")
    options = {"strings_to_urls": False, "nan_inf_to_errors": True}
    workbook = writer.Workbook(str(path), options)
    yield workbook
    try:
        workbook.close()
    except writer.exceptions.XlsxWriterException as error:
        raise unavailable(f"the Excel file cannot be written: {error}") from error
