"""The statement of a group: its holdings before and after each day, and its claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any
from uuid import uuid4

import comptroller
import polars
import pytest
from lines import address, balance, claim, group, load
from report_stores import fill
from reporting import MONEY, only, ran

FIGURES = ("opening_holdings", "claims", "claimed", "closing_holdings", "last_claim")
LARGEST = "99999999999999999999.999999999999999999"
LEAST = Decimal("0.000000000000000001")
GROUP, OTHER = (str(uuid4()) for _ in range(2))
FIRST, SECOND, FOREIGN = (str(uuid4()) for _ in range(3))
Snapshot = tuple[str, datetime, Decimal]


def day(number: int, month: int = 2, year: int = 2026) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


def confirmed(at: str | datetime | None, amount: str = "1", **members: Any) -> dict[str, Any]:
    given = {"payout_group_id": GROUP, "onchain_status": "CONFIRMED", "amount": amount}
    return claim(**(given | {"confirmed_at": at} | members))


def stood(owner: str, at: str, value: str) -> dict[str, Any]:
    return balance(address_id=owner, at=at, balance=value)


@pytest.fixture
def furnished(operator: comptroller.Service) -> comptroller.Service:
    """A group with two addresses, and another with one."""
    load(operator, "payout-groups", group(id=GROUP), group(id=OTHER))
    owners = ((FIRST, GROUP), (SECOND, GROUP), (FOREIGN, OTHER))
    made = [address(id=each, payout_group_id=owner) for each, owner in owners]
    load(operator, "reward-addresses", *made)
    return operator


def of(svc: comptroller.Service, month: str = "2026-02", **how: Any) -> list[dict[str, Any]]:
    return ran(svc, "group_statement", GROUP, month, **how)


def test_each_day_opens_with_the_closing_holdings_of_the_day_before(
    furnished: comptroller.Service,
) -> None:
    load(
        furnished,
        "balances",
        stood(FIRST, "2026-01-15T00:00:00Z", "9"),
        stood(FIRST, "2026-01-31T23:59:59.999999Z", "10"),
        stood(FIRST, "2026-02-02T00:00:00Z", "11"),  # of the second day: it opens with 10
        stood(FIRST, "2026-02-02T18:00:00Z", "0.000000000000000001"),
        stood(SECOND, "2026-02-28T23:59:59.999999Z", "5"),
        stood(SECOND, "2026-03-01T00:00:00Z", "7"),
        stood(FOREIGN, "2026-01-01T00:00:00Z", "1000"),
    )
    rows = of(furnished)
    assert list(rows[0]) == [*("day", "asset", *FIGURES, "last_claim_at", "group", "group_name")]
    assert [row["day"] for row in rows] == [*(day(n).date() for n in range(1, 29)), None]
    least = Decimal("0.000000000000000001")
    opening = [Decimal(10), Decimal(10), *[least] * 26]
    closing = [*opening[1:], least + 5]
    expected = [*zip(opening, closing, strict=True), (Decimal(10), least + 5)]
    assert only(rows, "opening_holdings", "closing_holdings") == expected


def test_a_day_begins_with_the_first_of_two_midnights(furnished: comptroller.Service) -> None:
    """In the Azores the clocks went from 01:00 back to 00:00 on 25 October 2026."""
    load(
        furnished,
        "claims",
        confirmed("2026-10-24T23:59:59Z", "4"),  # the local 23:59:59 of the 24th
        confirmed("2026-10-25T00:30:00Z", "1"),
        confirmed("2026-10-25T01:30:00Z", "2"),
        confirmed("2026-10-26T00:59:59Z", "8"),
    )
    zone = {"tz": "Atlantic/Azores"}
    rows = [row for row in of(furnished, "2026-10", **zone) if row["claims"] and row["day"]]
    assert [(row["day"].day, row["claimed"]) for row in rows] == [(24, 4), (25, 11)]


def test_claims_are_those_confirmed_on_the_day(furnished: comptroller.Service) -> None:
    load(
        furnished,
        "claims",
        confirmed("2026-01-31T23:59:59.999999Z"),
        confirmed("2026-02-03T00:00:00Z", "0.000000000000000001", id="a"),
        confirmed("2026-02-03T23:59:59.999999Z", "2", id="b"),
        confirmed("2026-02-03T23:59:59.999999Z", "0", id="c"),  # at equal times the greatest id
        confirmed("2026-02-28T23:59:59.999999Z", "4", id="d", created_at="2026-05-01T00:00:00Z"),
        confirmed("2026-03-01T00:00:00Z"),
        confirmed("2026-02-09T00:00:00Z", onchain_status="FAILED"),
        confirmed("2026-02-09T00:00:00Z", onchain_status="SUBMITTED"),
        confirmed("2026-02-09T00:00:00Z", payout_group_id=OTHER),
        confirmed(None),
    )
    rows = [row for row in of(furnished) if row["claims"]]
    late = datetime(2026, 2, 28, 23, 59, 59, 999999, UTC)
    assert only(rows, "day", "claims", "claimed", "last_claim", "last_claim_at") == [
        (
            day(3).date(),
            3,
            Decimal("2.000000000000000001"),
            "c",
            day(4) - timedelta(microseconds=1),
        ),
        (day(28).date(), 1, Decimal(4), "d", late),
        (None, 4, Decimal("6.000000000000000001"), "d", late),
    ]
    (total,) = of(furnished, until="2026-05-01")[-1:]
    assert (total["claims"], total["last_claim"]) == (3, "c")


def test_a_group_without_records_has_days_without_claims(operator: comptroller.Service) -> None:
    load(operator, "payout-groups", group(id=GROUP))
    nothing = (None, 0, Decimal(0), None, None, None)
    for month, days in (("2024-02", 29), ("0001-01", 31), ("9999-12", 31), ("1969-04", 30)):
        rows = of(operator, month)
        assert only(rows, *FIGURES, "last_claim_at") == [nothing] * (days + 1)
        year, number = map(int, month.split("-"))
        assert rows[0]["day"] == day(1, number, year).date()
        assert rows[-2]["day"] == day(days, number, year).date()


def test_a_group_known_only_from_claims_or_addresses_has_a_statement(
    operator: comptroller.Service,
) -> None:
    load(operator, "claims", confirmed("2026-02-03T00:00:00Z", "2"))
    assert only(of(operator)[-1:], "claims", "claimed") == [(1, Decimal(2))]
    load(operator, "reward-addresses", address(id=FIRST, payout_group_id=OTHER))
    assert len(ran(operator, "group_statement", OTHER.upper(), "2026-02")) == 29


def test_an_unknown_group_is_not_found(operator: comptroller.Service) -> None:
    with pytest.raises(comptroller.NotFound, match="there is no payout group nobodys"):
        operator.reports.group_statement("nobodys", "2026-02")


def test_unordered_times_change_nothing(furnished: comptroller.Service) -> None:
    reversed = {"submitted_at": "2026-02-20T00:00:00Z", "created_at": "2026-03-20T00:00:00Z"}
    load(furnished, "claims", confirmed("2026-02-03T00:00:00Z", **reversed))
    assert only(of(furnished)[2:3], "day", "claims") == [(day(3).date(), 1)]


def test_claims_of_another_asset_are_separate(operator: comptroller.Service) -> None:
    load(operator, "payout-groups", group(id=GROUP, asset_type="ETH"))
    load(operator, "reward-addresses", address(id=FIRST, payout_group_id=GROUP))
    load(operator, "balances", stood(FIRST, "2026-01-01T00:00:00Z", "7"))
    load(
        operator,
        "claims",
        confirmed("2026-02-03T00:00:00Z", "1"),  # of the group's asset
        confirmed("2026-02-03T00:00:00Z", "2", asset_type="ETH"),
        confirmed("2026-02-03T00:00:00Z", "4", asset_type="RPL"),
    )
    rows = of(operator)
    assert len(rows) == 2 * 29
    assert only(rows[-2:], "asset", "opening_holdings", "claims", "claimed") == [
        ("ETH", Decimal(7), 2, Decimal(3)),
        ("RPL", None, 1, Decimal(4)),
    ]


def newest(snapshots: Sequence[Snapshot], before: datetime) -> Decimal | None:
    """Returns the holdings of all addresses before a time; None if none is known."""
    standing = {owner: value for owner, at, value in sorted(snapshots) if at < before}
    with localcontext(prec=60):
        return sum(standing.values(), Decimal(0)) if standing else None


def test_a_sample_matches_plain_python(operator: comptroller.Service, tmp_path: Path) -> None:
    fill(operator, tmp_path, claims=2_000, seed=8)
    owners = {each.id: each.payout_group_id for each in operator.reward_addresses.iter()}
    snapshots: dict[str | None, list[Snapshot]] = defaultdict(list)
    for each in operator.balances.iter():
        snapshots[owners[each.address_id]].append((each.address_id, each.at, each.balance))
    claimed: dict[str, list[tuple[datetime, str, Decimal]]] = defaultdict(list)
    for one in operator.claims.iter():
        if one.confirmed_at and one.onchain_status == "CONFIRMED":
            claimed[one.payout_group_id].append((one.confirmed_at, one.id, one.amount))
    busiest = sorted(claimed, key=lambda each: len(claimed[each]) + len(snapshots[each]))[-4:]
    for busy in busiest:
        expected = []
        for begins, ends in [*((day(n, 6), day(n, 6) + timedelta(1)) for n in range(1, 31)), MONTH]:
            within = sorted(each for each in claimed[busy] if begins <= each[0] < ends)
            opening, closing = newest(snapshots[busy], begins), newest(snapshots[busy], ends)
            with localcontext(prec=60):
                total = sum((amount for *_, amount in within), Decimal(0))
            last = within[-1][1] if within else None
            expected.append((opening, len(within), total, closing, last))
        assert only(ran(operator, "group_statement", busy, "2026-06"), *FIGURES) == expected
        assert expected[-1][0] != expected[-1][3]


MONTH = (day(1, 6), day(1, 7))


def test_an_oversized_sum_is_null(furnished: comptroller.Service) -> None:
    load(furnished, "balances", stood(FIRST, "2026-02-01T00:00:00Z", LARGEST))
    load(furnished, "balances", stood(FIRST, "2026-02-02T00:00:00Z", LARGEST))
    load(furnished, "claims", confirmed("2026-02-03T00:00:00Z", LARGEST))
    (*_, total) = furnished.reports.group_statement(GROUP, "2026-02").to_dicts()
    assert total["claimed"] == total["closing_holdings"] == Decimal(LARGEST)
    load(furnished, "claims", confirmed("2026-02-04T00:00:00Z", f"{LEAST:f}"))
    *days, total = ran(furnished, "group_statement", GROUP, "2026-02")
    assert (total["claimed"], total["closing_holdings"]) == (None, Decimal(LARGEST))
    assert [row["claimed"] for row in days[1:4]] == [0, Decimal(LARGEST), LEAST]
    load(furnished, "balances", stood(SECOND, "2026-01-01T00:00:00Z", f"{LEAST:f}"))
    first, *_, total = ran(furnished, "group_statement", GROUP, "2026-02")
    assert only([first, total], "opening_holdings", "closing_holdings") == [
        (LEAST, None),
        (LEAST, None),
    ]


def test_columns_have_their_types(furnished: comptroller.Service) -> None:
    statement = furnished.reports.group_statement(GROUP, "2026-02")
    assert dict(statement.to_polars().schema) == {
        "day": polars.Date,
        "asset": polars.String,
        "opening_holdings": MONEY,
        "claims": polars.Int64,
        "claimed": MONEY,
        "closing_holdings": MONEY,
        "last_claim": polars.String,
        "last_claim_at": polars.Datetime("us", "UTC"),
        "group": polars.String,
        "group_name": polars.String,
    }


@pytest.mark.parametrize(
    "month", ["2026", "2026-2", "2026-13", "2026-00", "0000-01", "2026-02-01", " 2026-02", 202602]
)
def test_an_invalid_month_is_refused(operator: comptroller.Service, month: Any) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="month: must be a month such as 2026-05"):
        operator.reports.group_statement(GROUP, month)


def test_a_client_may_not_read_balances(acme: comptroller.Service) -> None:
    with pytest.raises(comptroller.Forbidden):
        acme.reports.group_statement(GROUP, "2026-02")
