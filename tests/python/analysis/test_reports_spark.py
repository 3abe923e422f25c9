"""Spark gives the results of DuckDB, from a dataset written by the command line."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import comptroller
import pytest
from lines import claim, load
from report_stores import fill, reported
from reporting import IN_JOURNAL
from spark_session import MARKS

pytest.importorskip("pyspark")
pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("click")

from comptroller.analysis import open_exports
from comptroller.analysis.engines.spark import Spark
from comptroller.analysis.reports import Reports
from comptroller.cli import main

LARGEST = "99999999999999999999.999999999999999999"
pytestmark = [*MARKS, pytest.mark.usefixtures("spark")]


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[comptroller.Service]:
    """A store with records of every kind."""
    folder = tmp_path_factory.mktemp("sampled")
    with comptroller.open(folder / "store.db") as svc:
        fill(svc, folder, claims=2_000, seed=5)
        yield svc


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, sampled: comptroller.Service) -> Reports:
    """Reports on Spark over exports of the store."""
    folder = tmp_path_factory.mktemp("exported")
    db = str(tmp_path_factory.getbasetemp() / "sampled0" / "store.db")
    apart = {"claims": "month,chain", "orchestrations": "week", "controls": None}
    for kind in ("payout-groups", "reward-addresses", "balances", "identities"):
        apart[kind] = None
    for kind, keys in apart.items():
        path = str(folder / kind) if keys else f"{folder / kind}.parquet"
        how = ["--partition", keys] if keys else []
        command = ["export", kind, path, "--format", "parquet", "--db", db, *how]
        assert main(command) == 0
    return open_exports(folder, Spark())


REPORTS: list[tuple[str, dict[str, Any]]] = [
    ("claims_summary", {"by": ("chain", "day")}),
    ("claims_summary", {"by": ("jurisdiction", "week", "status")}),
    ("confirmation_times", {"by": ("chain", "month")}),
    ("stuck_claims", {"percentile": 0.5}),
    ("failures", {"by": ("chain",)}),
    ("restrictions", {"by": ("customer", "week")}),
    ("reconciliation", {}),
    ("cohort", {}),
    ("anomalies", {"by": ("chain",), "band": 2.0}),
    ("anomalies", {"by": ("schedule",), "band": 2.0, "measure": "amount"}),
    ("claims_summary", {"by": ("address", "claim_type")}),
    ("failing_schedules", {"least": 1}),
    ("orchestration_flow", {}),
]


@pytest.mark.parametrize(("name", "given"), REPORTS, ids=lambda each: str(each)[:60])
def test_spark_equals_duckdb(
    sampled: comptroller.Service, exported: Reports, name: str, given: dict[str, Any]
) -> None:
    here, there = (getattr(each, name)(**given) for each in (sampled.reports, exported))
    assert len(here) or name == "failing_schedules"
    assert there.to_polars().schema == here.to_polars().schema
    assert there.to_dicts() == here.to_dicts()


@pytest.mark.parametrize("name", ["group_statement", "history"])
def test_spark_equals_duckdb_for_a_group(
    sampled: comptroller.Service, exported: Reports, name: str
) -> None:
    here = reported(sampled, name)
    given = {each: here.given[each] for each in here.definition.parameters}
    rows = [row for row in here.to_dicts() if row.get("event") not in IN_JOURNAL]
    assert getattr(exported, name)(**given).to_dicts() == rows


def test_a_service_runs_reports_on_spark(sampled: comptroller.Service) -> None:
    asked = {"by": ("status",), "since": "2026-05-20", "until": "2026-06-01"}
    here, there = (
        sampled.reports.claims_summary(**asked, engine=engine) for engine in ("duckdb", "spark")
    )
    assert len(here)
    assert there.to_dicts() == here.to_dicts()
    assert "FROM store_claims AS c" in there.sql


def test_services_on_spark_have_separate_views(
    sampled: comptroller.Service, tmp_path: Path
) -> None:
    with comptroller.open(tmp_path / "small.db") as small:
        load(small, "claims", claim())
        with ThreadPoolExecutor(2) as pool:
            asked = [
                pool.submit(svc.reports.claims_summary, (), engine="spark")
                for _ in range(3)
                for svc in (sampled, small)
            ]
        sums = [sum(row["claims"] for row in each.result().to_dicts()) for each in asked]
    assert (
        sums == [sum(row["claims"] for row in sampled.reports.claims_summary(()).to_dicts()), 1] * 3
    )


def test_a_session_without_ansi_is_configured(spark: Any, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    with comptroller.open(tmp_path / "store.db") as svc:
        load(svc, "claims", *(claim(amount=each) for each in (LARGEST, "1.5")))
        assert [row["waiting_amount"] for row in svc.reports.cohort(engine="spark").to_dicts()] == [
            None
        ]


def test_times_before_1582_are_not_shifted() -> None:
    first = "0001-01-01T00:00:00Z"
    with comptroller.open(":memory:") as svc:
        load(svc, "claims", claim(created_at=first), claim(created_at="0001-01-02T00:00:00Z"))
        given: dict[str, Any] = {"since": "0001-01-01", "until": "0001-01-02T00:00:00Z"}
        for zone in ("UTC", "America/New_York"):
            rows = [
                svc.reports.claims_summary("day", **given, tz=zone, engine=engine).to_dicts()
                for engine in ("duckdb", "spark")
            ]
            assert rows[0] == rows[1]
            assert [(row["day"], row["claims"]) for row in rows[0]] == [(date.min, 1)]
