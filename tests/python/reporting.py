"""Reports run on every engine of this process, with one answer."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import comptroller
import pytest

pytest.importorskip("narwhals")
pytest.importorskip("duckdb")
pytest.importorskip("polars")

import polars

MONEY = polars.Decimal(38, 18)
ENGINES = ("duckdb", "polars")


def ran(svc: comptroller.Service, name: str, *given: Any, **named: Any) -> list[dict[str, Any]]:
    """The rows of a report, which all engines agree on, to the type of each column."""
    first, *others = (
        getattr(svc.reports, name)(*given, engine=engine, **named) for engine in ENGINES
    )
    for other in others:
        assert other.to_polars().schema == first.to_polars().schema
        assert other.to_dicts() == first.to_dicts()
    return first.to_dicts()


def only(rows: Sequence[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of the rows."""
    return [tuple(row[column] for column in columns) for row in rows]


def total(rows: Sequence[dict[str, Any]], column: str) -> Decimal:
    """An exact sum."""
    return sum((row[column] for row in rows), Decimal(0))
