"""DuckDB, inside this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import duckdb
import polars

from comptroller.analysis.engines import TIMES, tables_in, too_large
from comptroller.analysis.engines.relations import columns
from comptroller.streams import ArrowStream, interruptible


class DuckDB:
    """Runs reports in a DuckDB of its own, in memory."""

    @contextmanager
    def open(self, streams: Mapping[str, ArrowStream]) -> Iterator[Mapping[str, Any]]:
        """The tables as relations of one connection."""
        with _connected() as connection:
            for name, stream in streams.items():
                connection.register("stream", stream)
                _told(name, connection.table("stream")).create(name)
                connection.unregister("stream")
            yield {name: connection.table(name) for name in streams}

    @contextmanager
    def read(self, folder: str | PathLike[str]) -> Iterator[Mapping[str, Any]]:
        """The tables as relations over the files, which are read as they are wanted."""
        with _connected() as connection:
            yield {
                name: _told(name, connection.read_parquet(_files(path), hive_partitioning=False))
                for name, path in tables_in(folder).items()
            }

    def collect(self, frame: Any) -> polars.DataFrame:
        """The rows, through Arrow."""
        try:
            return polars.DataFrame(_Rows(frame))
        except duckdb.OutOfRangeException as error:
            raise too_large() from error


class _Rows:
    """A relation for polars, which keeps hold of the type of what it is given."""

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._relation.__arrow_c_stream__(requested_schema)


@contextmanager
def _connected() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection, interruptible(duckdb):
        # Of cursors too, which a SET without GLOBAL leaves alone.
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        yield connection


def _files(path: Path) -> str:
    return f"{path}/**/*.parquet" if path.is_dir() else str(path)


def _told(name: str, table: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    times = [f'epoch_us("{time}") AS {time}_us' for time in TIMES[name] if time in table.columns]
    return table.project(", ".join([columns(table), *times]))
