"""Helpers for tests of reports."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import comptroller
import pytest

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")

import polars
from comptroller.analysis.query import open_query
from comptroller.analysis.reports import Reports

#: The events of a history that are not rows of its SQL.
IN_JOURNAL = ("recorded", "changed", "removed")
MONEY = polars.Decimal(38, 18)


def ran(svc: comptroller.Service, name: str, *given: Any, **named: Any) -> list[dict[str, Any]]:
    """Returns the rows of a report; checks that its SQL gives the same rows as a query."""
    report = getattr(svc.reports, name)(*given, **named)
    with open_query(svc, report.sql) as asked:
        queried = polars.DataFrame(asked)
    assert queried.schema == report.to_polars().schema
    rows: list[dict[str, Any]] = report.to_dicts()
    assert queried.to_dicts() == [row for row in rows if row.get("event") not in IN_JOURNAL]
    return rows


class Frames:
    """A table source of polars frames."""

    def __init__(self, **tables: polars.DataFrame) -> None:
        self._tables = tables

    def version(self) -> None:
        return None

    def copy_to(self, engine: Any, table: str, columns: Sequence[str], filters: Any) -> None:
        engine.read(table, self._tables[table].select(columns))


def over(**tables: polars.DataFrame) -> Reports:
    """Returns reports over frames."""
    return Reports(Frames(**tables))


def only(rows: Sequence[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    """Returns some columns of the rows."""
    return [tuple(row[column] for column in columns) for row in rows]


def total(rows: Sequence[dict[str, Any]], column: str) -> Decimal:
    """Returns the exact sum of amounts."""
    return sum((row[column] for row in rows), Decimal(0))
