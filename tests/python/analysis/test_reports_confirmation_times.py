"""Confirmation times: percentiles that include waiting claims, and invalid arguments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import comptroller
import polars
import pytest
from hypothesis import example, given, settings, strategies as st
from lines import START, at, claim, group, load
from reporting import only, over, ran

FIGURES = ("confirmed", "waiting", "p50_seconds", "p90_seconds", "p99_seconds")
AS_OF = at(1_000)


def confirmed(took: float, **members: Any) -> dict[str, Any]:
    """Returns a claim that took `took` seconds."""
    given = {"onchain_status": "CONFIRMED", "submitted_at": at(0), "confirmed_at": at(took)}
    return claim(**{**given, "created_at": START, "updated_at": at(0), **members})


def waiting(age: float, **members: Any) -> dict[str, Any]:
    """Returns a claim that has waited for `age` seconds at AS_OF, the time of its last change."""
    submitted = AS_OF - timedelta(seconds=age)
    given = {"onchain_status": "SUBMITTED", "submitted_at": submitted, "updated_at": AS_OF}
    return claim(**given, **members)


def percentile(times: Sequence[tuple[int, bool]], percent: int) -> int | None:
    """The definition of Kaplan and Meier, in fractions, from times and whether they ended."""
    survivors = Fraction(1)
    for time in sorted({took for took, ended in times if ended}):
        at_risk = sum(took >= time for took, _ in times)
        survivors *= 1 - Fraction(times.count((time, True)), at_risk)
        if survivors <= 1 - Fraction(percent, 100) + Fraction(1, 10**12):
            return time
    return None


def figures(times: Sequence[tuple[int, bool]]) -> tuple[float | None, ...]:
    """Returns the percentiles of times in microseconds."""
    percentiles = (percentile(times, percent) for percent in (50, 90, 99))
    ended = sum(ended for _, ended in times)
    seconds = (None if each is None else each / 1_000_000 for each in percentiles)
    return (ended, len(times) - ended, *seconds)


def test_waiting_claims_count_as_longer_times(operator: comptroller.Service) -> None:
    load(
        operator,
        "claims",
        *(confirmed(took, blockchain="BASE") for took in range(1, 101)),
        *(confirmed(took, blockchain="INK") for took in (1, 2, 3, 4)),
        waiting(2.5, blockchain="INK"),
        *(confirmed(took, blockchain="SOLANA") for took in (1, 2)),
        waiting(2, blockchain="SOLANA"),  # still at risk when the other was confirmed
        waiting(7, blockchain="XLAYER"),
        confirmed(5),
        waiting(9),
    )
    rows = ran(operator, "confirmation_times")
    assert list(rows[0]) == ["chain", *FIGURES]
    assert only(rows, "chain", *FIGURES) == [
        ("BASE", 100, 0, 50.0, 90.0, 99.0),
        ("INK", 4, 1, 3.0, 4.0, 4.0),  # S = 0.8, 0.6, 0.3, 0
        ("SOLANA", 2, 1, 2.0, None, None),  # S = 2/3, 1/3
        ("XLAYER", 0, 1, None, None, None),
        (None, 1, 1, 5.0, None, None),
    ]


def test_as_of_sets_the_end_of_the_wait(operator: comptroller.Service) -> None:
    load(operator, "claims", confirmed(3), confirmed(9), waiting(6))
    assert only(ran(operator, "confirmation_times", ()), *FIGURES) == [(2, 1, 9.0, 9.0, 9.0)]
    before = AS_OF - timedelta(seconds=4)  # when it had waited for two seconds
    for moment in (before, before.isoformat()):
        rows = ran(operator, "confirmation_times", (), moment)
        assert only(rows, *FIGURES) == [(2, 1, 3.0, 9.0, 9.0)]
    (row,) = ran(operator, "confirmation_times", (), "2027-01-01")
    assert (row["p50_seconds"], row["p90_seconds"]) == (9.0, None)


def test_claims_without_times_or_confirmation_are_omitted(
    operator: comptroller.Service,
) -> None:
    load(
        operator,
        "claims",
        confirmed(2),
        confirmed(9, submitted_at=None),
        confirmed(9, confirmed_at=None),
        claim(onchain_status="SUBMITTED"),
        claim(onchain_status="PENDING", submitted_at=at(0)),
        confirmed(9, onchain_status="FAILED"),
    )
    assert only(ran(operator, "confirmation_times", ()), *FIGURES) == [(1, 0, 2.0, 2.0, 2.0)]


def test_without_suitable_claims_there_is_no_row(operator: comptroller.Service) -> None:
    for by in ((), ("chain",), ("week", "jurisdiction")):
        assert ran(operator, "confirmation_times", by) == []
    load(operator, "claims", claim(onchain_status="FAILED"), claim())
    for by in ((), ("chain",), ("week", "jurisdiction")):
        assert ran(operator, "confirmation_times", by) == []


def test_negative_times_count_unchanged(operator: comptroller.Service) -> None:
    load(operator, "claims", confirmed(-2.5), confirmed(4))
    (row,) = ran(operator, "confirmation_times", ())
    assert only([row], *FIGURES) == [(2, 0, -2.5, 4.0, 4.0)]
    load(operator, "claims", waiting(-60))
    (row,) = ran(operator, "confirmation_times", ())
    assert only([row], *FIGURES) == [(2, 1, -2.5, 4.0, 4.0)]


def test_the_longest_possible_time_is_supported(operator: comptroller.Service) -> None:
    ends = {"submitted_at": "0001-01-01T00:00:00Z", "confirmed_at": "9999-12-31T23:59:59.999999Z"}
    load(operator, "claims", confirmed(0, **ends, created_at="0001-01-01T00:00:00Z"))
    (row,) = ran(operator, "confirmation_times", ("week",))
    assert row["week"] == date(1, 1, 1)
    assert row["p50_seconds"] == pytest.approx(315_537_897_599.999999, rel=1e-15)


def test_keys_may_be_unknown_values_and_missing_groups(operator: comptroller.Service) -> None:
    known = group(jurisdiction="CH")
    load(operator, "payout-groups", known)
    load(
        operator,
        "claims",
        confirmed(1, payout_group_id=known["id"], claim_type="CLAIM_SOME"),
        confirmed(2, claim_type="CLAIM_SOME"),
        waiting(3),
    )
    rows = ran(operator, "confirmation_times", ("claim_type", "jurisdiction"))
    assert only(rows, "claim_type", "jurisdiction", *FIGURES[:3]) == [
        ("CLAIM_ALL", None, 0, 1, None),
        ("CLAIM_SOME", "CH", 1, 0, 1.0),
        ("CLAIM_SOME", None, 1, 0, 2.0),
    ]


def test_a_period_bounds_the_creation(operator: comptroller.Service) -> None:
    load(operator, "claims", *(confirmed(n + 1, created_at=at(days=n)) for n in range(3)))
    rows = ran(operator, "confirmation_times", (), since="2026-01-02", until="2026-01-03")
    assert only(rows, *FIGURES) == [(1, 0, 2.0, 2.0, 2.0)]


@pytest.mark.parametrize("by", [(), ("chain", "week"), ("status",)])
def test_percentiles_of_a_sample_match_the_definition(
    operator: comptroller.Service, by: tuple[str, ...]
) -> None:
    operator.load("claims", comptroller.sample("claims", rows=2_000, seed=11))
    claims = list(operator.claims.iter())
    newest = max(each.updated_at for each in claims)
    times: dict[tuple[object, ...], list[tuple[int, bool]]] = defaultdict(list)
    for each in claims:
        ended = each.onchain_status == "CONFIRMED"
        until = each.confirmed_at if ended else newest
        if each.onchain_status in ("CONFIRMED", "SUBMITTED") and each.submitted_at and until:
            began = each.created_at.date()
            key_values = {
                "chain": each.blockchain,
                "week": began - timedelta(days=began.weekday()),
                "status": each.onchain_status,
            }
            took = (until - each.submitted_at) // timedelta(microseconds=1)
            times[tuple(key_values[key] for key in by)].append((took, ended))
    rows = ran(operator, "confirmation_times", by)
    found = {tuple(row[key] for key in by): only([row], *FIGURES)[0] for row in rows}
    assert found == {key: figures(each) for key, each in times.items()}
    assert any(row["waiting"] for row in rows)


@given(st.lists(st.tuples(st.integers(-2, 12), st.booleans()), min_size=1, max_size=40))
@settings(max_examples=10)
@example([(1, True)] * 9 + [(1, False), (2, True), (3, False)])
@example([(n, n % 3 > 0) for n in range(300)])
@example([(n, True) for n in range(1, 1_001)])
def test_every_mix_of_times_matches_the_definition(
    times: list[tuple[int, bool]],
) -> None:
    moment = polars.Series([START])
    claims = polars.DataFrame(
        {
            "onchain_status": ["CONFIRMED" if ended else "SUBMITTED" for _, ended in times],
            "submitted_at": [
                START if ended else START - timedelta(microseconds=took) for took, ended in times
            ],
            "confirmed_at": [
                START + timedelta(microseconds=took) if ended else None for took, ended in times
            ],
        },
        schema_overrides={"confirmed_at": polars.Datetime("us", "UTC")},
    ).with_columns(created_at=moment.first(), updated_at=moment.first())
    assert over(claims=claims).confirmation_times(by=()).to_polars().rows() == [figures(times)]


def test_columns_have_their_types(operator: comptroller.Service) -> None:
    assert dict(operator.reports.confirmation_times(("month",)).to_polars().schema) == {
        "month": polars.Date,
        "confirmed": polars.Int64,
        "waiting": polars.Int64,
        "p50_seconds": polars.Float64,
        "p90_seconds": polars.Float64,
        "p99_seconds": polars.Float64,
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by": ("colour",)}, "by: .* give some of status, chain"),
        ({"as_of": "now"}, "as_of: must be a date such as"),
        ({"as_of": "2026-02-01T00:00:00"}, "as_of: must be a date such as"),
    ],
)
def test_invalid_arguments_of_the_summary_are_refused(
    operator: comptroller.Service, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(comptroller.InvalidRequest, match=message):
        operator.reports.confirmation_times(**given)
