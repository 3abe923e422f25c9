"""Writing a stream as a parquet file, through DuckDB."""

from __future__ import annotations

from comptroller.errors import unavailable
from comptroller.files import whole_file
from comptroller.streams import Rows, interruptible, require


def write_parquet(stream: Rows, path: str) -> int:
    """Writes all rows; returns how many. The file appears when it is whole.

    Raises Unavailable where DuckDB is not installed or the file cannot be written.
    """
    duckdb = require("duckdb", "a parquet export", "comptroller[analysis]")
    try:
        with whole_file(path) as part, duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("stream", stream)
            copy = "COPY (SELECT * FROM stream) TO $1 (FORMAT parquet, COMPRESSION zstd)"
            with interruptible(duckdb):
                (rows,) = connection.execute(copy, [str(part)]).fetchone()
    except duckdb.Error as error:
        raise unavailable(f"{path} cannot be written: {error}") from error
    return int(rows)
