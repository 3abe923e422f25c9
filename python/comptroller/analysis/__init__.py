"""Analysis of what a store holds: reports on DuckDB or Spark, exact about money."""

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
    """Reports over Parquet exports instead of a store.

    Args:
        tables: a folder with files such as ``claims.parquet`` or datasets such as ``claims``, or
            the path of each table by its name, wherever the engine finds it.
        engine: what runs the reports: duckdb, spark, or an engine.

    Raises:
        InvalidRequest: a folder without exports, an unknown engine; by a report, a table that is
            not there, whose file is no Parquet file, or that lacks a column.
        MissingExtra: what the engine needs is not installed.
    """
    from comptroller.analysis import engines
    from comptroller.analysis.reports import Reports
    from comptroller.analysis.tables import Exports

    found = tables if isinstance(tables, Mapping) else engines.tables_in(tables)
    chosen = engine if engine == "duckdb" else engines.engine(engine)
    return Reports(Exports(found), chosen)
