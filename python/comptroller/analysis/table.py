"""Rows with exact values: the result of a query, and its files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars

from comptroller import arguments
from comptroller.analysis import plain
from comptroller.analysis.formatting import columns_of
from comptroller.analysis.rows import FrameRows, is_far
from comptroller.analysis.sheets import add_rows, refuse_long
from comptroller.bulk.columns import GROUPED_NUMBER
from comptroller.bulk.excel import new_workbook
from comptroller.bulk.files import whole_file
from comptroller.bulk.frames import with_types
from comptroller.bulk.mapping import THOUSANDS
from comptroller.bulk.parquet import quote_name, write_parquet
from comptroller.bulk.streams import Rows
from comptroller.display.html import SHOWN_ROWS, html
from comptroller.errors import invalid

if TYPE_CHECKING:
    from comptroller.analysis.query import Query


class Table(FrameRows):
    """Rows with exact values; shown as a table in notebooks.

    Amounts are decimals, times are UTC microseconds. A Table is an Arrow stream: polars, DuckDB,
    pyarrow and pandas accept the object itself.
    """

    def __init__(self, frame: polars.DataFrame) -> None:
        self._frame = with_types(frame)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._frame.columns

    def to_csv(self, path: str | os.PathLike[str]) -> int:
        """Writes all rows as CSV, exactly; returns how many.

        An apostrophe precedes text that a spreadsheet could run as a formula.
        """
        with (
            _query(self._frame) as query,
            whole_file(arguments.path("path", path)) as part,
            part.open("wb") as file,
        ):
            for _, text in query.text(is_json=False):
                file.write(text)
        return len(self)

    def to_excel(self, path: str | os.PathLike[str]) -> int:
        """Writes all rows as an Excel file; returns how many.

        Excel keeps 15 digits of a number and milliseconds of a time. A column with more is text, so
        that all values stay exact. Times are in UTC.

        Raises InvalidRequest if there are more rows than a sheet has.
        """
        refuse_long(self._frame)
        with whole_file(arguments.path("path", path)) as part, new_workbook(part) as workbook:
            add_rows(workbook, "rows", _with_texts(self._frame))
        return len(self)

    def to_parquet(self, path: str | os.PathLike[str]) -> int:
        """Writes all rows as Parquet, with their types; returns how many."""
        return write_parquet(self, arguments.path("path", path))

    def to_html(self, path: str | os.PathLike[str]) -> int:
        """Writes a page with the first rows, and all of them to copy as CSV; returns how many."""
        from comptroller.analysis.presentation import document

        with whole_file(arguments.path("path", path)) as part:
            part.write_text(document([self], self.title), encoding="utf-8")
        return len(self)

    def save(self, path: str | os.PathLike[str]) -> int:
        """Writes the rows as .csv, .xlsx or .parquet, or a page as .html; returns how many.

        Raises InvalidRequest for another suffix.
        """
        writers = {
            ".csv": self.to_csv,
            ".xlsx": self.to_excel,
            ".parquet": self.to_parquet,
            ".html": self.to_html,
        }
        suffix = Path(arguments.path("path", path)).suffix.lower()
        if suffix not in writers:
            raise invalid("path", f"{path} names no format; end it in one of {', '.join(writers)}")
        return writers[suffix](path)

    @property
    def title(self) -> str:
        """The title of the page."""
        return "Rows of a query"

    def section(self, shown: int, *, with_csv: bool = True) -> dict[str, Any]:
        """Returns the values of the section template, with at most `shown` rows."""
        lines = [f"{len(self):,} {'row' if len(self) == 1 else 'rows'}"]
        listed = [listed_rows("", self._frame, shown, with_csv=with_csv)]
        return {"place": "rows", "title": self.title, "lines": lines, "listed": listed}

    def __repr__(self) -> str:
        count = f"{len(self):,} {'row' if len(self) == 1 else 'rows'}"
        return f"<Table: {count} of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        left = len(self) - SHOWN_ROWS
        return html(
            "notebook.html",
            lines=[],
            columns=columns_of(_with_texts(self._frame.head(SHOWN_ROWS))),
            notes=[f"{left:,} more rows"] if left > 0 else [],
        )


def listed_rows(
    title: str, frame: polars.DataFrame, shown: int, *, with_csv: bool
) -> dict[str, Any]:
    """Returns the values of a titled table of the section template."""
    return {
        "title": title,
        "columns": columns_of(_with_texts(frame.head(shown))),
        "csv": _csv_of(frame) if with_csv else None,
        "more": max(len(frame) - shown, 0),
    }


def _csv_of(frame: polars.DataFrame) -> str:
    with _query(frame) as query:
        return b"".join(bytes(text) for _, text in query.text(is_json=False)).decode()


def _with_texts(frame: polars.DataFrame) -> polars.DataFrame:
    """Returns a frame with the texts of CSV for nested values, and for times Python cannot hold."""
    names = [column.name for column in frame if _needs_text(column)]
    if not names:
        return frame
    with _query(frame.select(names)) as query:
        rows = [row for batch in query.rows() for row in batch]
    texts = polars.DataFrame(rows, dict.fromkeys(names, polars.String), orient="row")
    return frame.with_columns(texts)


def _needs_text(column: polars.Series) -> bool:
    if isinstance(column.dtype, polars.Datetime) and column.dtype.time_unit == "ns":
        return (column.dt.nanosecond() % 1000 != 0).any()
    return column.dtype.is_nested() or column.dtype == polars.Time or is_far(column)


@contextmanager
def _query(frame: polars.DataFrame) -> Iterator[Query]:
    """Yields a query of all rows of a frame."""
    from comptroller.analysis.query import Query

    with duckdb.connect() as connection:
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET GLOBAL arrow_large_buffer_size = true")
        # Names of DuckDB ignore the case.
        places = {name: f"c{place}" for place, name in enumerate(frame.columns)}
        connection.register("answer", rows_of(frame.rename(places)))
        query = Query(connection, "FROM answer", "SELECT")
        columns = zip(query.columns, frame.columns, strict=True)
        query.columns = [column._replace(name=name) for column, name in columns]
        yield query


class _Rows:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


def rows_of(rows: Rows) -> Rows:
    """Hides the class of rows, so that DuckDB and polars read them as a stream, without pyarrow."""
    return _Rows(rows)


# A time with an offset, as text.
_TIME = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})"
)
_DECIMAL = "DECIMAL(38, 18)"
#: Types of the text columns of files, and the texts that they all must be. A number with a leading
#: zero is text, such as an account number.
_TYPES = {
    "BIGINT": r"0|-?[1-9][0-9]{0,17}",
    _DECIMAL: r"-?(0|[1-9][0-9]{0,19})([.][0-9]{1,18})?",
    "BOOLEAN": r"true|false",
    "DATE": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "TIMESTAMPTZ": _TIME,
}


def copy_table(
    connection: duckdb.DuckDBPyConnection, name: str, frame: polars.DataFrame, decimal: str | None
) -> None:
    """Copies a frame to a table.

    Args:
        connection: where the table is created.
        name: the name of the table.
        frame: the rows.
        decimal: of a CSV or Excel file, the decimal separator: columns of numbers, and text columns
            of one type, get an exact type. With a decimal comma, a text column of numbers with a
            point stays text. None for other frames, whose types stay.
    """
    place = quote_name(name)
    with_points = {
        column.name
        for column in frame
        if decimal == "," and column.dtype == polars.String and not _has_only_commas(column)
    }
    if decimal is not None:
        frame = frame.with_columns(_plain(column, decimal) for column in frame)
    connection.register("rows of the caller", rows_of(frame))
    try:
        source = connection.table('"rows of the caller"')
        casts = {}
        for given, column, type in zip(frame.columns, source.columns, source.types, strict=True):
            if decimal is not None and type.id == "varchar":
                found = _type_of(source, quote_name(str(column)))
                casts[column] = None if found == _DECIMAL and given in with_points else found
            elif type.id.startswith("timestamp") and type.id != "timestamp with time zone":
                casts[column] = "TIMESTAMP"
        cast = [
            f"{quote_name(each)}::{type} AS {quote_name(each)}"
            for each, type in casts.items()
            if type
        ]
        columns = f"* REPLACE ({', '.join(cast)})" if cast else "*"
        connection.execute(f'CREATE TABLE {place} AS SELECT {columns} FROM "rows of the caller"')
    finally:
        connection.unregister("rows of the caller")


def _plain(column: polars.Series, decimal: str) -> polars.Series:
    """Returns a column of numbers as plain decimals: floats of a sheet, texts with a comma."""
    if column.dtype.is_float():
        numbers = column.fill_nan(None).to_list()
        texts = [None if x is None else format(Decimal(repr(x)).normalize(), "f") for x in numbers]
        return polars.Series(column.name, texts, polars.String)
    if decimal == "," and column.dtype == polars.String and _has_only_commas(column):
        return column.str.replace_all(THOUSANDS, "").str.replace(",", ".", literal=True)
    return column


def _has_only_commas(column: polars.Series) -> bool:
    """Whether all texts are numbers with a decimal comma, or without decimals."""
    return column.str.contains(GROUPED_NUMBER).all()


def _type_of(source: duckdb.DuckDBPyRelation, column: str) -> str | None:
    """Returns the type that all texts of a column have exactly, if any."""
    counts = ", ".join(
        f"count(CASE WHEN regexp_full_match({column}, {plain.literal(pattern)})"
        f" THEN TRY_CAST({column} AS {type}) END)"
        for type, pattern in _TYPES.items()
    )
    ((known, *of_types),) = source.aggregate(f"count({column}), {counts}").fetchall()
    if not known:
        return None
    return next((type for type, n in zip(_TYPES, of_types, strict=True) if n == known), None)
