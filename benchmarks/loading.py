"""Row 1: claims as NDJSON into an indexed, durable store."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import stores

CONTENDERS = ("comptroller", "stdlib", "msgspec_structs", "sqlite_utils", "duckdb_json", "limit")


TABLES = ("comptroller_csv", "duckdb_csv", "comptroller_parquet", "duckdb_parquet")


def comptroller(folder: Path) -> dict[str, float]:
    return _comptroller(folder, folder / "claims.ndjson")


def _comptroller(folder: Path, claims: Path) -> dict[str, float]:
    import polars  # noqa: F401  (imported before the clock starts)

    path = folder / "comptroller.db"
    with stores.new_store(path) as service:
        started = time.perf_counter()
        result = service.load("claims", claims)
        seconds = time.perf_counter() - started
        assert result.committed
    return {"seconds": seconds, "bytes": path.stat().st_size}


def _fill(path: Path, claims: Path, rows: Any) -> dict[str, float]:
    connection = stores.new_text_database(path)
    started = time.perf_counter()
    with claims.open("rb") as lines:
        stores.fill_text_database(connection, rows(lines))
    seconds = time.perf_counter() - started
    connection.close()
    return {"seconds": seconds, "bytes": path.stat().st_size}


def stdlib(folder: Path) -> dict[str, float]:
    return _fill(folder / "text.db", folder / "claims.ndjson", stores.text_rows)


def msgspec_structs(folder: Path) -> dict[str, float]:
    """Loads with the fastest known Python: no dicts, and no parsing of members that stay text."""
    import msgspec

    members = [
        (name, msgspec.Raw if name == "addresses" else str | None, None) for name in stores.COLUMNS
    ]
    claim = msgspec.defstruct("Claim", members, gc=False)
    decode = msgspec.json.Decoder(claim).decode
    astuple = msgspec.structs.astuple
    at = stores.COLUMNS.index("addresses")

    def rows(lines: Iterable[bytes]) -> Iterator[tuple[object, ...]]:
        for line in lines:
            row = astuple(decode(line))
            yield (*row[:at], str(row[at], "utf-8"), *row[at + 1 :])

    path = folder / "msgspec.db"
    measured = _fill(path, folder / "claims.ndjson", rows)
    stores.remove(path)
    return measured


def sqlite_utils(folder: Path) -> dict[str, float]:
    path = folder / "sqlite-utils.db"
    stores.remove(path)
    tool = [sys.executable, "-m", "sqlite_utils"]
    claims = str(folder / "claims.ndjson")
    subprocess.run([*tool, "create-database", path, "--enable-wal"], check=True)
    started = time.perf_counter()
    subprocess.run(
        [*tool, "insert", path, "claims", claims, "--nl", "--batch-size", "10000", "--silent"],
        check=True,
    )
    for index in stores.INDEXES:
        subprocess.run([*tool, "query", path, index], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - started
    measured = {"seconds": seconds, "bytes": float(path.stat().st_size)}
    stores.remove(path)
    return measured


def duckdb_json(folder: Path) -> dict[str, float]:
    return _duckdb(folder, stores.json_in_duckdb(folder / "claims.ndjson"))


def _duckdb(folder: Path, source: str) -> dict[str, float]:
    import duckdb  # noqa: F401  (imported before the clock starts)

    path = folder / "duck.duckdb"
    stores.remove(path)
    started = time.perf_counter()
    stores.fill_duckdb(path, source)
    return {"seconds": time.perf_counter() - started, "bytes": path.stat().st_size}


def comptroller_csv(folder: Path) -> dict[str, float]:
    return _comptroller(folder, stores.need_table(folder, "csv"))


def comptroller_parquet(folder: Path) -> dict[str, float]:
    return _comptroller(folder, stores.need_table(folder, "parquet"))


def duckdb_csv(folder: Path) -> dict[str, float]:
    types = stores.duckdb_types() | {"addresses": "VARCHAR", "customer_id": "VARCHAR"}
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in types.items())
    path = stores.need_table(folder, "csv")
    return _duckdb(folder, f"read_csv('{path}', header = true, columns = {{{columns}}})")


def duckdb_parquet(folder: Path) -> dict[str, float]:
    return _duckdb(folder, f"read_parquet('{stores.need_table(folder, 'parquet')}')")


def limit(folder: Path) -> dict[str, float]:
    path = folder / "limit.db"
    stores.remove(path)
    words = stores.last_line(
        stores.limit(folder, "load"), path, stores.MIGRATION, stores.need_rows(folder)
    )
    measured = {"seconds": float(words[0]), "insert seconds": float(words[1])}
    measured["bytes"] = path.stat().st_size
    stores.remove(path)
    return measured
