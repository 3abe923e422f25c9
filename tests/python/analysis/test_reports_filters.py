"""Filters of reports: every report takes them, and a filter selects rows without changing them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller.analysis.parameters import FILTERS
from comptroller.analysis.registry import REPORTS
from lines import address, at, balance, claim, control, group, load, orchestration
from report_stores import NAMES, fill, reported
from reporting import only, ran

ONE, TWO = (f"01900000-0000-7000-8000-0000000000{each}" for each in ("aa", "bb"))
#: The key of claims by filter.
KEYS = ("status", "chain", "asset", "jurisdiction", "group", "customer")


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A store with records of every kind."""
    folder: Path = tmp_path_factory.mktemp("sampled")
    with comptroller.open(folder / "store.db") as svc:
        fill(svc, folder, claims=1_000, seed=5)
        yield svc


def made(**members: Any) -> dict[str, Any]:
    """Returns a confirmed claim of the first group that took a minute."""
    times = {"submitted_at": at(0), "confirmed_at": at(60), "updated_at": at(60)}
    given = {"payout_group_id": ONE, "onchain_status": "CONFIRMED", "blockchain": "INK", **times}
    return claim(**{**given, "asset_type": "ETH", "amount": "1", **members})


@pytest.mark.parametrize("name", NAMES)
def test_every_report_takes_every_filter(sampled: comptroller.Service, name: str) -> None:
    report = reported(sampled, name)
    own = {each: report.given[each] for each in report.definition.own}
    first = sampled.claims.list(limit=1)[0]
    values = {
        "status": ["CONFIRMED", "FAILED"],
        "chain": first.blockchain,
        "asset": [first.asset_type],
        "jurisdiction": {"CH", "DE"},
        "group": first.payout_group_id,
        "customer": "default",
    }
    for each in FILTERS:
        ran(sampled, name, **{each: values[each], **own})
    everything = {**values, **own, "since": "2026-01-01", "until": "2027-01-01"}
    assert len(ran(sampled, name, **everything)) <= len(report)


@pytest.mark.parametrize("key", KEYS)
def test_a_filter_selects_the_rows_of_its_values(sampled: comptroller.Service, key: str) -> None:
    counts = ("claims", "confirmed_amount", "waiting_amount", "failed_amount", "confirmed")
    every = only(ran(sampled, "claims_summary", (key, "month")), key, "month", "asset", *counts)
    known = sorted({row[0] for row in every if row[0] is not None})
    for values, selected in ((known[0], known[:1]), (known[:2], known[:2])):
        rows = ran(sampled, "claims_summary", (key, "month"), **{key: values})
        expected = [row for row in every if row[0] in selected]
        assert only(rows, key, "month", "asset", *counts) == expected


def test_failed_and_waiting_claims_are_not_rewards(operator: comptroller.Service) -> None:
    statuses = ("CONFIRMED", "FAILED", "PENDING", "SUBMITTED")
    load(
        operator,
        "claims",
        *(made(onchain_status=s, amount=f"{10**n}") for n, s in enumerate(statuses)),
    )
    (row,) = ran(operator, "claims_summary", ())
    assert list(row)[1:5] == ["claims", "confirmed_amount", "waiting_amount", "failed_amount"]
    assert only([row], *list(row)[2:5]) == [(Decimal(1), Decimal(1_100), Decimal(10))]
    assert "amount" not in row
    (amounts,) = operator.reports.overview().to_dict()["amounts"]
    assert only([amounts], "confirmed_amount", "waiting_amount", "failed_amount") == [
        (Decimal(1), Decimal(1_100), Decimal(10))
    ]
    (age,) = ran(operator, "cohort")
    assert only([age], *list(row)[2:5]) == [(Decimal(1), Decimal(1_100), Decimal(10))]


def test_the_usual_amount_of_a_day_is_its_confirmed_amount(operator: comptroller.Service) -> None:
    load(operator, "claims", *(made(created_at=at(days=n), amount="2") for n in range(9)))
    load(operator, "claims", made(created_at=at(days=8), amount="50", onchain_status="FAILED"))
    assert ran(operator, "anomalies", measure="amount") == []
    (day,) = ran(operator, "anomalies", measure="amount", status=["CONFIRMED", "FAILED"])
    assert day["value"] == 52


def test_what_rows_are_compared_with_stays_unfiltered(operator: comptroller.Service) -> None:
    load(operator, "payout-groups", *(group(id=each, asset_type="ETH") for each in (ONE, TWO)))
    failed = {"onchain_status": "FAILED", "error_message": "gas", "claim_schedule_id": "daily"}
    later = {"created_at": at(days=1), "claim_schedule_id": "daily"}
    waits = {"onchain_status": "SUBMITTED", "updated_at": at(days=2), "payout_group_id": TWO}
    load(operator, "claims", made(**failed), made(**later))
    load(operator, "claims", made(**waits), made(**waits, asset_type="RPL"))
    (row,) = ran(operator, "failures", status="FAILED")
    assert row["made_good"] == 1
    assert ran(operator, "failing_schedules", least=1, status="FAILED") == []
    assert len(ran(operator, "stuck_claims", group=TWO)) == 2
    assert len(ran(operator, "stuck_claims", asset="RPL", status="SUBMITTED")) == 1


def test_the_median_of_a_filtered_group_is_that_of_all_groups(
    operator: comptroller.Service,
) -> None:
    jurisdictions = {ONE: "CH", TWO: "DE"}
    for id, place in jurisdictions.items():
        load(operator, "payout-groups", group(id=id, asset_type="ETH", jurisdiction=place))
        held = address(payout_group_id=id)
        load(operator, "reward-addresses", held)
        load(operator, "balances", balance(address_id=held["id"], at=at(0), balance="100"))
        load(operator, "claims", made(payout_group_id=id, amount="1" if id == ONE else "3"))
    every = ran(operator, "reconciliation")
    assert [row["within_tolerance"] for row in every] == [True, False]
    for given in (
        {"group": TWO},
        {"jurisdiction": "DE"},
        {"jurisdiction": ["DE"], "chain": "ETHEREUM"},
    ):
        assert ran(operator, "reconciliation", **given) == every[1:]
    assert ran(operator, "reconciliation", chain="SOLANA") == []
    assert ran(operator, "reconciliation", customer="nobody") == []


def test_what_a_record_has_not_selects_none(operator: comptroller.Service) -> None:
    load(operator, "controls", control(identity_id="i"))
    moves = ({"source_asset": "EUR", "destination_asset": "ETH"}, {"destination_asset": "EUR"})
    load(operator, "orchestrations", *(orchestration(**each, status="COMPLETED") for each in moves))
    assert ran(operator, "restrictions", chain="INK") == []
    assert len(ran(operator, "restrictions", customer="default")) == 1
    assert ran(operator, "orchestration_flow", group=ONE) == []
    assert len(ran(operator, "orchestration_flow", asset="EUR", status="COMPLETED")) == 2
    assert len(ran(operator, "orchestration_flow", asset="ETH")) == 1
    assert ran(operator, "orchestration_flow", status="FAILED") == []
    for name in ("restrictions", "orchestration_flow"):
        assert "select none" in REPORTS[name].formula


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"status": "DONE"}, "status: 'DONE' is not allowed; give some of PENDING"),
        ({"status": ["FAILED", "FAILED"]}, "status: duplicate value FAILED"),
        ({"chain": []}, "chain: it is empty"),
        ({"asset": 1.5}, "asset: "),
    ],
)
def test_an_invalid_filter_is_refused(
    operator: comptroller.Service, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(comptroller.InvalidRequest, match=message):
        operator.reports.claims_summary(**given)
    with pytest.raises(comptroller.InvalidRequest, match=message):
        operator.reports.overview(**given)


def test_filters_are_repeated_in_findings_and_named_with_the_rows(
    operator: comptroller.Service,
) -> None:
    failed = {"onchain_status": "FAILED", "claim_schedule_id": "daily", "error_message": "gas"}
    load(operator, "claims", *(made(**failed) for _ in range(3)))
    overview = operator.reports.overview(chain=("INK", "BASE"), asset="ETH")
    commands = [each.command for each in overview.findings]
    assert "comptroller report failing-schedules --chain INK --chain BASE --asset ETH" in commands
    assert (
        "chain INK or BASE, asset ETH"
        in operator.reports.failures(chain=["INK", "BASE"], asset="ETH").summary
    )
    with pytest.raises(comptroller.InvalidRequest, match="colour: unknown argument"):
        operator.reports.overview(colour="red")
