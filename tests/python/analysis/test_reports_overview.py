"""The overview: totals, and the unusual findings of other reports."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import comptroller
import pytest
from lines import address, at, balance, claim, group, load

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")

GROUPS = [f"00000000-0000-7000-8000-00000000000{n}" for n in range(3)]


def made(day: int, number: int = 0, **members: Any) -> dict[str, Any]:
    """Returns a claim of a day, confirmed a minute later."""
    moments = {"created_at": at(days=day), "submitted_at": at(days=day)}
    given = {"onchain_status": "CONFIRMED", "confirmed_at": at(60, days=day), "blockchain": "INK"}
    owner = {"payout_group_id": GROUPS[number % 3], "updated_at": at(60, days=day)}
    return claim(**{**moments, **given, **owner, "asset_type": "ETH", "amount": "1", **members})


def steady() -> list[dict[str, Any]]:
    return [made(day, number) for day in range(20) for number in range(3)]


@pytest.fixture
def store(operator: comptroller.Service) -> comptroller.Service:
    """Three groups with equal holdings and claims."""
    load(operator, "payout-groups", *(group(id=each, asset_type="ETH") for each in GROUPS))
    for owner in GROUPS:
        held = address(payout_group_id=owner)
        load(operator, "reward-addresses", held)
        load(operator, "balances", balance(address_id=held["id"], at=at(), balance="1000"))
    load(operator, "claims", *steady())
    return operator


def findings(svc: comptroller.Service) -> list[tuple[str, str]]:
    return [(each.report, each.text) for each in svc.reports.overview().findings]


def test_usual_records_give_no_findings(store: comptroller.Service) -> None:
    overview = store.reports.overview()
    assert overview.findings == []
    answer = overview.to_dict()
    assert answer["claims"] == [
        {
            "claims": 60,
            "confirmed": 60,
            "failed": 0,
            "submitted": 0,
            "pending": 0,
            "success_rate": 1.0,
        }
    ]
    (amount,) = answer["amounts"]
    assert (amount["asset"], amount["confirmed_amount"]) == ("ETH", Decimal(60))
    assert [row["p99_seconds"] for row in answer["times"]] == [60.0]
    assert answer["failures"] == []


def test_a_stuck_chain_is_found(store: comptroller.Service) -> None:
    waits = {"onchain_status": "SUBMITTED", "confirmed_at": None, "updated_at": at(days=20)}
    load(store, "claims", *(made(19, number, **waits) for number in range(2)))
    (report, finding), *_ = findings(store)
    assert report == "stuck_claims"
    assert finding == "INK: 2 claims wait longer than 1 min 00 s, the oldest for 1 d 00 h"


def test_a_failing_schedule_is_found(store: comptroller.Service) -> None:
    failed = {"onchain_status": "FAILED", "error_message": "out of gas", "confirmed_at": None}
    lines = [made(19, number, **failed, claim_schedule_id="daily") for number in range(3)]
    load(store, "claims", made(10, claim_schedule_id="daily"), *lines)
    reports = dict(findings(store))
    finding = "daily: 3 claims failed since 2026-01-20, none confirmed: out of gas"
    assert reports["failing_schedules"] == finding


def test_a_group_outside_the_tolerance_is_found(store: comptroller.Service) -> None:
    load(store, "claims", *(made(day, 1) for day in range(20)))
    (found,) = (
        each for each in store.reports.overview().findings if each.report == "reconciliation"
    )
    assert found.text.startswith(
        f"2026-01: 1 group outside the tolerance; most unusual {GROUPS[1]} (+1"
    )
    assert found.command == "comptroller report reconciliation --month 2026-01"


def test_a_group_that_alone_claims_is_not_said_to_lack_a_balance(
    store: comptroller.Service,
) -> None:
    owner = {"payout_group_id": GROUPS[0]}
    moved = [made(day, **owner) for day in range(31, 40)]
    load(store, "claims", *moved)
    texts = [each.text for each in store.reports.overview(since="2026-02-01").findings]
    assert f"2026-02: 1 group outside the tolerance; most unusual {GROUPS[0]}" in texts[0]
    assert texts[0].endswith("(most groups claimed nothing)")


def test_the_command_of_a_finding_has_times_in_utc(store: comptroller.Service) -> None:
    load(store, "claims", *(made(7, number) for number in range(30)))
    since = at().astimezone(ZoneInfo("Europe/Zurich"))
    commands = [each.command for each in store.reports.overview(since=since).findings]
    assert "comptroller report anomalies --since 2026-01-01T00:00:00.000000Z" in commands


def test_a_day_outside_the_band_is_found(store: comptroller.Service) -> None:
    load(store, "claims", *(made(7, number) for number in range(30)))
    overview = store.reports.overview(since=at(), until="2026-02-01")
    days = [each for each in overview.findings if each.report == "anomalies"]
    assert [each.given.get("measure") for each in days] == [None, "amount"]
    assert days[0].text == ("1 unusual day; most unusual 2026-01-08 (INK: 33 claims, usually 3)")
    assert days[1].text.endswith("(INK ETH: 33 confirmed, usually 3)")
    assert days[1].command.endswith("--until 2026-02-01 --measure amount")


def test_a_client_sees_the_reports_it_may_read(store: comptroller.Service, open_as: Any) -> None:
    mine = open_as(customer="default").reports.overview()
    assert mine.to_dict()["claims"][0]["claims"] == 60
    reader = open_as(customer="default", scopes=["rewards:read_claims"])
    assert reader.reports.overview().to_dict() == mine.to_dict()


def test_forbidden_reports_are_named(store: comptroller.Service, open_as: Any) -> None:
    client = open_as(customer="default", scopes=["rewards:read_payout_groups"])
    overview = client.reports.overview()
    assert "rewards:read_claims" in overview.left_out["claims_summary"]
    assert overview.to_dict()["left_out"] == overview.left_out
    html = overview._repr_html_()
    assert "There are no claims" not in html
    assert "Nothing unusual" not in html


def test_a_day_of_several_series_is_counted_once(store: comptroller.Service) -> None:
    rpl = (made(day, number, asset_type="RPL") for day in range(20) for number in range(3))
    load(store, "claims", *rpl)
    for asset in ("ETH", "RPL"):
        load(store, "claims", *(made(7, number, asset_type=asset) for number in range(30)))
    amounts = [each.text for each in store.reports.overview().findings if "measure" in each.given]
    assert [text.partition(";")[0] for text in amounts] == ["1 unusual day"]


def test_it_is_shown_in_a_notebook_with_escaped_text(operator: comptroller.Service) -> None:
    hostile = "<script>alert(1)</script>"
    failed = {"onchain_status": "FAILED", "error_message": hostile, "claim_schedule_id": hostile}
    load(operator, "claims", *(claim(**failed) for _ in range(3)))
    overview = operator.reports.overview()
    shown = overview._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "comptroller report failing-schedules" in shown
    assert repr(overview).startswith("<Overview, 1 findings>")


def test_no_claims_give_no_rows(operator: comptroller.Service) -> None:
    overview = operator.reports.overview()
    assert (overview.tables, overview.findings) == ({}, [])
    assert "There are no claims" in overview._repr_html_()


def test_a_finding_names_a_month_of_an_early_year(operator: comptroller.Service) -> None:
    time, id = "0001-02-03T00:00:00Z", "01900000-0000-7000-8000-0000000000aa"
    held = address(payout_group_id=id)
    load(operator, "payout-groups", group(id=id, asset_type="ETH"))
    load(operator, "reward-addresses", held)
    load(operator, "balances", balance(address_id=held["id"], at=time, balance="0"))
    paid = {"onchain_status": "CONFIRMED", "confirmed_at": time, "created_at": time}
    load(operator, "claims", claim(payout_group_id=id, asset_type="ETH", amount="1", **paid))
    (found,) = (
        each for each in operator.reports.overview().findings if each.report == "reconciliation"
    )
    assert found.text.startswith("0001-02: ")
    assert found.command == "comptroller report reconciliation --month 0001-02"
    assert len(operator.reports.reconciliation(**found.given)) == 1
