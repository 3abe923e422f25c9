"""What runs the reports: DuckDB, polars or Spark, each behind the same small face.

An engine opens tables as lazy frames of its own, with times in UTC, amounts as decimal(38, 18),
closed sets as text, and beside each time a column of its microseconds since 1970 (`created_at_us`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from comptroller.errors import Error, invalid
from comptroller.streams import ArrowStream, require

if TYPE_CHECKING:
    import polars

NAMES = ("duckdb", "polars", "spark")
DEFAULT = "duckdb"

#: The columns that hold times, by table.
TIMES: Mapping[str, tuple[str, ...]] = {
    "claims": ("created_at", "submitted_at", "confirmed_at", "updated_at"),
    "payout_groups": ("created_at", "updated_at", "balance_at", "last_claim_all_at"),
    "reward_addresses": ("created_at",),
    "balances": ("at",),
    "orchestrations": ("created_at", "updated_at"),
    "controls": ("created_at", "deleted_at", "identity_created_at"),
}


class Engine(Protocol):
    """Runs reports over tables, on one thread at a time."""

    def open(self, streams: Mapping[str, ArrowStream]) -> AbstractContextManager[Mapping[str, Any]]:
        """The tables as lazy frames, good until the end of the scope."""

    def read(self, folder: str | PathLike[str]) -> AbstractContextManager[Mapping[str, Any]]:
        """The tables of a folder of exports, as :func:`tables_in` finds them, in the same way."""

    def collect(self, frame: Any) -> polars.DataFrame:
        """The rows of a lazy frame.

        Raises InvalidRequest where a sum of amounts has more than 38 digits.
        """


def engine(name: str) -> Engine:
    """The engine of a name. Raises Unavailable where it is not installed."""
    for module in ("narwhals", "polars"):
        require(module, "a report", "comptroller[analysis]")
    if name == "duckdb":
        require("duckdb", "the engine duckdb", "comptroller[analysis]")
        from comptroller.analysis.engines.duckdb import DuckDB

        return DuckDB()
    if name == "polars":
        from comptroller.analysis.engines.polars import Polars

        return Polars()
    if name == "spark":
        from comptroller.analysis.engines.spark import Spark

        return Spark()
    raise invalid("engine", f"must be one of {', '.join(NAMES)}")


def tables_in(folder: str | PathLike[str]) -> Mapping[str, Path]:
    """The Parquet exports in a folder by table: ``claims.parquet``, or the dataset ``claims``.

    Raises InvalidRequest where it has none.
    """
    found = {
        each.stem.replace("-", "_"): each
        for each in sorted(Path(folder).absolute().glob("*"))
        if each.is_dir() or each.suffix == ".parquet"
    }
    tables = {name: path for name, path in found.items() if name in TIMES}
    if not tables:
        raise invalid("folder", f"{folder} has no file such as claims.parquet, no folder claims")
    return tables


def too_large() -> Error:
    """The refusal of a sum that no decimal(38, 18) holds."""
    return invalid("amount", "a sum has more than 20 digits before the point; narrow the period")
