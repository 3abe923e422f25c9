"""The reconciliation: claimed amounts and holdings by month."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

import comptroller
import polars
import pytest
from lines import address, balance, claim, group, load
from report_stores import fill
from reporting import MONEY, only, ran

KEYS = ("group", "month")
RATES = ("annual_rate", "median_rate", "deviation", "within_tolerance")
COLUMNS = (
    "group",
    "group_name",
    "month",
    "asset",
    "ledger",
    "claimed",
    "average_holdings",
    "days",
    *RATES,
)
LARGEST = "99999999999999999999.999999999999999999"
GROUP, SECOND, THIRD = (f"00000000-0000-7000-8000-00000000000{n}" for n in range(3))
MICROSECOND = timedelta(microseconds=1)


def day(number: int, month: int = 2, year: int = 2026) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


def confirmed(at: datetime | None, amount: str = "1", **members: Any) -> dict[str, Any]:
    given = {"payout_group_id": GROUP, "onchain_status": "CONFIRMED", "amount": amount}
    return claim(**(given | {"confirmed_at": at} | members))


def holds(
    svc: comptroller.Service, owner: str, *stood: tuple[datetime, str], ledger: str = "ETHEREUM"
) -> None:
    """Loads an address of a group, and its balances by time."""
    held = address(payout_group_id=owner, ledger=ledger)
    load(svc, "reward-addresses", held)
    load(svc, "balances", *(balance(address_id=held["id"], at=at, balance=n) for at, n in stood))


def eth(id: str, **members: Any) -> dict[str, Any]:
    return group(id=id, asset_type="ETH", **members)


def test_holdings_are_weighted_by_time(operator: comptroller.Service) -> None:
    load(operator, "payout-groups", eth(GROUP))
    # Unknown before the eleventh; then 10 for 9 days, 40 for 9 more.
    holds(operator, GROUP, (day(11), "10"), (day(20), "20"))
    holds(operator, GROUP, (day(20), "20"), (day(28, 3), "20"))
    load(operator, "claims", confirmed(day(28, 4), "3"), confirmed(day(12), "0.7"))
    rows = ran(operator, "reconciliation")
    assert list(rows[0]) == list(COLUMNS)
    assert only(rows, "month", "claimed", "average_holdings", "days") == [
        (day(1, 2).date(), Decimal("0.7"), 25.0, 18),
        (day(1, 3).date(), Decimal(0), 40.0, 31),
        (day(1, 4).date(), Decimal(3), 40.0, 28),  # nothing more in this month
    ]
    first, second, third = (row["annual_rate"] for row in rows)
    assert first == pytest.approx(0.7 / 25 * 365 / 18)
    assert (second, third) == (0, pytest.approx(3 / 40 * 365 / 28))


def test_an_address_without_a_snapshot_yet_holds_nothing(operator: comptroller.Service) -> None:
    holds(operator, GROUP, (day(1), "6"))
    holds(operator, GROUP, (day(15), "6"), (day(1, 3), "0"))
    rows = ran(operator, "reconciliation", "2026-02")
    assert only(rows, "average_holdings", "days") == [(9.0, 28)]


def test_a_rate_deviates_from_the_median_of_its_asset_and_ledger(
    operator: comptroller.Service,
) -> None:
    others = [str(uuid4()) for _ in range(3)]
    load(operator, "payout-groups", *(eth(each) for each in (GROUP, SECOND, THIRD)))
    load(operator, "payout-groups", group(id=others[0], asset_type="LDO"))
    load(operator, "payout-groups", eth(others[1], ledger="INK"), group(id=others[2]))
    for owner, amount in (
        *((GROUP, "100"), (SECOND, "105"), (THIRD, "105.000001")),
        *((others[0], "900"), (others[1], "0"), (others[2], "5")),
    ):
        on = "INK" if owner == others[1] else "ETHEREUM"
        holds(operator, owner, (day(1), "36500"), ledger=on)
        load(operator, "claims", confirmed(day(28), amount, payout_group_id=owner))
    found = {row["group"]: only([row], *RATES)[0] for row in ran(operator, "reconciliation")}
    rate = found[SECOND][0]
    assert rate == pytest.approx(105 / 100 / 28)
    assert found[SECOND] == (rate, rate, 0.0, True)
    assert found[GROUP] == (pytest.approx(100 / 100 / 28), rate, pytest.approx(100 / 105 - 1), True)
    assert found[others[0]][1:] == (found[others[0]][0], 0.0, True)
    assert found[others[1]] == (0.0, 0.0, None, True)
    assert found[others[2]] == (
        pytest.approx(5 / 100 / 28),
        None,
        None,
        None,
    )  # an unknown asset has no median
    (strict, *_) = only(ran(operator, "reconciliation", "2026-02", 0.047), "within_tolerance")
    assert strict == (False,)
    exact = ran(operator, "reconciliation", "2026-02", 0)
    assert {row["group"] for row in exact if row["within_tolerance"]} == {SECOND, *others[:2]}


def test_the_limit_of_the_tolerance_is_within_it(operator: comptroller.Service) -> None:
    load(operator, "payout-groups", *(eth(each) for each in (GROUP, SECOND, THIRD)))
    for owner, amount in ((GROUP, "0.95"), (SECOND, "1"), (THIRD, "1.05")):
        holds(operator, owner, (day(1), "3"))
        load(operator, "claims", confirmed(day(28), amount, payout_group_id=owner))
    assert [row["within_tolerance"] for row in ran(operator, "reconciliation")] == [True] * 3


def test_groups_without_holdings_or_claims_are_listed(operator: comptroller.Service) -> None:
    unknown = "00000000-0000-7000-8000-000000000009"
    load(operator, "payout-groups", *(eth(each) for each in (GROUP, SECOND, THIRD)))
    load(operator, "claims", confirmed(day(10), "7"))
    load(operator, "claims", confirmed(day(3), "2", payout_group_id=unknown, asset_type="ETH"))
    holds(operator, SECOND, (day(5), "8"))
    rows = ran(operator, "reconciliation")
    assert only(rows, *(name for name in COLUMNS if name != "month")) == [
        (GROUP, None, "ETH", "ETHEREUM", Decimal(7), None, 1, None, 0.0, None, None),
        (SECOND, None, "ETH", "ETHEREUM", Decimal(0), 8.0, 6, 0.0, 0.0, None, True),
        (THIRD, None, "ETH", "ETHEREUM", Decimal(0), None, None, None, 0.0, None, None),
        (unknown, None, "ETH", None, Decimal(2), None, 8, None, None, None, None),
    ]
    assert ran(operator, "reconciliation", "2026-02") == rows
    (*_, last) = only(ran(operator, "reconciliation", "2027-01"), "claimed", "days", *RATES)
    assert last == (Decimal(0), None, None, None, None, None)


def test_claims_without_holdings_are_outside_the_tolerance(operator: comptroller.Service) -> None:
    load(operator, "payout-groups", *(eth(each) for each in (GROUP, SECOND)))
    for owner in (GROUP, SECOND):
        holds(operator, owner, (day(1), "0"))
    load(operator, "claims", confirmed(day(2)))
    assert only(ran(operator, "reconciliation"), "average_holdings", *RATES) == [
        (0.0, None, None, None, False),
        (0.0, None, None, None, None),
    ]


def test_months_before_the_first_record_are_not_listed(operator: comptroller.Service) -> None:
    load(operator, "payout-groups", *(eth(each) for each in (GROUP, SECOND)))
    load(operator, "claims", confirmed(day(31, 1)), confirmed(day(1, 4), payout_group_id=SECOND))
    assert only(ran(operator, "reconciliation"), *KEYS) == [
        (GROUP, day(1, 1).date()),
        (GROUP, day(1, 4).date()),  # nothing happened in a month between
        (SECOND, day(1, 4).date()),
    ]


def test_only_confirmed_claims_count_by_their_confirmation(operator: comptroller.Service) -> None:
    load(
        operator,
        "claims",
        confirmed(day(1, 3) - MICROSECOND, "2", created_at=day(1, 5), submitted_at=day(1, 4)),
        confirmed(day(1, 3), "4", created_at=day(1, 1)),
        confirmed(None, "8"),
        confirmed(day(2), "16", onchain_status="FAILED"),
        confirmed(day(2), "32", onchain_status="SUBMITTED"),
    )
    claimed = only(ran(operator, "reconciliation"), "month", "claimed")
    assert claimed == [(day(1).date(), Decimal(2)), (day(1, 3).date(), Decimal(4))]
    rows = ran(operator, "reconciliation", until="2026-05-01")
    assert only(rows, "month", "claimed") == [(day(1, 3).date(), Decimal(4))]


def test_no_claims_give_no_rows(operator: comptroller.Service) -> None:
    assert ran(operator, "reconciliation") == []
    assert ran(operator, "reconciliation", "2026-02") == []
    load(operator, "payout-groups", eth(GROUP))
    assert ran(operator, "reconciliation") == []  # there is no month
    (row,) = ran(operator, "reconciliation", "2026-02")
    assert (row["claimed"], row["average_holdings"], row["days"]) == (0, None, None)


def test_extreme_times_and_amounts_are_reconciled(operator: comptroller.Service) -> None:
    load(operator, "payout-groups", *(eth(each) for each in (GROUP, SECOND)))
    last = datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)
    holds(operator, GROUP, (day(1, 1, 1), LARGEST))
    holds(operator, SECOND, (last, "0.000000000000000001"))
    load(operator, "claims", confirmed(last, LARGEST), confirmed(day(1, 1, 1969), LARGEST))
    rows = ran(operator, "reconciliation")
    most = pytest.approx(1e20, rel=1e-15)
    assert only(rows, *KEYS, "average_holdings", "days", "annual_rate") == [
        (GROUP, day(1, 1, 1).date(), most, 31, 0.0),
        (GROUP, day(1, 1, 1969).date(), most, 31, pytest.approx(365 / 31)),
        (GROUP, day(1, 12, 9999).date(), most, 31, pytest.approx(365 / 31)),
        (SECOND, day(1, 12, 9999).date(), pytest.approx(1e-18), 1, 0.0),
    ]


def test_a_sample_matches_fractions(operator: comptroller.Service, tmp_path: Path) -> None:
    fill(operator, tmp_path, claims=3_000, seed=12)
    owners = {each.id: each.payout_group_id for each in operator.reward_addresses.iter()}
    stood: dict[str, list[tuple[datetime, Decimal]]] = defaultdict(list)
    for each in operator.balances.iter():
        stood[each.address_id].append((each.at, each.balance))
    claims = [each for each in operator.claims.iter() if each.onchain_status == "CONFIRMED"]
    seen = [
        *((each.payout_group_id, each.confirmed_at) for each in claims if each.confirmed_at),
        *((owners[owner], at) for owner, balances in stood.items() for at, _ in balances),
    ]
    newest = max(at for owner, at in seen if owner)
    begins, ends = day(1, 6), min(day(1, 7), day(newest.day, newest.month) + timedelta(1))
    rows = ran(operator, "reconciliation", "2026-06")
    assert len(rows) > 10
    rates: dict[Any, list[float]] = defaultdict(list)
    for row in rows:
        confirmed_then = [
            each.amount
            for each in claims
            if each.payout_group_id == row["group"]
            and each.confirmed_at
            and day(1, 6) <= each.confirmed_at < day(1, 7)
        ]
        with localcontext(prec=60):
            assert row["claimed"] == sum(confirmed_then, Decimal(0))
        first = min((at for owner, at in seen if owner == row["group"]), default=None)
        if first is not None:
            covered = ends - max(begins, first.replace(hour=0, minute=0, second=0, microsecond=0))
            assert row["days"] == covered.days
        mean = mean_of([stood[each] for each in owners if owners[each] == row["group"]], ends)
        assert row["average_holdings"] == (None if mean is None else pytest.approx(float(mean)))
        if mean:
            rate = Fraction(row["claimed"]) / mean * 365 / row["days"]
            assert row["annual_rate"] == pytest.approx(float(rate), rel=1e-13)
            rates[row["asset"], row["ledger"]].append(row["annual_rate"])
    for row in rows:
        alike = sorted(rates[row["asset"], row["ledger"]])
        median = alike[(len(alike) + 1) // 2 - 1] if alike else None
        assert row["median_rate"] == median
        if median and row["annual_rate"] is not None:
            assert row["deviation"] == pytest.approx(row["annual_rate"] / median - 1)
            assert row["within_tolerance"] == (abs(row["deviation"]) <= 0.05)


def mean_of(addresses: list[list[tuple[datetime, Decimal]]], until: datetime) -> Fraction | None:
    """Returns the holdings by time, from the first balance or the first of June on."""
    begins = max(
        day(1, 6), min((at for balances in addresses for at, _ in balances), default=until)
    )
    if begins >= until:
        return None
    held = Fraction(0)
    for balances in addresses:
        moments = sorted(balances)
        ends = [*(at for at, _ in moments[1:]), until]
        for (at, value), end in zip(moments, ends, strict=False):
            lasted = min(end, until) - max(at, begins)
            held += Fraction(value) * max(lasted // MICROSECOND, 0)
    return held / ((until - begins) // MICROSECOND)


def test_an_oversized_sum_is_null(operator: comptroller.Service) -> None:
    holds(operator, GROUP, (day(1), LARGEST))
    load(operator, "claims", confirmed(day(3), LARGEST))
    (row,) = operator.reports.reconciliation().to_dicts()
    assert row["claimed"] == Decimal(LARGEST)
    assert row["average_holdings"] == pytest.approx(1e20, rel=1e-15)
    load(operator, "claims", confirmed(day(4), "0.000000000000000001"))
    load(operator, "claims", confirmed(day(5), "1", payout_group_id=SECOND))
    rows = {row["group"]: row for row in ran(operator, "reconciliation")}
    assert rows[GROUP]["average_holdings"] == pytest.approx(1e20, rel=1e-15)
    columns = ("claimed", "annual_rate", "within_tolerance")
    assert only([rows[GROUP]], *columns) == [(None, None, None)]
    assert rows[SECOND]["claimed"] == 1


def test_oversized_holdings_have_a_mean(operator: comptroller.Service) -> None:
    for each in (LARGEST, "0.000000000000000001", LARGEST):
        holds(operator, GROUP, (day(1), each))
    (row,) = ran(operator, "reconciliation")
    assert row["average_holdings"] == pytest.approx(2e20, rel=1e-15)


def test_claims_of_another_asset_are_compared_separately(
    operator: comptroller.Service,
) -> None:
    load(operator, "payout-groups", eth(GROUP))
    holds(operator, GROUP, (day(1), "36500"))
    load(
        operator,
        "claims",
        confirmed(day(28), "1"),  # of the group's asset
        confirmed(day(28), "2", asset_type="ETH"),
        confirmed(day(28), "4", asset_type="RPL"),
    )
    rows = ran(operator, "reconciliation")
    assert only(rows, "asset", "claimed", "average_holdings", "within_tolerance") == [
        ("ETH", Decimal(3), 36500.0, True),
        ("RPL", Decimal(4), None, None),
    ]


def test_columns_have_their_types(operator: comptroller.Service) -> None:
    assert dict(operator.reports.reconciliation().to_polars().schema) == {
        "group": polars.String,
        "group_name": polars.String,
        "month": polars.Date,
        "asset": polars.String,
        "ledger": polars.String,
        "claimed": MONEY,
        "average_holdings": polars.Float64,
        "days": polars.Int64,
        "annual_rate": polars.Float64,
        "median_rate": polars.Float64,
        "deviation": polars.Float64,
        "within_tolerance": polars.Boolean,
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"month": "May"}, "month: must be a month such as 2026-05"),
        ({"tolerance": -0.1}, "tolerance: must be a finite number"),
        ({"tolerance": float("nan")}, "tolerance: must be a finite number"),
        ({"tolerance": "5%"}, "tolerance: must be a number"),
    ],
)
def test_invalid_arguments_of_the_summary_are_refused(
    operator: comptroller.Service, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(comptroller.InvalidRequest, match=message):
        operator.reports.reconciliation(**given)


def test_a_sample_is_plausible(operator: comptroller.Service, tmp_path: Path) -> None:
    fill(operator, tmp_path, claims=10_000, seed=7)
    rows = ran(operator, "reconciliation", "2026-06")
    deviations = sorted(abs(row["deviation"]) for row in rows if row["claimed"])
    assert len(deviations) > 40
    assert deviations[len(deviations) // 2] < 0.05
    assert deviations[-1] < 1
    assert all(0 < row["annual_rate"] < 0.15 for row in rows if row["claimed"])
