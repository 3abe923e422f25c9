"""Writing a stream as a parquet file, through DuckDB."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from comptroller.errors import unavailable
from comptroller.streams import Stream, require


def write_parquet(stream: Stream, path: str) -> int:
    """Writes all rows beside `path` and then renames; returns how many.

    Raises Unavailable where DuckDB is not installed or the file cannot be written.
    """
    duckdb = require("duckdb", "a parquet export", "comptroller[analysis]")
    if Path(path).exists() and not Path(path).is_file():
        raise unavailable(f"{path} cannot be written: it is no file")
    whole = Path(path).resolve()
    partial = whole.with_name(f".{whole.name}.{os.getpid()}.partial")
    try:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("stream", stream)
            copy = "COPY (SELECT * FROM stream) TO $1 (FORMAT parquet, COMPRESSION zstd)"
            (rows,) = connection.execute(copy, [str(partial)]).fetchone()
        partial.replace(whole)
    except (OSError, duckdb.IOException) as error:
        raise unavailable(f"{path} cannot be written: {error}") from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return int(rows)
