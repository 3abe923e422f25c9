"""What runs the reports: DuckDB or Spark, each behind the same small face."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from comptroller.analysis.registry import ENGINES, TABLES
from comptroller.bulk.streams import Rows
from comptroller.errors import invalid, require

if TYPE_CHECKING:
    import polars

    from comptroller.analysis.assemble import Statement


class Engine(Protocol):
    """Tables of a store, and reports over them; used by one thread at a time.

    Times are in UTC, amounts decimal(38, 18), closed sets text.
    """

    def read(self, table: str, stream: Rows) -> None:
        """Copies a table, in place of what the engine has of it."""

    def scan(self, table: str, path: str) -> None:
        """Takes a table from a Parquet file or dataset, which is read whenever a report runs."""

    def run(self, statement: Statement, values: Mapping[str, Any]) -> polars.DataFrame:
        """The rows of a statement.

        Raises OverflowError if a sum of amounts has more than 38 digits.
        """

    def sql(self, statement: Statement, values: Mapping[str, Any]) -> str:
        """What runs, for people: with the values in it."""

    def close(self) -> None:
        """Drops the tables."""


def engine(name: str | Engine) -> Engine:
    """A new engine of a name; an engine itself. Raises MissingExtra if it is not installed."""
    for module in ("sqlglot", "polars"):
        require(module, "a report", "analysis")
    if name == "duckdb":
        require("duckdb", "the engine duckdb", "analysis")
        from comptroller.analysis.engines.duckdb import DuckDB

        return DuckDB()
    if name == "spark":
        from comptroller.analysis.engines.spark import Spark

        return Spark()
    if isinstance(name, str) or not hasattr(name, "scan"):
        raise invalid("engine", f"must be one of {', '.join(ENGINES)}, or an engine")
    return name


def tables_in(folder: str | PathLike[str]) -> Mapping[str, str]:
    """The Parquet exports in a folder by table: ``claims.parquet``, or the dataset ``claims``.

    Raises InvalidRequest if it has none.
    """
    found = {
        each.stem.replace("-", "_"): str(each)
        for each in sorted(Path(folder).absolute().glob("*"))
        if each.is_dir() or each.suffix == ".parquet"
    }
    tables = {name: path for name, path in found.items() if name in TABLES}
    if not tables:
        raise invalid("folder", f"{folder} has no file such as claims.parquet, no folder claims")
    return tables
