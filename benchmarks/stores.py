"""The data of all rows: one sample of claims, stored in the form of each contender."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterable
from pathlib import Path

import comptroller
from comptroller import _core

HERE = Path(__file__).parent
MIGRATION = HERE.parent / "cpp/db/sqlite/migrations/0001_initial.sql"
SEED = 1

COLUMNS = (
    "id",
    "payout_group_id",
    "claim_type",
    "claim_schedule_id",
    "onchain_status",
    "amount",
    "tx_hash",
    "addresses",
    "error_message",
    "blockchain",
    "asset_type",
    "submitted_at",
    "confirmed_at",
    "created_at",
    "updated_at",
)
TIMES = ("submitted_at", "confirmed_at", "created_at", "updated_at")
TEXT_TABLE = f"CREATE TABLE claims ({', '.join(f'{column} TEXT' for column in COLUMNS)})"
INSERT_TEXT = f"INSERT INTO claims VALUES ({', '.join('?' * len(COLUMNS))})"
# The columns of the table of claims that one customer needs.
INDEXES = (
    "CREATE UNIQUE INDEX claims_id ON claims (id)",
    "CREATE INDEX claims_by_time ON claims (created_at)",
    "CREATE INDEX claims_by_group ON claims (payout_group_id, created_at)",
    "CREATE INDEX claims_by_status ON claims (onchain_status, created_at)",
    "CREATE INDEX claims_by_chain ON claims (blockchain, created_at)",
)


def remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-lock", "-opening-lock", "-journal", ".wal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def make_sample(folder: Path, rows: int) -> None:
    """Writes the claims and their payout groups as NDJSON, unless the files exist."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "claims.ndjson").exists():
        groups = _core.sample_rows("payout-groups", rows)
        comptroller.sample("payout-groups", groups, SEED, out=folder / "payout-groups.ndjson")
        comptroller.sample("claims", rows, SEED, out=folder / "claims.ndjson")


def new_store(path: Path) -> comptroller.Service:
    """Creates a store that has the payout groups."""
    remove(path)
    service = comptroller.open(path)
    service.load("payout-groups", path.parent / "payout-groups.ndjson")
    return service


def need_store(folder: Path) -> Path:
    path = folder / "comptroller.db"
    if not path.exists():
        with new_store(path) as service:
            service.load("claims", folder / "claims.ndjson")
    return path


def new_text_database(path: Path) -> sqlite3.Connection:
    """Creates an empty table of text, with the settings of a store."""
    remove(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
        f"PRAGMA cache_size = -65536; PRAGMA threads = 2; {TEXT_TABLE}"
    )
    return connection


def fill_text_database(connection: sqlite3.Connection, rows: Iterable[tuple[object, ...]]) -> None:
    """Writes the rows and their indexes in one durable transaction."""
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(INSERT_TEXT, rows)
    connection.execute("PRAGMA cache_size = -8192")
    for index in INDEXES:
        connection.execute(index)
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def text_rows(lines: Iterable[bytes]) -> Iterable[tuple[object, ...]]:
    for line in lines:
        record = json.loads(line)
        record["addresses"] = json.dumps(record.get("addresses"))
        yield tuple(map(record.get, COLUMNS))


def need_text_database(folder: Path) -> Path:
    path = folder / "text.db"
    if not path.exists():
        connection = new_text_database(path)
        with (folder / "claims.ndjson").open("rb") as lines:
            fill_text_database(connection, text_rows(lines))
        connection.close()
    return path


def need_table(folder: Path, suffix: str) -> Path:
    """Returns the claims as CSV or Parquet, as the store exports them."""
    path = folder / f"claims.{suffix}"
    if not path.exists():
        with comptroller.open(need_store(folder)) as service:
            service.export("claims", path)
    return path


def duckdb_types() -> dict[str, str]:
    kinds = dict.fromkeys(COLUMNS, "VARCHAR") | dict.fromkeys(TIMES, "TIMESTAMPTZ")
    return kinds | {"amount": "DECIMAL(38, 18)", "addresses": "VARCHAR[]"}


def json_in_duckdb(claims: Path) -> str:
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in duckdb_types().items())
    return f"read_json('{claims}', format = 'newline_delimited', columns = {{{columns}}})"


def fill_duckdb(path: Path, source: str) -> None:
    """Fills a table from a table function of DuckDB, and makes the indexes."""
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TABLE claims AS SELECT * FROM {source}")
        for index in INDEXES:
            connection.execute(index)
        connection.execute("CHECKPOINT")


def need_duckdb(folder: Path) -> Path:
    path = folder / "duck.duckdb"
    if not path.exists():
        fill_duckdb(path, json_in_duckdb(folder / "claims.ndjson"))
    return path


def limit(folder: Path, name: str) -> Path:
    """Compiles the program limits/NAME.c beside the data; returns its path."""
    source, program = HERE / "limits" / f"{name}.c", folder / name
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        library = "-l:libpq.so.5" if name == "postgresql" else "-lsqlite3"
        subprocess.run(
            ["cc", "-std=gnu11", "-O2", "-Wall", "-pthread", "-o", program, source, library],
            check=True,
        )
    return program


def need_rows(folder: Path) -> Path:
    """Yields the rows of the store, as column values, for the limit of loading."""
    path = folder / "rows.bin"
    if not path.exists():
        subprocess.run([limit(folder, "dump"), need_store(folder), path], check=True)
    return path


def last_line(program: Path, *arguments: object) -> list[str]:
    """Runs a limit; returns the words of its output."""
    done = subprocess.run(
        [program, *map(str, arguments)], check=True, capture_output=True, text=True
    )
    return done.stdout.split()
