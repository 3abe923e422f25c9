"""Row 7: the report of claims by status, chain, jurisdiction and day, from the store to a frame.

The result is a polars or pandas frame with, for each key and asset, the number of claims, the exact
sums of their confirmed, waiting and failed amounts, the success rate, and the 50th, 90th and 99th
percentile of the time to confirm. The peers compute percentiles of the confirmed claims by nearest
rank; comptroller includes waiting claims (Kaplan-Meier).
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import stores
from contest import timed

CONTENDERS = (
    "comptroller",
    "comptroller_again",
    "pandas_read_sql",
    "duckdb_own_file",
    "limit",
)
COMMANDS = ("report_html", "query_csv")
COLUMNS = (
    *("onchain_status", "blockchain", "payout_group_id", "asset_type", "amount"),
    *("created_at", "submitted_at", "confirmed_at"),
)
KEYS = ("status", "chain", "jurisdiction", "day")
AMOUNTS = {
    "confirmed_amount": ("CONFIRMED",),
    "waiting_amount": ("PENDING", "SUBMITTED"),
    "failed_amount": ("FAILED",),
}
SELECT = f"SELECT {', '.join(COLUMNS)} FROM claims"
REPORT = """
SELECT onchain_status AS status, blockchain AS chain, jurisdiction, created_at::DATE AS day,
       asset_type, count(*) AS claims,
       coalesce(sum(amount) FILTER (status = 'CONFIRMED'), 0) AS confirmed_amount,
       coalesce(sum(amount) FILTER (status IN ('PENDING', 'SUBMITTED')), 0) AS waiting_amount,
       coalesce(sum(amount) FILTER (status = 'FAILED'), 0) AS failed_amount,
       count(*) FILTER (status = 'CONFIRMED')
           / nullif(count(*) FILTER (status IN ('CONFIRMED', 'FAILED')), 0) AS success_rate,
       quantile_disc(epoch_us(confirmed_at) - epoch_us(submitted_at), [0.5, 0.9, 0.99])
           FILTER (status = 'CONFIRMED') AS times
FROM {claims} AS claims
LEFT JOIN (SELECT id, jurisdiction FROM {groups}) AS groups ON groups.id = payout_group_id
GROUP BY ALL ORDER BY ALL
"""


def _asked(folder: Path, times: int) -> dict[str, float]:
    # All modules are imported before the clock starts.
    import comptroller as package
    import comptroller.analysis.engines.duckdb
    import comptroller.analysis.reports

    def report() -> Any:
        service.reports.confirmation_times(KEYS).to_polars()
        return service.reports.claims_summary(KEYS).to_polars()

    with package.open(stores.need_store(folder), read_only=True) as service:
        for _ in range(times):
            answer = timed(report)
    return answer


def comptroller(folder: Path) -> dict[str, float]:
    return _asked(folder, 1)


def comptroller_again(folder: Path) -> dict[str, float]:
    """Repeats the report on an unchanged store."""
    return _asked(folder, 2)


def _command(*words: str | Path) -> dict[str, float]:
    command = [sys.executable, "-m", "comptroller", *words]
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {"seconds": time.perf_counter() - started}


def report_html(folder: Path) -> dict[str, float]:
    """Writes the page of all reports with the command line."""
    with tempfile.TemporaryDirectory() as place:
        page = Path(place, "page.html")
        return _command("report", "--html", page, "--db", stores.need_store(folder))


def query_csv(folder: Path) -> dict[str, float]:
    """Writes every claim as CSV with the command line."""
    sql = "SELECT * FROM claims"
    return _command("query", sql, "--format", "csv", "--db", stores.need_store(folder))


def pandas_read_sql(folder: Path) -> dict[str, float]:
    import pandas as pd
    import pyarrow as pa

    amount = pd.ArrowDtype(pa.decimal128(38, 18))
    groups = pd.read_json(folder / "payout-groups.ndjson", lines=True, dtype=False)

    def report() -> Any:
        with sqlite3.connect(stores.need_text_database(folder)) as connection:
            frame = pd.read_sql(SELECT, connection)
        for name in ("created_at", "submitted_at", "confirmed_at"):
            frame[name] = pd.to_datetime(frame[name], format="ISO8601", utc=True)
        text = pa.array(frame["amount"], type=pa.string())
        frame["amount"] = pd.array(text.cast(amount.pyarrow_dtype), dtype=amount)
        frame = frame.merge(
            groups[["id", "jurisdiction"]], how="left", left_on="payout_group_id", right_on="id"
        )
        frame["day"] = frame["created_at"].dt.floor("D")
        is_confirmed = frame["onchain_status"] == "CONFIRMED"
        frame["confirmed"] = is_confirmed
        frame["ended"] = is_confirmed | (frame["onchain_status"] == "FAILED")
        taken = (frame["confirmed_at"] - frame["submitted_at"]).where(is_confirmed)
        frame["took"] = taken.dt.total_seconds()
        for name, statuses in AMOUNTS.items():
            of_status = frame["onchain_status"].isin(statuses)
            frame[name] = frame["amount"].where(of_status, Decimal(0))
        keys = ["onchain_status", "blockchain", "jurisdiction", "day", "asset_type"]
        by = frame.groupby(keys, dropna=False, observed=True)
        told = by.agg(
            claims=("amount", "size"),
            **{name: (name, "sum") for name in AMOUNTS},
            confirmed=("confirmed", "sum"),
            ended=("ended", "sum"),
        )
        told["rate"] = told["confirmed"] / told["ended"]
        times = by["took"].quantile([0.5, 0.9, 0.99], interpolation="higher").unstack()
        return told.join(times).reset_index()

    return timed(report)


def _in_duckdb(connection: Any, claims: str, folder: Path) -> Any:
    connection.execute("SET TimeZone = 'UTC'")
    groups = f"read_json('{folder / 'payout-groups.ndjson'}', format = 'newline_delimited')"
    return connection.sql(REPORT.format(claims=claims, groups=groups)).pl()


def duckdb_own_file(folder: Path) -> dict[str, float]:
    import duckdb

    path = stores.need_duckdb(folder)

    def report() -> Any:
        with duckdb.connect(str(path), read_only=True) as connection:
            return _in_duckdb(connection, "claims", folder)

    return timed(report)


def limit(folder: Path) -> dict[str, float]:
    """Runs DuckDB over the same columns, which are typed Arrow data in memory."""
    import duckdb

    with duckdb.connect(str(stores.need_duckdb(folder)), read_only=True) as source:
        source.execute("SET TimeZone = 'UTC'")
        arrow = source.sql(SELECT).to_arrow_table()
    with duckdb.connect() as connection:
        connection.register("arrow", arrow)
        return timed(lambda: _in_duckdb(connection, "arrow", folder))
