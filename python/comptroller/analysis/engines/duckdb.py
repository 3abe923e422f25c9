"""DuckDB, inside this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb
import polars

from comptroller.analysis.engines import TIMES, too_large
from comptroller.streams import ArrowStream, Stream, interruptible


class DuckDB:
    """Runs reports in a DuckDB of its own, in memory."""

    @contextmanager
    def open(self, streams: Mapping[str, ArrowStream]) -> Iterator[Mapping[str, Any]]:
        """The tables as relations of one connection."""
        with duckdb.connect() as connection, interruptible(duckdb):
            # Of cursors too, which a SET without GLOBAL leaves alone.
            connection.execute("SET GLOBAL TimeZone = 'UTC'")
            for name, stream in streams.items():
                connection.register("stream", stream)
                connection.execute(f"CREATE TABLE {name} AS {_select(connection, name)}")
                connection.unregister("stream")
            yield {name: connection.table(name) for name in streams}

    def collect(self, frame: Any) -> polars.DataFrame:
        """The rows, through Arrow."""
        try:
            # polars remembers the type it is given, and DuckDB's would not be gone when it looks.
            return polars.DataFrame(Stream("rows", frame))
        except duckdb.OutOfRangeException as error:
            raise too_large() from error


def _select(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    described = connection.execute("DESCRIBE stream").fetchall()
    types = {column: type for column, type, *_ in described}
    words = [
        f"CAST({column} AS VARCHAR) AS {column}"
        for column, type in types.items()
        if type.startswith("ENUM")
    ]
    replaced = f" REPLACE ({', '.join(words)})" if words else ""
    times = [f'epoch_us("{time}") AS {time}_us' for time in TIMES[name] if time in types]
    return f"SELECT {', '.join(['*' + replaced, *times])} FROM stream"
