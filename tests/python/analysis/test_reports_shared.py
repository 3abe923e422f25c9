"""Reports share the tables that were read, until any process changes the store."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import comptroller
import pytest
from lines import claim, group, load

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")

from comptroller.analysis.registry import TABLES
from comptroller.analysis.reports import Reports
from comptroller.analysis.tables import ServiceTables

GROUP = "01900000-0000-7000-8000-0000000000aa"


class Counted(ServiceTables):
    """The tables of a service, which records the names of the tables that were read."""

    def __init__(self, svc: comptroller.Service) -> None:
        super().__init__({name: getattr(svc, name) for name in TABLES}, svc.host.version)
        self.brought: list[str] = []

    def copy_to(self, engine: Any, table: str, columns: Any, filters: Any) -> None:
        self.brought.append(table)
        super().copy_to(engine, table, columns, filters)


@pytest.fixture
def source(operator: comptroller.Service) -> Counted:
    return Counted(operator)


@pytest.fixture
def reports(source: Counted) -> Reports:
    return Reports(source)


def counted(reports: Reports) -> int:
    return sum(row["claims"] for row in reports.claims_summary(()).to_dicts())


def test_reports_on_an_unchanged_store_share_the_tables(
    operator: comptroller.Service, reports: Reports, source: Counted
) -> None:
    load(operator, "claims", claim(), claim(onchain_status="FAILED"))
    assert counted(reports) == counted(reports) == 2
    assert source.brought == ["claims"]
    reports.failures()  # this report needs more columns
    assert source.brought == ["claims"] * 2
    for name in ("claims_summary", "failures"):
        getattr(reports, name)(())
    assert source.brought == ["claims"] * 2


def test_a_write_invalidates_the_tables(
    operator: comptroller.Service, reports: Reports, source: Counted
) -> None:
    for number in range(1, 4):
        load(operator, "claims", claim())
        assert counted(reports) == counted(reports) == number
    assert len(source.brought) == 3


def test_a_write_of_another_process_invalidates_the_tables(
    operator: comptroller.Service, reports: Reports, source: Counted, store_path: Path
) -> None:
    load(operator, "claims", claim())
    assert counted(reports) == 1
    code = (
        "import comptroller, sys\n"
        "with comptroller.open(sys.argv[1]) as svc:\n"
        "    assert svc.load('claims', [eval(sys.argv[2])]).committed\n"
    )
    line = {**claim(), "created_at": "2026-01-01T00:00:00Z"}
    subprocess.run([sys.executable, "-c", code, str(store_path), repr(line)], check=True)
    assert counted(reports) == 2
    assert len(source.brought) == 2


def test_a_bounded_read_is_not_reused_for_all_rows(
    operator: comptroller.Service, reports: Reports, source: Counted
) -> None:
    load(
        operator,
        "claims",
        claim(created_at="2026-01-01T00:00:00Z"),
        claim(created_at="2026-02-01T00:00:00Z"),
    )
    (row,) = reports.claims_summary((), since="2026-02-01").to_dicts()
    assert row["claims"] == 1
    assert counted(reports) == 2
    (row,) = reports.claims_summary((), until="2026-02-01").to_dicts()
    assert row["claims"] == 1
    assert len(source.brought) == 2


def test_a_complete_read_is_kept(
    operator: comptroller.Service, reports: Reports, source: Counted
) -> None:
    load(operator, "claims", claim())
    for _ in range(2):
        reports.claims_summary(())
        reports.failures((), since="2026-02-01")  # reads another column
    assert len(source.brought) == 2


def test_reports_that_are_iterated_block_nobody(
    operator: comptroller.Service, reports: Reports
) -> None:
    load(operator, "claims", claim())
    begun = reports.everything()
    next(begun)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(counted, reports).result(timeout=60) == 1
    assert {name for name, _ in begun} >= {"claims_summary", "failures"}
    assert counted(reports) == 1


def test_an_overview_reads_each_table_once(
    operator: comptroller.Service, reports: Reports, source: Counted
) -> None:
    load(operator, "payout-groups", group(id=GROUP))
    load(operator, "claims", claim(payout_group_id=GROUP))
    reports.overview()
    assert sorted(source.brought) == ["balances", "claims", "payout_groups", "reward_addresses"]


def test_a_store_in_memory_is_read_each_time() -> None:
    with comptroller.open(":memory:") as svc:
        load(svc, "claims", claim())
        assert counted(svc.reports) == 1
        load(svc, "claims", claim())
        assert counted(svc.reports) == 2


def test_a_closed_service_has_no_reports(operator: comptroller.Service) -> None:
    load(operator, "claims", claim())
    reports = operator.reports
    assert len(reports.claims_summary()) == 1
    operator.close()
    with pytest.raises(comptroller.Closed):
        reports.claims_summary()


def test_clients_do_not_share_tables(
    operator: comptroller.Service, acme: comptroller.Service, globex: comptroller.Service
) -> None:
    load(operator, "claims", claim(), customer_id="acme")
    found = [counted(each.reports) for each in (operator, acme, globex)]
    assert found == [1, 1, 0]
