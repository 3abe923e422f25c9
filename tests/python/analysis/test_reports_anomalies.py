"""Anomalies: unusual days, exactly, including days without claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import comptroller
import polars
import pytest
from hypothesis import example, given, settings, strategies as st
from lines import START, at, claim, group, load
from reporting import MONEY, only, over, ran

FIGURES = ("day", "measure", "value", "median", "mad", "score")
LARGEST = "99999999999999999999.999999999999999999"
#: The day of each claim, counted from the first, and its amount.
Made = Sequence[tuple[int, Decimal]]


def on(day: int) -> date:
    return at(days=day).date()


def lower_middle(values: Sequence[Decimal]) -> Decimal:
    return sorted(values)[(len(values) + 1) // 2 - 1]


def unlike(made: Made, last: int, band: float) -> list[tuple[Any, ...]]:
    """The definition in fractions, from the claims of one series and the last day of all."""
    first = min(day for day, _ in made)
    days = range(first, last + 1)
    anomalies = []
    for measure in ("amount", "claims"):
        values = dict.fromkeys(days, Decimal(0))
        with localcontext(prec=60):
            for day, amount in made:
                values[day] += amount if measure == "amount" else 1
            median = lower_middle(list(values.values()))
            mad = lower_middle([abs(value - median) for value in values.values()])
            far = Fraction(band) * (1 + Fraction(1, 10**12)) * Fraction(mad)
            for day, value in values.items():
                if value != median and abs(Fraction(value) - Fraction(median)) > far:
                    score = float(value - median) / float(mad) if mad else None
                    anomalies.append((on(day), measure, value, median, mad, score))
    return sorted(anomalies)


def made(days: Made, **members: Any) -> list[dict[str, Any]]:
    given = {"onchain_status": "CONFIRMED", **members}
    return [claim(created_at=at(days=n), amount=f"{amount:f}", **given) for n, amount in days]


def both(svc: comptroller.Service, *given: Any, **named: Any) -> list[dict[str, Any]]:
    """Returns the rows of both measures, in the order of `unlike`."""
    rows = [
        {**row, "measure": measure}
        for measure in ("amount", "claims")
        for row in ran(svc, "anomalies", *given, measure=measure, **named)
    ]
    return sorted(rows, key=lambda row: (row["day"], row["measure"]))


def usual(days: int, *, but: dict[int, int]) -> Made:
    """Two and three claims of 10 on alternate days, and another number on some."""
    counts = {day: but.get(day, 2 + day % 2) for day in range(days)}
    return [(day, Decimal(10)) for day, count in counts.items() for _ in range(count)]


def test_days_far_from_the_median_are_listed_with_their_score(
    operator: comptroller.Service,
) -> None:
    load(operator, "claims", *made(usual(20, but={4: 8, 5: 7, 11: 0}), blockchain="INK"))
    rows = both(operator, band=4)
    assert list(rows[0]) == ["chain", "asset", "day", *FIGURES[2:], "measure"]
    # Of 0, nine 2s, eight 3s, 7 and 8 the median is 2; of nine 0s, eight 1s, 2, 5 and 6 it is 1.
    assert only(rows, *FIGURES) == [
        (on(4), "amount", 80, 20, 10, 6.0),
        (on(4), "claims", 8, 2, 1, 6.0),
        (on(5), "amount", 70, 20, 10, 5.0),
        (on(5), "claims", 7, 2, 1, 5.0),
    ]
    assert only(both(operator, band=1.5)[-1:], *FIGURES) == [(on(11), "claims", 0, 2, 1, -2.0)]


def test_a_score_is_the_distance_in_mads(operator: comptroller.Service) -> None:
    amounts = ("8", "9", "10", "11", "12", "15", "16", "5", "4")
    days = [(day, Decimal(amount)) for day, amount in enumerate(amounts)]
    load(operator, "claims", *made(days))
    rows = both(operator, (), band=2.5)
    # Median 10; distances 2 1 0 1 2 5 6 5 6, whose median is 2.
    assert only(rows, *FIGURES) == [
        (on(6), "amount", Decimal(16), Decimal(10), Decimal(2), 3.0),
        (on(8), "amount", Decimal(4), Decimal(10), Decimal(2), -3.0),
    ]
    assert len(both(operator, (), band=3)) == 0  # on the band is not outside
    assert len(both(operator, (), band=2)) == 4


def test_days_without_a_claim_are_zero_and_may_be_the_anomaly(
    operator: comptroller.Service,
) -> None:
    kept = [(day, Decimal(10 + day % 3)) for day in range(10) if day not in (3, 7)]
    load(operator, "claims", *made(kept, blockchain="INK"), *made([(12, Decimal(1))]))
    rows = both(operator, band=4)
    stopped = [on(day) for day in (3, 7, 10, 11, 12)]
    assert [row["day"] for row in rows if row["measure"] == "claims"] == stopped
    assert [row["day"] for row in rows if row["measure"] == "amount"] == stopped
    assert {row["chain"] for row in rows} == {"INK"}  # the other series began on its only day
    assert {row["value"] for row in rows} == {0}


def test_in_a_constant_series_any_other_value_is_listed(
    operator: comptroller.Service,
) -> None:
    days = [(day, Decimal(1)) for day in range(5)]
    load(operator, "claims", *made([*days, (2, Decimal("0.000000000000000001"))]))
    rows = both(operator, (), band=1e300)
    assert only(rows, *FIGURES) == [
        (on(2), "amount", Decimal("1.000000000000000001"), Decimal(1), Decimal(0), None),
        (on(2), "claims", Decimal(2), Decimal(1), Decimal(0), None),
    ]


def test_each_key_has_its_own_series(operator: comptroller.Service) -> None:
    known = group(jurisdiction="CH")
    load(operator, "payout-groups", known)
    steady = [(day, Decimal(1)) for day in range(5)]
    load(operator, "claims", *made(steady, payout_group_id=known["id"]))
    load(operator, "claims", *made([*steady, (4, Decimal(1))], claim_type="CLAIM_SOME"))
    rows = both(operator, ("jurisdiction", "claim_type"))
    assert only(rows, "jurisdiction", "claim_type", "measure", "value") == [
        (None, "CLAIM_SOME", "amount", Decimal(2)),
        (None, "CLAIM_SOME", "claims", Decimal(2)),
    ]
    for by in ("status", "asset", "group", "customer"):
        own_name = ["group_name"] if by == "group" else []
        assert list(ran(operator, "anomalies", by)[0]) == [by, *own_name, "day", *FIGURES[2:]]


def test_no_claims_or_one_claim_have_no_anomaly(operator: comptroller.Service) -> None:
    assert both(operator) == []
    load(operator, "claims", claim(onchain_status="FAILED", amount=LARGEST))
    for by in ((), ("chain",), ("jurisdiction", "group")):
        assert both(operator, by) == []


def test_days_before_1970_and_at_the_limits_are_supported(operator: comptroller.Service) -> None:
    early = ["0001-01-01T00:00:00Z", "0001-01-02T00:00:00Z", "0001-01-02T23:59:59.999999Z"]
    paid = {"onchain_status": "CONFIRMED", "blockchain": "INK"}
    load(operator, "claims", *(claim(created_at=each, **paid) for each in early))
    (first, _) = both(operator)
    assert first["day"] == date(1, 1, 2)
    load(operator, "claims", claim(created_at="9999-12-31T23:59:59Z", blockchain="INK"))
    days = {row["day"] for row in both(operator)}
    assert days == {date(*day) for day in ((1, 1, 1), (1, 1, 2), (9999, 12, 31))}


def test_a_period_bounds_the_creation(operator: comptroller.Service) -> None:
    load(operator, "claims", *made([(day, Decimal(1 + (day == 3))) for day in range(9)]))
    assert len(both(operator, (), since=START, until=at(days=9))) == 1
    assert both(operator, (), since=at(days=4)) == []
    assert both(operator, (), until=at(days=3)) == []


@given(
    st.lists(st.tuples(st.integers(-3, 12), st.integers(0, 9)), min_size=1, max_size=40),
    st.sampled_from([0, 0.5, 1, 2, 5.0]),
    st.integers(0, 4),
)
@settings(max_examples=15)
@example([(day, day) for day in range(9)] * 2, 0.5, 2)
@example([(0, 1), (1, 1), (2, 1), (9, 5)], 5.0, 0)
@example([(day, 3) for day in range(-3, 30) if day % 7], 5.0, 4)
def test_every_series_has_the_days_of_the_definition(
    days: list[tuple[int, int]], band: float, later: int
) -> None:
    last = max(day for day, _ in days) + later
    rows = [(at(days=day), Decimal(n).scaleb(-1), None) for day, n in days]
    rows.append((at(days=last), Decimal(1), "LATER"))
    schema = {"created_at": polars.Datetime("us", "UTC"), "amount": MONEY}
    claims = polars.DataFrame(rows, schema={**schema, "blockchain": polars.String}, orient="row")
    claims = claims.with_columns(
        asset_type=polars.lit("ETH"), onchain_status=polars.lit("CONFIRMED")
    )
    expected = unlike([(day, Decimal(n).scaleb(-1)) for day, n in days], last, band)
    for measure in ("claims", "amount"):
        found = over(claims=claims).anomalies(band=band, measure=measure).to_dicts()
        assert {row["chain"] for row in found} <= {None}
        figures = [(row["day"], measure, *only([row], *FIGURES[2:])[0]) for row in found]
        assert sorted(figures) == [each for each in expected if each[1] == measure]


def test_a_sample_matches_plain_python(operator: comptroller.Service) -> None:
    operator.load("claims", comptroller.sample("claims", rows=3_000, seed=6))
    series: dict[Any, list[tuple[int, Decimal]]] = defaultdict(list)
    for each in operator.claims.iter():
        days = (each.created_at - START) // timedelta(days=1)
        amount = each.amount if each.onchain_status == "CONFIRMED" else Decimal(0)
        series[each.blockchain, each.asset_type].append((days, amount))
    last = max(day for claims in series.values() for day, _ in claims)
    rows = both(operator, ("chain", "asset"), band=3)
    found = defaultdict(list)
    for row in rows:
        found[row["chain"], row["asset"]].append(only([row], *FIGURES)[0])
    assert found == {
        key: anomalies for key, each in series.items() if (anomalies := unlike(each, last, 3))
    }
    assert found


def test_an_oversized_sum_is_null(operator: comptroller.Service) -> None:
    load(operator, "claims", *made([(0, Decimal(LARGEST)), (1, Decimal(LARGEST))]))
    load(operator, "claims", *made([(2, Decimal(0))]))
    (row,) = operator.reports.anomalies(measure="amount").to_dicts()
    assert only([row], *FIGURES[2:]) == [(0, Decimal(LARGEST), 0, None)]
    load(operator, "claims", *made([(0, Decimal("0.000000000000000001"))]))
    report = operator.reports.anomalies(measure="amount")
    assert only(report.to_dicts(), "day", "value", "median", "score") == [(on(0), *[None] * 3)]
    assert len(operator.reports.anomalies()) == 1  # the count of claims is known


def test_columns_have_their_types(operator: comptroller.Service) -> None:
    assert dict(operator.reports.anomalies(("group",), measure="amount").to_polars().schema) == {
        "group": polars.String,
        "group_name": polars.String,
        "asset": polars.String,
        "day": polars.Date,
        "value": MONEY,
        "median": MONEY,
        "mad": MONEY,
        "score": polars.Float64,
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by": ("day",)}, "by: .* give some of status, chain, .*, claim_type$"),
        ({"by": ("chain", "chain")}, "by: duplicate value chain"),
        ({"band": -1}, "band: must be a finite number"),
        ({"band": float("nan")}, "band: must be a finite number"),
        ({"band": float("inf")}, "band: must be a finite number"),
        ({"band": "5"}, "band: must be a number"),
        ({"band": True}, "band: must be a number"),
    ],
)
def test_invalid_arguments_of_the_summary_are_refused(
    operator: comptroller.Service, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(comptroller.InvalidRequest, match=message):
        operator.reports.anomalies(**given)
