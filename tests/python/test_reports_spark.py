"""Spark gives the answers that DuckDB gives, from the Parquet files of the same streams."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import comptroller
import pytest
from lines import claim, load

pytest.importorskip("pyspark")
pytest.importorskip("narwhals")
pytest.importorskip("duckdb")
from furnished import fill

if shutil.which("java") is None:
    pytest.skip("Spark needs a Java runtime", allow_module_level=True)

pytestmark = [
    pytest.mark.xdist_group("spark"),  # one session is enough
    # Of pyspark itself.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[None]:
    """One that every report of this module finds, ended with it."""
    from comptroller.analysis.engines.spark import local_session

    running = local_session()
    running.sparkContext.setLogLevel("ERROR")
    yield
    running.stop()


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[comptroller.Service]:
    """A store with records of every kind."""
    folder = tmp_path_factory.mktemp("sampled")
    with comptroller.open(folder / "store.db") as svc:
        fill(svc, folder, claims=2_000, seed=5)
        yield svc


REPORTS: list[tuple[str, dict[str, Any]]] = [
    ("claims_summary", {}),
    ("claims_summary", {"by": ("jurisdiction", "week", "status")}),
    ("claims_summary", {"by": (), "since": "2026-05-20", "until": "2026-06-01"}),
    ("confirmation_times", {"by": ("chain", "month")}),
    ("stuck_claims", {"percentile": 0.5}),
    ("failures", {"by": ("chain",)}),
    ("restrictions", {"by": ("customer", "week")}),
    ("reconciliation", {}),
    ("cohort", {}),
    ("anomalies", {"by": ("chain",), "band": 2.0}),
    ("orchestration_flow", {}),
]


@pytest.mark.parametrize(("name", "given"), REPORTS, ids=lambda each: str(each)[:60])
def test_spark_answers_as_duckdb_does(
    sampled: comptroller.Service, name: str, given: dict[str, Any]
) -> None:
    here = getattr(sampled.reports, name)(**given, engine="duckdb").to_polars()
    there = getattr(sampled.reports, name)(**given, engine="spark").to_polars()
    assert there.schema == here.schema
    assert len(here)
    assert there.to_dicts() == here.to_dicts()


def test_spark_states_a_group_as_duckdb_does(sampled: comptroller.Service) -> None:
    claims = sampled.claims.list(limit=1000, statuses=["CONFIRMED"])
    group = Counter(each.payout_group_id for each in claims).most_common(1)[0][0]
    here, there = (
        sampled.reports.group_statement(group, "2026-06", engine=engine).to_dicts()
        for engine in ("duckdb", "spark")
    )
    assert len(here) == 31
    assert there == here


def test_a_sum_that_no_column_holds_is_refused(tmp_path: Path) -> None:
    largest = "99999999999999999999.999999999999999999"
    with comptroller.open(tmp_path / "store.db") as svc:
        load(svc, "claims", claim(amount=largest), claim(amount="0.000000000000000001"))
        with pytest.raises(comptroller.InvalidRequest, match="more than 20 digits"):
            svc.reports.claims_summary(engine="spark")


def test_of_an_empty_store_there_is_nothing(tmp_path: Path) -> None:
    with comptroller.open(tmp_path / "store.db") as svc:
        assert len(svc.reports.claims_summary(engine="spark")) == 0
