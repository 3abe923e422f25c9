"""Row 9: the claims of a store compared with a table of as many, by hash of the transaction.

The other table is a Parquet file of the claims that have a hash, of which some are left out, some
have another amount, and some are unknown to the store.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import stores
from contest import run_once

CONTENDERS = ("comptroller", "comptroller_csv", "pandas_merge", "datacompy")
PYTHON_OF_DATACOMPY = Path(__file__).parents[1] / ".venv/datacompy/bin/python"
COMPARED = ("tx_hash", "amount", "asset_type", "onchain_status", "created_at")


def need_theirs(folder: Path) -> Path:
    """Writes the other table as Parquet and CSV, unless it exists."""
    path = folder / "theirs.parquet"
    if not path.exists():
        import comptroller as package
        import polars as pl

        with package.open(stores.need_store(folder), read_only=True) as service:
            claims = service.claims.stream(columns=list(COMPARED)).to_polars()
        place = pl.int_range(pl.len())
        claims = claims.filter(pl.col("tx_hash").is_not_null()).unique("tx_hash", keep="first")
        theirs = claims.sort("tx_hash").with_columns(
            pl.col("onchain_status").cast(pl.String),
            amount=pl.when(place % 1_000 == 1)
            .then(pl.col("amount") + pl.lit("0.01").cast(pl.Decimal(38, 18)))
            .otherwise(pl.col("amount")),
            tx_hash=pl.when(place % 1_000 == 2)
            .then(pl.col("tx_hash") + pl.lit("x"))
            .otherwise(pl.col("tx_hash")),
        )
        theirs.sample(fraction=1, shuffle=True, seed=1).write_parquet(path)
        with package.open(stores.need_store(folder), read_only=True) as service:
            service.query("FROM t", t=path).to_csv(folder / "theirs.csv")
    return path


def _timed(folder: Path, work: Any) -> dict[str, float]:
    need_theirs(folder)
    start = time.perf_counter()
    different, here, there = work()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "different": different, "here": here, "there": there}


def _of_package(folder: Path, name: str) -> dict[str, float]:
    import comptroller as package
    import comptroller.analysis.reconcile

    with package.open(stores.need_store(folder), read_only=True) as service:

        def work() -> tuple[int, int, int]:
            found = service.reconcile("claims", folder / name, on="tx_hash")
            return len(found.different), len(found.missing_here), len(found.missing_there)

        return _timed(folder, work)


def comptroller(folder: Path) -> dict[str, float]:
    return _of_package(folder, "theirs.parquet")


def comptroller_csv(folder: Path) -> dict[str, float]:
    return _of_package(folder, "theirs.csv")


def pandas_merge(folder: Path) -> dict[str, float]:
    import comptroller as package
    import pandas as pd

    with package.open(stores.need_store(folder), read_only=True) as service:

        def work() -> tuple[int, int, int]:
            ours = service.claims.stream(columns=list(COMPARED)).to_pandas()
            ours = ours[ours["tx_hash"].notna()]
            theirs = pd.read_parquet(folder / "theirs.parquet", dtype_backend="pyarrow")
            both = ours.merge(
                theirs, on="tx_hash", how="outer", suffixes=("_here", "_there"), indicator=True
            )
            paired = both[both["_merge"] == "both"]
            wrong = pd.Series(False, index=paired.index)
            for name in COMPARED[1:]:
                here = paired[f"{name}_here"].astype(paired[f"{name}_there"].dtype)
                wrong |= (here != paired[f"{name}_there"]).fillna(False).astype(bool)
            counts = both["_merge"].value_counts()
            return int(wrong.sum()), int(counts["right_only"]), int(counts["left_only"])

        return _timed(folder, work)


def datacompy(folder: Path) -> dict[str, float]:
    need_theirs(folder)
    return run_once("reconciling", "compare_with_datacompy", folder, PYTHON_OF_DATACOMPY)


def compare_with_datacompy(folder: Path) -> dict[str, float]:
    """Runs in the environment of datacompy, which needs an older polars."""
    import comptroller as package
    import polars as pl
    from datacompy import PolarsCompare

    with package.open(stores.need_store(folder), read_only=True) as service:

        def work() -> tuple[int, int, int]:
            ours = service.claims.stream(columns=list(COMPARED)).to_polars()
            ours = ours.filter(pl.col("tx_hash").is_not_null()).with_columns(
                pl.col("onchain_status").cast(pl.String)
            )
            theirs = pl.read_parquet(folder / "theirs.parquet")
            found = PolarsCompare(ours, theirs, join_columns="tx_hash")
            different = len(found.all_mismatch())
            return different, len(found.df2_unq_rows), len(found.df1_unq_rows)

        return _timed(folder, work)
