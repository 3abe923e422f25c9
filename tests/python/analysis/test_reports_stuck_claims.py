"""Stuck claims: thresholds by chain, ages, and invalid arguments."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

import comptroller
import polars
import pytest
from lines import START, at, claim, load
from reporting import MONEY, only, ran

COLUMNS = ("id", "group", "chain", "status", "amount", "age_seconds", "threshold_seconds")
ALL = (*COLUMNS[:2], "group_name", *COLUMNS[2:4], "asset", *COLUMNS[4:])
GROUP = "01900000-0000-7000-8000-0000000000aa"
NOW = at(days=1)


def confirmed(took: float, chain: str | None, **members: Any) -> dict[str, Any]:
    """Returns a claim of a chain that took `took` seconds."""
    given = {"onchain_status": "CONFIRMED", "submitted_at": at(0), "confirmed_at": at(took)}
    return claim(**{**given, "blockchain": chain, "updated_at": at(0), **members})


def submitted(id: str, second: float, chain: str | None, **members: Any) -> dict[str, Any]:
    """Returns a claim of a chain that was submitted at a time, and created long before."""
    given = {"onchain_status": "SUBMITTED", "submitted_at": at(second), "payout_group_id": GROUP}
    return claim(**{**given, "id": id, "blockchain": chain, "updated_at": NOW, **members})


def test_the_oldest_stuck_claims_come_first(operator: comptroller.Service) -> None:
    day = 86_400
    load(
        operator,
        "claims",
        *(confirmed(took, "INK") for took in range(1, 101)),
        submitted("at-it", day - 99, "INK"),
        submitted("past-it", day - 99.000001, "INK", amount="0.000000000000000001"),
        confirmed(5, None),
        submitted("no-chain", day - 6, None),
        submitted("b-same-age", day - 6, None),
        submitted("new-here", 0, "SOLANA"),  # on a chain without a confirmed claim
        confirmed(2, "BASE"),
        claim(id="pending", blockchain="BASE", payout_group_id=GROUP, updated_at=START),
        submitted("unknown", 0, "BASE", submitted_at=None, created_at=at(60)),
        claim(id="failed", blockchain="BASE", onchain_status="FAILED"),
    )
    rows = ran(operator, "stuck_claims")
    assert list(rows[0]) == list(ALL)
    least = Decimal("0.000000000000000001")
    assert only(rows, *COLUMNS) == [
        ("pending", GROUP, "BASE", "PENDING", Decimal("1.5"), 86_400.0, 2.0),
        ("unknown", GROUP, "BASE", "SUBMITTED", Decimal("1.5"), 86_340.0, 2.0),
        ("past-it", GROUP, "INK", "SUBMITTED", least, 99.000001, 99.0),
        ("b-same-age", GROUP, None, "SUBMITTED", Decimal("1.5"), 6.0, 5.0),
        ("no-chain", GROUP, None, "SUBMITTED", Decimal("1.5"), 6.0, 5.0),
    ]


def test_a_pending_claim_waits_since_its_creation(operator: comptroller.Service) -> None:
    load(
        operator,
        "claims",
        confirmed(1, "INK"),
        submitted("a", 86_000, "INK", onchain_status="PENDING"),
        submitted("b", 86_000, "INK"),
    )
    rows = ran(operator, "stuck_claims")
    assert only(rows, "id", "age_seconds") == [("a", 86_400.0), ("b", 400.0)]


def test_waiting_claims_do_not_change_the_threshold(
    operator: comptroller.Service,
) -> None:
    stuck = [submitted(f"{n}", n, "INK") for n in range(10)]
    load(operator, "claims", confirmed(1, "INK"), confirmed(2, "INK"), *stuck)
    rows = ran(operator, "stuck_claims")
    assert len(rows) == 10
    assert {row["threshold_seconds"] for row in rows} == {2.0}


@pytest.mark.parametrize("as_of", ["2026-01-01T00:00:10Z", at(10)])
def test_as_of_sets_the_ages(operator: comptroller.Service, as_of: Any) -> None:
    load(operator, "claims", confirmed(2, "INK"), *(submitted(f"{n}", n, "INK") for n in (5, 9)))
    assert only(ran(operator, "stuck_claims", as_of), "id", "age_seconds") == [("5", 5.0)]
    for report in (operator.reports.stuck_claims(), operator.reports.confirmation_times()):
        assert f"as of {NOW:%Y-%m-%d %H:%M:%S} UTC" in report.summary


@pytest.mark.parametrize("count", [1, 2, 3, 99, 100, 101, 250])
@pytest.mark.parametrize("share", [0.5, 0.99, 0.07, 0.29, 0.999999, 0.000001, 1, 1.0])
def test_the_threshold_is_the_nearest_rank_exactly(
    operator: comptroller.Service, count: int, share: float
) -> None:
    claims = [confirmed(n, "INK") for n in range(1, count + 1)]
    load(operator, "claims", *claims, submitted("stuck", 0, "INK"))
    (row,) = ran(operator, "stuck_claims", percentile=share)
    assert row["threshold_seconds"] == ceil(Fraction(str(share)) * count)


def test_without_waiting_claims_there_is_no_row(operator: comptroller.Service) -> None:
    assert ran(operator, "stuck_claims") == []
    load(operator, "claims", claim(onchain_status="FAILED", blockchain="INK"))
    assert ran(operator, "stuck_claims") == []
    load(operator, "claims", claim(blockchain="INK", updated_at=NOW))
    assert ran(operator, "stuck_claims") == []
    load(operator, "claims", confirmed(1, "INK", submitted_at=None))
    assert ran(operator, "stuck_claims") == []
    load(operator, "claims", confirmed(1, "INK"))
    assert len(ran(operator, "stuck_claims")) == 1


def test_negative_times_count_unchanged(operator: comptroller.Service) -> None:
    load(operator, "claims", confirmed(-5, "INK"), submitted("future", 86_403, "INK"))
    rows = ran(operator, "stuck_claims")
    assert only(rows, "age_seconds", "threshold_seconds") == [(-3.0, -5.0)]


def test_a_period_bounds_waiting_and_confirmed_claims(
    operator: comptroller.Service,
) -> None:
    load(
        operator,
        "claims",
        confirmed(100_000, "INK"),
        confirmed(1, "INK", created_at=at(days=1)),
        submitted("before", 86_000, "INK"),
        submitted("in", 86_000, "INK", created_at=at(days=1)),
        submitted("after", 86_000, "INK", created_at=at(days=2)),
    )
    assert ran(operator, "stuck_claims") == []
    rows = ran(operator, "stuck_claims", since="2026-01-02", until="2026-01-03")
    assert only(rows, "id", "threshold_seconds") == [("in", 1.0)]


def test_a_sample_has_those_that_a_walk_finds(operator: comptroller.Service) -> None:
    operator.load("claims", comptroller.sample("claims", rows=3_000, seed=7))
    claims = list(operator.claims.iter())
    newest = max(each.updated_at for each in claims)
    times: dict[str | None, list[Any]] = {}
    for each in claims:
        if each.onchain_status == "CONFIRMED" and each.confirmed_at and each.submitted_at:
            took = each.confirmed_at - each.submitted_at
            times.setdefault(each.blockchain, []).append(took)
    limits = {
        chain: sorted(each)[(len(each) * 99 + 99) // 100 - 1] for chain, each in times.items()
    }
    found = {}
    for each in claims:
        began = each.created_at if each.onchain_status == "PENDING" else each.submitted_at
        limit = limits.get(each.blockchain)
        waits = each.onchain_status in ("PENDING", "SUBMITTED")
        if waits and began and limit is not None and newest - began > limit:
            found[each.id] = (newest - began, limit)
    rows = ran(operator, "stuck_claims")
    assert rows
    assert {row["id"]: (row["age_seconds"], row["threshold_seconds"]) for row in rows} == {
        id: (age.total_seconds(), limit.total_seconds()) for id, (age, limit) in found.items()
    }


def test_columns_have_their_types(operator: comptroller.Service) -> None:
    schema = dict(operator.reports.stuck_claims().to_polars().schema)
    assert list(schema) == list(ALL)
    assert schema.pop("amount") == MONEY
    assert {schema.pop("age_seconds"), schema.pop("threshold_seconds")} == {polars.Float64}
    assert set(schema.values()) == {polars.String}


@pytest.mark.parametrize("percentile", [0, -0.5, 1.01, 99, 0.1234567, "much", None, float("nan")])
def test_an_invalid_percentile_is_refused(operator: comptroller.Service, percentile: Any) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="percentile: must be above 0"):
        operator.reports.stuck_claims(percentile=percentile)


def test_an_invalid_time_is_refused(operator: comptroller.Service) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="as_of: must be a date such as"):
        operator.reports.stuck_claims("now")
