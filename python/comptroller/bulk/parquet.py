"""Writing a stream as Parquet, through DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from comptroller import arguments
from comptroller.bulk.files import whole_file, whole_folder
from comptroller.bulk.streams import Rows, interruptible
from comptroller.errors import require, unavailable

_FORM = "FORMAT parquet, COMPRESSION zstd"
# `whole_file` has already made a temporary file, so DuckDB does not need one of its own.
_COPY = f"COPY (SELECT * FROM rows) TO $1 ({_FORM}, USE_TMP_FILE false)"
_LINES = (
    "CREATE TEMP VIEW rows AS SELECT * FROM stream SEMI JOIN read_json('{}', format ="
    " 'newline_delimited', columns = {{id: 'VARCHAR', customer_id: 'VARCHAR'}})"
    " USING (customer_id, id)"
)
#: The columns of the partition keys that are not periods.
_COLUMNS = {
    "status": "onchain_status",
    "chain": "blockchain",
    "asset": "asset_type",
    "group": "payout_group_id",
    "customer": "customer_id",
    "schedule": "claim_schedule_id",
    "claim_type": "claim_type",
}


def write_parquet(stream: Rows, path: str, lines: str | None = None) -> int:
    """Writes all rows to a file; returns how many. The file appears when it is complete.

    With `lines`, an NDJSON file of records, only the rows of these.

    Raises Unavailable if the file cannot be written, MissingExtra if DuckDB is not installed.
    """
    with whole_file(path) as part:
        return _copy(stream, path, part, lines=lines)


def write_dataset(stream: Rows, path: str, keys: Sequence[str], lines: str | None = None) -> int:
    """Writes all rows to a Hive-partitioned folder; returns how many.

    The folder appears when it is complete.

    Args:
        stream: the rows; the files have all of their columns.
        path: the folder, such as ``claims``.
        keys: the partition keys, such as month and chain, for files such as
            ``claims/month=2026-05-01/chain=INK/data_0.parquet``.
        lines: as for `write_parquet`.

    Raises:
        InvalidRequest: the rows have no column for a key.
        Unavailable: the folder cannot be written.
        MissingExtra: DuckDB is not installed.
    """
    with whole_folder(path) as part:
        rows = _copy(stream, path, part, keys, lines)
        if not rows:  # DuckDB wrote no file, but readers need one for the columns
            _copy(stream, path, part / "data_0.parquet", lines=lines)
        return rows


def quote_name(name: str) -> str:
    """Returns a name as an identifier of SQL."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _copy(
    stream: Rows, path: str, part: Path, keys: Sequence[str] = (), lines: str | None = None
) -> int:
    duckdb = require("duckdb", "a parquet export", "analysis")
    try:
        with duckdb.connect() as connection:
            # The stream has its own threads. With several threads, DuckDB would hold half of the
            # rows in memory to keep their order, and would not be faster.
            connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
            connection.register("stream", stream)
            named = lines.replace("'", "''") if lines else ""
            with interruptible(duckdb):
                whole = f"CREATE TEMP VIEW rows AS SELECT {_exact(connection)} FROM stream"
                connection.execute(_LINES.format(named) if lines else whole)
                copy = _statement(connection.table("stream").columns, keys) if keys else _COPY
                (rows,) = connection.execute(copy, [str(part)]).fetchone()
    except duckdb.Error as error:
        raise unavailable(f"{path} cannot be written: {error}") from error
    return int(rows)


def _exact(connection: Any) -> str:
    """Returns the columns of the stream; intervals, of which Parquet has milliseconds, as text."""
    stream = connection.table("stream")
    columns = zip(stream.columns, stream.types, strict=True)
    names = [quote_name(name) for name, type in columns if type == "INTERVAL"]
    texts = ", ".join(f"{name}::VARCHAR AS {name}" for name in names)
    return f"* REPLACE ({texts})" if texts else "*"


def _statement(columns: Sequence[str], keys: Sequence[str]) -> str:
    """Returns the COPY statement for the partition keys, each computed as text."""
    time = '"at"' if "at" in columns else "created_at"
    folders_of = {key: column for key, column in _COLUMNS.items() if column in columns}
    for period in ("day", "week", "month"):
        folders_of[period] = f"strftime(date_trunc('{period}', {time}), '%Y-%m-%d')"
    names = {key: folders_of[key] for key in arguments.choices("partition", keys, list(folders_of))}
    selected = ", ".join(f'{value} AS "{key}"' for key, value in names.items())
    folders = ", ".join(f'"{key}"' for key in names)
    return f"COPY (SELECT *, {selected} FROM rows) TO $1 ({_FORM}, PARTITION_BY ({folders}))"
