"""Cohorts: groups by the month of their first claim, and whether they still claim."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from decimal import Decimal, localcontext
from random import Random
from typing import Any
from uuid import uuid4

import comptroller
import polars
import pytest
from lines import at, claim, load
from reporting import MONEY, only, ran

COLUMNS = ("month", "age_months", "groups", "confirmed_amount")
ALL = ("month", "age_months", "asset", "groups", "confirmed_amount")
LARGEST = "99999999999999999999.999999999999999999"
OLD, YOUNG, LATE = (str(uuid4()) for _ in range(3))


def month(year: int, number: int) -> date:
    return date(year, number, 1)


def of(group: str, created_at: str, amount: str = "1", **members: Any) -> dict[str, Any]:
    given = {"payout_group_id": group, "created_at": created_at, "amount": amount}
    return claim(**{**given, "onchain_status": "CONFIRMED", **members})


@pytest.fixture
def claims(operator: comptroller.Service) -> comptroller.Service:
    """Three groups whose first claims are in two months, across the end of a year."""
    load(
        operator,
        "claims",
        of(OLD, "2025-11-30T23:59:59.999999Z", "0.000000000000000001"),
        of(OLD, "2025-11-01T00:00:00Z", "2"),
        of(OLD, "2026-02-28T12:00:00Z", "3", onchain_status="FAILED"),
        of(YOUNG, "2025-11-15T00:00:00Z", "4"),
        of(LATE, "2025-12-01T00:00:00Z", "5"),
        of(LATE, "2026-01-31T23:59:59Z", "6"),
        of(LATE, "2026-01-01T00:00:00Z", "7"),
    )
    return operator


def test_the_age_of_a_group_counts_from_its_first_claim(claims: comptroller.Service) -> None:
    rows = ran(claims, "cohort")
    assert list(rows[0]) == [*ALL, "waiting_amount", "failed_amount"]
    assert only(rows, *COLUMNS) == [
        (month(2025, 11), 0, 2, Decimal("6.000000000000000001")),
        (month(2025, 11), 3, 1, Decimal(0)),  # no group claimed in the months between
        (month(2025, 12), 0, 1, Decimal(5)),
        (month(2025, 12), 1, 1, Decimal(13)),
    ]


def test_in_a_period_the_first_claim_is_that_of_the_period(claims: comptroller.Service) -> None:
    rows = ran(claims, "cohort", since="2025-12-01", until="2026-02-01")
    assert only(rows, *COLUMNS) == [
        (month(2025, 12), 0, 1, Decimal(5)),
        (month(2025, 12), 1, 1, Decimal(13)),
    ]


def test_each_asset_has_its_own_cohorts(operator: comptroller.Service) -> None:
    load(
        operator,
        "claims",
        of(OLD, "2026-01-01T00:00:00Z", "1", asset_type="ETH"),
        of(OLD, "2026-02-01T00:00:00Z", "2", asset_type="ETH"),
        of(OLD, "2026-02-01T00:00:00Z", "4", asset_type="RPL"),
        of(YOUNG, "2026-02-01T00:00:00Z", "8", asset_type="RPL"),
    )
    assert only(ran(operator, "cohort"), *ALL) == [
        (month(2026, 1), 0, "ETH", 1, Decimal(1)),
        (month(2026, 1), 1, "ETH", 1, Decimal(2)),
        (month(2026, 2), 0, "RPL", 2, Decimal(12)),
    ]


def test_no_claims_give_no_rows(operator: comptroller.Service) -> None:
    assert ran(operator, "cohort") == []


def test_the_first_and_last_possible_months_are_supported(operator: comptroller.Service) -> None:
    load(operator, "claims", of(OLD, "0001-01-01T00:00:00Z"), of(OLD, "9999-12-31T23:59:59Z"))
    ages = only(ran(operator, "cohort"), "month", "age_months")
    assert ages == [(month(1, 1), 0), (month(1, 1), 9_999 * 12 - 1)]


def test_many_claims_match_plain_python(operator: comptroller.Service) -> None:
    chance = Random(9)
    groups = [str(uuid4()) for _ in range(40)]
    lines = [
        of(
            chance.choice(groups[: 1 + day // 20]),
            at(days=day).isoformat(),
            f"{Decimal(chance.getrandbits(90)).scaleb(-18):f}",
        )
        for day in range(800)
    ]
    load(operator, "claims", *lines)
    created: dict[str, list[tuple[int, Decimal]]] = defaultdict(list)
    for each in operator.claims.iter():
        months = each.created_at.year * 12 + each.created_at.month - 1
        created[each.payout_group_id].append((months, each.amount))
    active: dict[tuple[int, int], set[str]] = defaultdict(set)
    amounts: dict[tuple[int, int], Decimal] = defaultdict(Decimal)
    with localcontext(prec=60):
        for group, made in created.items():
            first = min(months for months, _ in made)
            for months, amount in made:
                active[first, months - first].add(group)
                amounts[first, months - first] += amount
    expected = [
        (month(first // 12, first % 12 + 1), age, len(active[first, age]), amounts[first, age])
        for first, age in sorted(active)
    ]
    assert only(ran(operator, "cohort"), *COLUMNS) == expected


def test_an_oversized_sum_is_null(operator: comptroller.Service) -> None:
    load(
        operator,
        "claims",
        of(OLD, "2026-01-01T00:00:00Z", LARGEST),
        of(OLD, "2026-02-01T00:00:00Z", LARGEST),
    )
    assert len(operator.reports.cohort()) == 2
    load(operator, "claims", of(YOUNG, "2026-01-02T00:00:00Z", "0.000000000000000001"))
    assert only(ran(operator, "cohort"), *COLUMNS[2:]) == [(2, None), (1, Decimal(LARGEST))]
    load(operator, "claims", of(OLD, "2026-01-03T00:00:00Z", "0.000000000000000001"))
    assert only(ran(operator, "cohort"), *COLUMNS[2:]) == [(2, None), (1, Decimal(LARGEST))]


def test_columns_have_their_types(operator: comptroller.Service) -> None:
    assert dict(operator.reports.cohort().to_polars().schema) == {
        "month": polars.Date,
        "age_months": polars.Int64,
        "asset": polars.String,
        "groups": polars.Int64,
        "confirmed_amount": MONEY,
        "waiting_amount": MONEY,
        "failed_amount": MONEY,
    }
