"""Analysis of records: reports with exact amounts, run by DuckDB, PostgreSQL or Spark."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from comptroller.analysis.engines import Engine
    from comptroller.analysis.reports import Reports


def open_exports(
    tables: str | PathLike[str] | Mapping[str, str], engine: str | Engine = "duckdb"
) -> Reports:
    """Returns reports over Parquet exports instead of a store.

    Args:
        tables: a folder with files such as ``claims.parquet`` or datasets such as ``claims``; or
            a mapping of table names to paths or URLs that the engine can read.
        engine: the engine of the reports: duckdb, spark, or an engine object.

    Returns:
        The same reports as those of :attr:`comptroller.Service.reports`. A report raises
        InvalidRequest if a table is missing, is not a Parquet file, or lacks a column.

    Raises:
        InvalidRequest: the folder has no exports, or the engine is unknown.
        MissingExtra: a module of the engine is not installed.
    """
    from comptroller.analysis import engines
    from comptroller.analysis.reports import Reports
    from comptroller.analysis.tables import Exports

    exports = Exports(tables)
    return Reports(exports, engine if engine == "duckdb" else engines.engine(engine))
