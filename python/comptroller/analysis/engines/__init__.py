"""The engines that run reports, DuckDB, PostgreSQL and Spark, and their common interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from comptroller.analysis.parameters import ENGINES
from comptroller.bulk.streams import Rows
from comptroller.errors import invalid, require

if TYPE_CHECKING:
    import polars

    from comptroller.analysis.assemble import Statement


#: Why the engine postgresql is refused.
IN_PLACE = (
    "postgresql is for the operator of a database that this program has opened, "
    "comptroller.open('postgresql://...'); use duckdb"
)


class Engine(Protocol):
    """Holds tables and runs statements over them; used by one thread at a time.

    Times are in UTC, amounts are decimal(38, 18), enumerations equal their texts.
    """

    def read(self, table: str, stream: Rows) -> None:
        """Copies a table into the engine, replacing an existing one."""

    def scan(self, table: str, path: str) -> None:
        """Defines a table as a Parquet file or dataset, which each report reads again."""

    def run(self, statement: Statement, values: Mapping[str, Any]) -> polars.DataFrame:
        """Runs a statement; returns its rows, whose `texts` may be enumerations.

        Raises OverflowError if a sum of amounts has more than 38 digits.
        """

    def sql(self, statement: Statement, values: Mapping[str, Any]) -> str:
        """Returns the SQL of a statement with its values, for display."""

    def close(self) -> None:
        """Drops the tables."""


def engine(name: str | Engine) -> Engine:
    """Returns a new engine for a name, or an engine object itself.

    Raises:
        InvalidRequest: the name is unknown.
        MissingExtra: a module of the engine is not installed.
    """
    for module in ("sqlglot", "polars"):
        require(module, "a report", "analysis")
    if name == "duckdb":
        require("duckdb", "the engine duckdb", "analysis")
        from comptroller.analysis.engines.duckdb import DuckDB

        return DuckDB()
    if name == "spark":
        from comptroller.analysis.engines.spark import Spark

        return Spark()
    if name == "postgresql":
        raise invalid("engine", IN_PLACE)
    if isinstance(name, str) or not hasattr(name, "scan"):
        raise invalid("engine", f"must be one of {', '.join(ENGINES)}, or an engine")
    return name
