"""Rows that another program stored with any key are equal in lists, streams, exports, reports."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import comptroller
import pytest
from comptroller.analysis.query import open_query
from examples import GROUP, exported, loaded, short_line

pa = pytest.importorskip("pyarrow")

WITH_SQL = "COMPTROLLER_ONLY_SQL"
LEAST, LARGEST = -(2**63), 2**63 - 1
KEYS = [LEAST, LEAST + 1, -1, 0, 1, 5_000, LARGEST - 1, LARGEST]
IDS = [f"of-key-{key}" for key in KEYS]


@pytest.fixture(name="path", scope="module")
def _path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "store.db"
    with comptroller.open(path) as svc:
        loaded(svc, "payout-groups", short_line("payout-groups"))
        loaded(svc, "claims", *(short_line("claims", id=name) for name in IDS))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for key in KEYS:
            other.execute("UPDATE claims SET key = ? WHERE id = ?", (key, f"of-key-{key}"))
    return path


@pytest.fixture(name="service", params=["pages", "SQL"])
def _service(path: Path, request: pytest.FixtureRequest) -> Iterator[comptroller.Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(WITH_SQL, "1" if request.param == "SQL" else "")
        service = comptroller.open(path, read_only=True)
    with service:
        yield service


def test_lists(service: comptroller.Service) -> None:
    assert [item.id for item in service.claims.list(order="ASC")] == IDS
    assert [item.id for item in service.claims.iter(limit=3)] == IDS[::-1]
    assert [item.id for item in service.claims.list(payout_group_id=GROUP)] == IDS[::-1]


@pytest.mark.parametrize(
    "filters", [{}, {"statuses": "PENDING"}, {"start_time": "2026-01-01T00:00:00Z"}]
)
def test_streams_and_exports(
    service: comptroller.Service, tmp_path: Path, filters: dict[str, str]
) -> None:
    assert pa.table(service.claims.stream(**filters)).column("id").to_pylist() == IDS
    assert [row["id"] for row in exported(service, "claims", tmp_path, **filters)] == IDS
    service.export("claims", tmp_path / "claims.csv", format="csv", **filters)
    rows = (tmp_path / "claims.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == IDS


def test_reports_and_queries(service: comptroller.Service) -> None:
    assert service.reports.claims_summary().to_polars()["claims"].sum() == len(IDS)
    with open_query(service, "SELECT id FROM claims ORDER BY id") as asked:
        assert sorted(name for rows in asked.rows() for (name,) in rows) == sorted(IDS)


def test_a_check_finds_nothing(service: comptroller.Service) -> None:
    found = service.check()
    # Another program changed the keys, which the journal notices.
    others = [each for each in found["findings"] if "entry" not in each["message"]]
    assert (others, found["rows"]["claims"]) == ([], len(IDS))
