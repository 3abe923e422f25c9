"""The flow of orchestrations between assets: counts, amounts and durations."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from decimal import Decimal, localcontext
from typing import Any

import comptroller
import polars
from lines import START, at, load, orchestration
from reporting import MONEY, only, ran

KEYS = ("source_asset", "destination_asset", "status")
FIGURES = ("orchestrations", "source_amount", "p50_seconds", "p90_seconds")
FINAL = ("COMPLETED", "FAILED", "REJECTED")
LARGEST = "99999999999999999999.999999999999999999"


def move(took: float = 0, amount: str | None = "1", **members: Any) -> dict[str, Any]:
    """Returns an orchestration from dollars to bitcoin that last changed after `took` seconds."""
    given = {"source_asset": "USD", "destination_asset": "BTC", "status": "COMPLETED"}
    paid = {} if amount is None else {"source_amount": amount}
    return orchestration(**(given | paid | {"updated_at": at(took)} | members))


def test_it_counts_sums_and_measures_each_flow(operator: comptroller.Service) -> None:
    load(
        operator,
        "orchestrations",
        *(move(seconds, "0.000000000000000001") for seconds in range(1, 12)),
        move(1, "2.5", status="FAILED"),
        move(3.25, "-1", status="FAILED"),
        move(7, destination_asset="ETH", status="REJECTED"),
        move(7, destination_asset="ETH", status="PROCESSING"),
        move(9, destination_asset="ETH", status="PAUSED"),
    )
    rows = ran(operator, "orchestration_flow")
    assert list(rows[0]) == [*KEYS, *FIGURES]
    assert only(rows, "destination_asset", "status", *FIGURES) == [
        ("BTC", "COMPLETED", 11, Decimal("0.000000000000000011"), 6.0, 10.0),
        ("BTC", "FAILED", 2, Decimal("1.5"), 1.0, 3.25),
        ("ETH", "PAUSED", 1, Decimal(1), None, None),  # a value of a newer service
        ("ETH", "PROCESSING", 1, Decimal(1), None, None),
        ("ETH", "REJECTED", 1, Decimal(1), 7.0, 7.0),
    ]


def test_orchestrations_without_asset_or_amount_are_counted(operator: comptroller.Service) -> None:
    load(
        operator,
        "orchestrations",
        orchestration(status="COMPLETED", updated_at=at(5)),
        orchestration(status="COMPLETED", updated_at=at(6), source_amount="4"),
        move(1, None, destination_asset=None),
    )
    assert only(ran(operator, "orchestration_flow"), *KEYS, *FIGURES) == [
        ("USD", None, "COMPLETED", 1, None, 1.0, 1.0),
        (None, None, "COMPLETED", 2, Decimal(4), 5.0, 6.0),
    ]


def test_negative_times_count_unchanged(operator: comptroller.Service) -> None:
    load(operator, "orchestrations", move(-2.5), move(4))
    assert only(ran(operator, "orchestration_flow"), *FIGURES) == [(2, Decimal(2), -2.5, 4.0)]


def test_a_period_bounds_the_creation(operator: comptroller.Service) -> None:
    load(operator, "orchestrations", *(move(created_at=at(days=n)) for n in range(3)))
    rows = ran(operator, "orchestration_flow", since="2026-01-02", until="2026-01-03")
    assert only(rows, "orchestrations") == [(1,)]


def test_no_claims_give_no_rows(operator: comptroller.Service) -> None:
    assert ran(operator, "orchestration_flow") == []


def test_a_sample_matches_plain_python(operator: comptroller.Service) -> None:
    operator.load("orchestrations", comptroller.sample("orchestrations", rows=2_000, seed=4))
    flows: dict[tuple[Any, ...], list[tuple[int, Decimal]]] = defaultdict(list)
    for each in operator.orchestrations.iter():
        took = (each.updated_at - each.created_at) // timedelta(microseconds=1)
        key = (each.source_asset, each.destination_asset, each.status)
        flows[key].append((took, each.source_amount or Decimal(0)))
    expected = {}
    for key, moves in flows.items():
        times = sorted(took for took, _ in moves)
        ranks = [(len(times) * percent + 99) // 100 - 1 for percent in (50, 90)]
        percentiles = [times[rank] / 1e6 if key[2] in FINAL else None for rank in ranks]
        with localcontext(prec=60):
            total = sum((amount for _, amount in moves), Decimal(0))
        expected[key] = (len(moves), total, *percentiles)
    rows = ran(operator, "orchestration_flow")
    assert {tuple(row[key] for key in KEYS): only([row], *FIGURES)[0] for row in rows} == expected
    assert [row[:3] for row in only(rows, *KEYS)] == sorted(expected)


def test_an_oversized_sum_is_null(operator: comptroller.Service) -> None:
    load(operator, "orchestrations", move(0, LARGEST), move(0, "-" + LARGEST, status="FAILED"))
    assert len(operator.reports.orchestration_flow()) == 2
    load(operator, "orchestrations", move(0, "0.000000000000000001"))
    rows = ran(operator, "orchestration_flow")
    assert only(rows, "status", "orchestrations", "source_amount") == [
        ("COMPLETED", 2, None),
        ("FAILED", 1, Decimal("-" + LARGEST)),
    ]


def test_columns_have_their_types(operator: comptroller.Service) -> None:
    load(operator, "orchestrations", move(created_at=START))
    assert dict(operator.reports.orchestration_flow().to_polars().schema) == {
        "source_asset": polars.String,
        "destination_asset": polars.String,
        "status": polars.String,
        "orchestrations": polars.Int64,
        "source_amount": MONEY,
        "p50_seconds": polars.Float64,
        "p90_seconds": polars.Float64,
    }
