"""Writing a stream as Parquet, through DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from comptroller import arguments
from comptroller.bulk.files import whole_file, whole_folder
from comptroller.bulk.streams import Rows, interruptible
from comptroller.errors import require, unavailable

_FORM = "FORMAT parquet, COMPRESSION zstd"
# The file is there already, empty and ours: DuckDB would write another beside it.
_COPY = f"COPY (SELECT * FROM stream) TO $1 ({_FORM}, USE_TMP_FILE false)"
#: The columns of the keys of reports that are no periods.
_COLUMNS = {
    "status": "onchain_status",
    "chain": "blockchain",
    "asset": "asset_type",
    "group": "payout_group_id",
    "customer": "customer_id",
    "schedule": "claim_schedule_id",
    "claim_type": "claim_type",
}


def write_parquet(stream: Rows, path: str) -> int:
    """Writes all rows to a file; returns how many. The file appears when it is whole.

    Raises Unavailable if the file cannot be written, MissingExtra if DuckDB is not installed.
    """
    with whole_file(path) as part:
        return _copy(stream, path, part)


def write_dataset(stream: Rows, path: str, keys: Sequence[str]) -> int:
    """Writes all rows to a folder of files; returns how many. It appears when it is whole.

    Args:
        stream: the rows; the files have all of their columns.
        path: the folder, such as ``claims``.
        keys: what the rows are apart by, such as month and chain, in folders as Hive names them:
            ``claims/month=2026-05-01/chain=POLYGON/data_0.parquet``.

    Raises:
        InvalidRequest: a key that the rows have no column for.
        Unavailable: the folder cannot be written.
        MissingExtra: DuckDB is not installed.
    """
    with whole_folder(path) as part:
        rows = _copy(stream, path, part, keys)
        if not rows:  # DuckDB writes no file then, and readers need one for its columns.
            _copy(stream, path, part / "data_0.parquet")
        return rows


def _copy(stream: Rows, path: str, part: Path, keys: Sequence[str] = ()) -> int:
    duckdb = require("duckdb", "a parquet export", "analysis")
    try:
        with duckdb.connect() as connection:
            # The stream has threads of its own; more here keep half of the rows in memory, for
            # their order, and are no faster.
            connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
            connection.register("stream", stream)
            copy = _statement(connection.table("stream").columns, keys) if keys else _COPY
            with interruptible(duckdb):
                (rows,) = connection.execute(copy, [str(part)]).fetchone()
    except duckdb.Error as error:
        raise unavailable(f"{path} cannot be written: {error}") from error
    return int(rows)


def _statement(columns: Sequence[str], keys: Sequence[str]) -> str:
    """The statement that writes rows apart by keys of reports, each as SQL that gives text."""
    time = '"at"' if "at" in columns else "created_at"
    folders_of = {key: column for key, column in _COLUMNS.items() if column in columns}
    for period in ("day", "week", "month"):
        folders_of[period] = f"strftime(date_trunc('{period}', {time}), '%Y-%m-%d')"
    names = {key: folders_of[key] for key in arguments.choices("partition", keys, list(folders_of))}
    selected = ", ".join(f'{value} AS "{key}"' for key, value in names.items())
    folders = ", ".join(f'"{key}"' for key in names)
    return f"COPY (SELECT *, {selected} FROM stream) TO $1 ({_FORM}, PARTITION_BY ({folders}))"
