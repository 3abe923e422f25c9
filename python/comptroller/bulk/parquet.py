"""Writing a stream as Parquet, through DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from comptroller import arguments
from comptroller.bulk.files import whole_file, whole_folder
from comptroller.bulk.streams import Rows, interruptible
from comptroller.errors import require, unavailable

_FORM = "FORMAT parquet, COMPRESSION zstd"
# `whole_file` has already made a temporary file, so DuckDB does not need one of its own.
_COPY = f"COPY (SELECT * FROM rows) TO $1 ({_FORM}, USE_TMP_FILE false)"
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


class Lines(NamedTuple):
    """An NDJSON file of records, and the SQL types of the members to read, by name."""

    path: str
    types: Mapping[str, str]


def write_parquet(source: Rows | Lines, path: str) -> int:
    """Writes all rows to a file; returns how many. The file appears when it is complete.

    Raises Unavailable if the file cannot be written, MissingExtra if DuckDB is not installed.
    """
    with whole_file(path) as part:
        return _copy(source, path, part)


def write_dataset(source: Rows | Lines, path: str, keys: Sequence[str]) -> int:
    """Writes all rows to a Hive-partitioned folder; returns how many.

    The folder appears when it is complete.

    Args:
        source: the rows; the files have all of their columns.
        path: the folder, such as ``claims``.
        keys: the partition keys, such as month and chain, for files such as
            ``claims/month=2026-05-01/chain=INK/data_0.parquet``.

    Raises:
        InvalidRequest: the rows have no column for a key.
        Unavailable: the folder cannot be written.
        MissingExtra: DuckDB is not installed.
    """
    with whole_folder(path) as part:
        rows = _copy(source, path, part, keys)
        if not rows:  # DuckDB wrote no file, but readers need one for the columns
            _copy(source, path, part / "data_0.parquet")
        return rows


def quote_name(name: str) -> str:
    """Returns a name as an SQL identifier."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _copy(source: Rows | Lines, path: str, part: Path, keys: Sequence[str] = ()) -> int:
    duckdb = require("duckdb", "a parquet export", "analysis")
    try:
        with duckdb.connect() as connection:
            # The stream has its own threads. With several threads, DuckDB would hold half of the
            # rows in memory to keep their order, and would not be faster.
            connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
            if not isinstance(source, Lines):
                connection.register("stream", source)
            with interruptible(duckdb):
                selected = (
                    _selected_lines(source)
                    if isinstance(source, Lines)
                    else f"SELECT {_exact(connection)} FROM stream"
                )
                connection.execute(f"CREATE TEMP VIEW rows AS {selected}")
                copy = _statement(connection.table("rows").columns, keys) if keys else _COPY
                (rows,) = connection.execute(copy, [str(part)]).fetchone()
    except duckdb.Error as error:
        raise unavailable(f"{path} cannot be written: {error}") from error
    return int(rows)


def _selected_lines(lines: Lines) -> str:
    path = lines.path.replace("'", "''")
    types = ", ".join(f"{quote_name(name)}: '{type}'" for name, type in lines.types.items())
    return f"FROM read_json('{path}', format = 'newline_delimited', columns = {{{types}}})"


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
