"""The engine DuckDB, in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import duckdb
import polars

from comptroller.analysis import plain
from comptroller.analysis.assemble import Statement
from comptroller.bulk.streams import Rows, interruptible
from comptroller.errors import invalid


class DuckDB:
    """Runs reports in a private in-memory DuckDB."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        self._has_files = False  # of the caller, which may be invalid
        # GLOBAL, so that the setting also applies to cursors.
        self._connection.execute("SET GLOBAL TimeZone = 'UTC'")

    def read(self, table: str, stream: Rows) -> None:
        """Copies a table, replacing an existing one."""
        with interruptible(duckdb):
            self._connection.execute(f"DROP TABLE IF EXISTS {table}")
            self._connection.register("stream", stream)
            try:
                _plain(self._connection.table("stream")).create(table)
            finally:
                self._connection.unregister("stream")

    def scan(self, table: str, path: str) -> None:
        """Defines a table as a Parquet file, or as all Parquet files of a folder."""
        place = f"{path}/**/*.parquet" if Path(path).is_dir() else path
        self._has_files = True
        with _refusing():
            rows = self._connection.read_parquet(place, hive_partitioning=False)
            _plain(rows).create_view(table)

    def run(self, statement: Statement, values: Mapping[str, Any]) -> polars.DataFrame:
        """Runs a statement; returns its rows."""
        bound = {name: values[name] for name in statement.parameters}
        try:
            with interruptible(duckdb), _refusing() if self._has_files else nullcontext():
                rows = self._connection.sql(statement.duckdb, params=bound)
                return polars.DataFrame(_Rows(rows))
        except duckdb.OutOfRangeException as error:
            raise OverflowError(str(error)) from error

    def sql(self, statement: Statement, values: Mapping[str, Any]) -> str:
        """Returns the SQL of a statement with its values, which `comptroller query` can run."""
        return statement.with_values(values).sql("duckdb", pretty=True)

    def close(self) -> None:
        """Drops the tables."""
        self._connection.close()


@contextmanager
def _refusing() -> Iterator[None]:
    """Raises InvalidRequest for files that are missing, are not Parquet, or lack a column."""
    try:
        yield
    except (duckdb.IOException, duckdb.InvalidInputException, duckdb.BinderException) as error:
        raise invalid("tables", str(error).partition(": ")[2]) from error


class _Rows:
    """Hides the type of a relation, of which polars would keep a reference."""

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._relation.__arrow_c_stream__(requested_schema)


def _plain(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    return relation.project(plain.columns(relation, has_zones=False))
