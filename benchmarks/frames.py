"""Row 2: all claims with all columns, typed, as a polars frame (for pandas as a pandas frame)."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import stores
from contest import timed

CONTENDERS = (
    "comptroller",
    "comptroller_one_core",
    "pandas_read_sql",
    "polars_read_database",
    "adbc",
    "connectorx_read_sql",
    "duckdb_own_file",
    "limit",
)
WEIGHED = ("memory_of_arrow", "memory_of_polars")
SELECT = f"SELECT {', '.join(stores.COLUMNS)} FROM claims"


def comptroller(folder: Path) -> dict[str, float]:
    import comptroller as package

    with package.open(stores.need_store(folder), read_only=True) as service:
        return timed(lambda: service.claims.stream(columns=list(stores.COLUMNS)).to_polars())


def comptroller_one_core(folder: Path) -> dict[str, float]:
    os.sched_setaffinity(0, {0})
    return comptroller(folder)


def memory_of_polars(folder: Path) -> dict[str, float]:
    import polars  # noqa: F401  (imported before anything is measured)

    return _weighed(folder, lambda claims: claims.to_polars())


def memory_of_arrow(folder: Path) -> dict[str, float]:
    import pyarrow  # noqa: F401

    return _weighed(folder, lambda claims: claims.to_arrow())


def _weighed(folder: Path, read: Callable[[Any], Any]) -> dict[str, float]:
    """Returns the memory growth of a process while it reads all columns, and their size."""
    import comptroller as package
    from pyarrow import RecordBatchReader

    with package.open(stores.need_store(folder), read_only=True) as service:
        claims = service.claims.stream(columns=list(stores.COLUMNS))
        peaks = [before := _own_memory()]
        done = Event()

        def watch() -> None:
            while not done.wait(0.003):
                peaks.append(_own_memory())

        watching = Thread(target=watch)
        watching.start()
        frame = read(claims)
        done.set()
        watching.join()
        grown = max(*peaks, _own_memory()) - before
        del frame
        size = sum(batch.nbytes for batch in RecordBatchReader.from_stream(claims))
    return {"grown": grown, "arrow": size}


def _own_memory() -> int:
    """Returns the bytes of this process that are not mapped files."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def _typed(frame: Any) -> Any:
    """Converts a polars frame of text to the types of a stream of claims."""
    import polars as pl

    closed = pl.Categorical()
    times = [
        pl.col(name)
        .str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us")
        .dt.replace_time_zone("UTC")
        for name in stores.TIMES
    ]
    return frame.with_columns(
        *times,
        pl.col("amount").cast(pl.Decimal(38, 18)),
        pl.col("addresses").str.json_decode(pl.List(pl.String)),
        pl.col("onchain_status").cast(closed),
    )


def pandas_read_sql(folder: Path) -> dict[str, float]:
    import json

    import pandas as pd
    import pyarrow as pa

    amount = pd.ArrowDtype(pa.decimal128(38, 18))

    def read() -> Any:
        with sqlite3.connect(stores.need_text_database(folder)) as connection:
            frame = pd.read_sql(SELECT, connection)
        for name in stores.TIMES:
            frame[name] = pd.to_datetime(frame[name], format="ISO8601", utc=True)
        text = pa.array(frame["amount"], type=pa.string())
        frame["amount"] = pd.array(text.cast(amount.pyarrow_dtype), dtype=amount)
        frame["addresses"] = frame["addresses"].map(json.loads)
        frame["onchain_status"] = frame["onchain_status"].astype("category")
        return frame

    return timed(read)


def polars_read_database(folder: Path) -> dict[str, float]:
    import polars as pl

    def read() -> Any:
        with sqlite3.connect(stores.need_text_database(folder)) as connection:
            schema = dict.fromkeys(stores.COLUMNS, pl.String)
            return _typed(pl.read_database(SELECT, connection, schema_overrides=schema))

    return timed(read)


def adbc(folder: Path) -> dict[str, float]:
    import adbc_driver_sqlite.dbapi as driver
    import polars as pl

    # Infer types from many rows, because a few may all be NULL.
    def read() -> Any:
        with (
            driver.connect(str(stores.need_text_database(folder))) as connection,
            connection.cursor() as cursor,
        ):
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": "65536"})
            cursor.execute(SELECT)
            return _typed(pl.from_arrow(cursor.fetch_arrow_table()))

    return timed(read)


def connectorx_read_sql(folder: Path) -> dict[str, float]:
    import connectorx

    path = stores.need_text_database(folder)
    return timed(
        lambda: _typed(connectorx.read_sql(f"sqlite://{path}", SELECT, return_type="polars"))
    )


def duckdb_own_file(folder: Path) -> dict[str, float]:
    import duckdb
    import polars as pl

    path = stores.need_duckdb(folder)

    def read() -> Any:
        with duckdb.connect(str(path), read_only=True) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            frame = connection.sql(SELECT).pl()
            return frame.with_columns(pl.col("onchain_status").cast(pl.Categorical()))

    return timed(read)


def limit(folder: Path) -> dict[str, float]:
    words = stores.last_line(stores.limit(folder, "scan"), stores.need_store(folder))
    return {"seconds": float(words[0]), "rows": float(words[1])}
