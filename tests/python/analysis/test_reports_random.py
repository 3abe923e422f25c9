"""Random stores: every report equals its query, its sums add up, and Spark agrees."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import comptroller
import pytest
from spark_session import MARKS

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")

from random_stores import fill_randomly
from report_stores import NAMES
from reporting import ran, total

ASKED: dict[str, list[dict[str, Any]]] = {
    "claims_summary": [{"by": ()}, {"by": ("jurisdiction", "week", "status")}, {"by": "address"}],
    "confirmation_times": [{}, {"by": ("month", "schedule"), "as_of": "2026-02-01"}],
    "stuck_claims": [{"percentile": 0.07}],
    "failures": [{"by": ("claim_type", "hour"), "until": "2026-02-28T23:59:59.999999Z"}],
    "failing_schedules": [{"least": 1}],
    "restrictions": [{"by": ()}, {"by": ("customer", "day")}],
    "reconciliation": [{}, {"month": "2026-02", "tolerance": 0.5}],
    "anomalies": [{"band": 1.0}, {"by": "group", "band": 0.5, "measure": "amount"}],
}


def questions(group: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Runs every report, with various arguments."""
    own = {"group_statement": [{"group": group, "month": "2026-02"}], "history": [{"id": group}]}
    for name in NAMES:
        for given in (ASKED | own).get(name, [{}]):
            yield name, given


@pytest.mark.parametrize("seed", range(8))
def test_a_report_equals_its_query(operator: comptroller.Service, seed: int) -> None:
    group = fill_randomly(operator, seed)
    for name, given in questions(group):
        ran(operator, name, **given)
    with localcontext(prec=60):
        claims = list(operator.claims.iter())
        rows = ran(operator, "claims_summary", ("schedule", "day"))
        assert sum(row["claims"] for row in rows) == len(claims)
        amounts = ("confirmed_amount", "waiting_amount", "failed_amount")
        found = sum(total(rows, amount) for amount in amounts)
        assert found == sum((each.amount for each in claims), Decimal(0))
        days = ran(operator, "group_statement", group, "2026-02")
        for asset in {row["asset"] for row in days}:
            *each, whole = (row for row in days if row["asset"] == asset)
            assert total(each, "claimed") == whole["claimed"]
            assert each[0]["opening_holdings"] == whole["opening_holdings"]
            assert each[-1]["closing_holdings"] == whole["closing_holdings"]


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=MARKS) for seed in range(2)])
def test_spark_equals_duckdb(tmp_path: Path, seed: int, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("pyspark")
    request.getfixturevalue("spark")
    with comptroller.open(tmp_path / "store.db") as svc:
        group = fill_randomly(svc, seed)
        for name, given in questions(group):
            here, there = (
                getattr(svc.reports, name)(**given, engine=engine) for engine in ("duckdb", "spark")
            )
            assert there.to_polars().schema == here.to_polars().schema, name
            assert there.to_dicts() == here.to_dicts(), (name, given)
