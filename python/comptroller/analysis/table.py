"""Rows with exact values: the result of a query, and its files."""

from __future__ import annotations

import os

import duckdb
import polars

from comptroller import arguments
from comptroller.analysis import plain
from comptroller.analysis.formatting import columns_of
from comptroller.analysis.rows import FrameRows
from comptroller.bulk.excel import write_excel
from comptroller.bulk.files import whole_file
from comptroller.bulk.parquet import write_parquet
from comptroller.bulk.streams import Rows
from comptroller.display.html import SHOWN_ROWS, html


class Table(FrameRows):
    """Rows with exact values; shown as a table in notebooks.

    Amounts are decimals, times are UTC microseconds. A Table is an Arrow stream: polars, DuckDB,
    pyarrow and pandas accept the object itself.
    """

    def __init__(self, frame: polars.DataFrame) -> None:
        self._frame = frame

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._frame.columns

    def to_csv(self, path: str | os.PathLike[str]) -> int:
        """Writes all rows as CSV, exactly; returns how many.

        An apostrophe precedes text that a spreadsheet could run as a formula.
        """
        from comptroller.analysis.query import Query

        with duckdb.connect() as connection, whole_file(arguments.path("path", path)) as part:
            connection.execute("SET GLOBAL TimeZone = 'UTC'")
            connection.execute("SET GLOBAL arrow_large_buffer_size = true")
            connection.register("answer", rows_of(self._frame))
            with part.open("wb") as file:
                for _, text in Query(connection, "FROM answer", "SELECT").text(is_json=False):
                    file.write(text)
        return len(self)

    def to_excel(self, path: str | os.PathLike[str]) -> int:
        """Writes all rows to a sheet whose cells are text, so that amounts stay exact."""
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as folder:
            self.to_csv(f"{folder}/rows.csv")
            write_excel(f"{folder}/rows.csv", arguments.path("path", path))
        return len(self)

    def to_parquet(self, path: str | os.PathLike[str]) -> int:
        """Writes all rows as Parquet, with their types; returns how many."""
        return write_parquet(self, arguments.path("path", path))

    def __repr__(self) -> str:
        count = f"{len(self):,} {'row' if len(self) == 1 else 'rows'}"
        return f"<Table: {count} of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        left = len(self) - SHOWN_ROWS
        return html(
            "notebook.html",
            lines=[],
            columns=columns_of(self._frame.head(SHOWN_ROWS)),
            notes=[f"{left:,} more rows"] if left > 0 else [],
        )


class _Rows:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


def rows_of(rows: Rows) -> Rows:
    """Hides the class of rows, so that DuckDB and polars read them as a stream, without pyarrow."""
    return _Rows(rows)


#: An amount, and a time with an offset, as text.
AMOUNT = r"-?[0-9]{1,20}([.][0-9]{1,18})?"
TIME = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})"
)
#: Types of the text columns of files, and the texts that they all must be. A number with a leading
#: zero is text, such as an account number.
_TYPES = {
    "BIGINT": r"0|-?[1-9][0-9]{0,17}",
    "DECIMAL(38, 18)": r"-?(0|[1-9][0-9]{0,19})([.][0-9]{1,18})?",
    "BOOLEAN": r"true|false",
    "DATE": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "TIMESTAMPTZ": TIME,
}


def copy_table(
    connection: duckdb.DuckDBPyConnection, name: str, frame: polars.DataFrame, *, is_text: bool
) -> None:
    """Copies a frame to a table; with `is_text`, text columns of one type get that type."""
    place = quoted(name)
    connection.register("rows of the caller", rows_of(frame))
    try:
        source = connection.table('"rows of the caller"')
        casts = {}
        for column, type in zip(source.columns, source.types, strict=True):
            if is_text and type.id == "varchar":
                casts[column] = _type_of(source, quoted(str(column)))
            elif type.id.startswith("timestamp") and type.id != "timestamp with time zone":
                casts[column] = "TIMESTAMP"
        cast = [f"{quoted(each)}::{type} AS {quoted(each)}" for each, type in casts.items() if type]
        columns = f"* REPLACE ({', '.join(cast)})" if cast else "*"
        connection.execute(f'CREATE TABLE {place} AS SELECT {columns} FROM "rows of the caller"')
    finally:
        connection.unregister("rows of the caller")


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


def quoted(name: str) -> str:
    """Returns a name as an identifier of SQL."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
