"""Writing records as an Excel file, through polars and XlsxWriter."""

from __future__ import annotations

from comptroller.bulk.files import whole_file
from comptroller.errors import invalid, require, unavailable

_MOST_ROWS = (1 << 20) - 1  # without the header
_LONGEST_TEXT = 32_767


def write_excel(csv: str, path: str) -> None:
    """Writes an exported CSV file as a sheet whose cells are all text, so that amounts stay exact.

    An empty text is an apostrophe, because Excel has no empty texts. Raises InvalidRequest for more
    rows, or longer texts, than a sheet can hold.
    """
    library = require("polars", "an Excel export", "analysis")
    writer = require("xlsxwriter", "an Excel export", "analysis")
    frame = library.read_csv(csv, infer_schema=False)
    if frame.height > _MOST_ROWS:
        raise invalid("path", f"a sheet has at most {_MOST_ROWS:,} rows; export CSV or Parquet")
    texts = library.all()
    if frame.select((texts.str.len_chars() > _LONGEST_TEXT).any()).transpose().to_series().any():
        raise invalid("path", f"a cell has at most {_LONGEST_TEXT:,} characters; export CSV")
    frame = frame.with_columns(texts.replace("", "'"))
    with whole_file(path) as part:
        workbook = writer.Workbook(str(part), {"strings_to_urls": False})
        sheet = workbook.add_worksheet()
        for column, values in enumerate(frame.get_columns()):
            sheet.write_string(0, column, values.name)
            for row, value in enumerate(values, start=1):
                if value is not None:
                    sheet.write_string(row, column, value)
        try:
            workbook.close()
        except writer.exceptions.XlsxWriterException as error:
            raise unavailable(f"{path} cannot be written: {error}") from error
