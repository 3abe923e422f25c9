"""The picture of the reconciliation draws or counts every group."""

from __future__ import annotations

from typing import Any

import comptroller
import pytest
from lines import address, at, balance, claim, group, load

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")

import polars
from comptroller.analysis.registry import REPORTS
from comptroller.analysis.report import Report
from pictures import data_of, notes_of, svg_of

RECONCILED = [
    # Average holdings, annual rate, median rate, deviation, and whether within the tolerance.
    (100.0, 0.05, 0.05, 0.0, True),
    (100.0, 0.50, 0.05, 9.0, False),
    (0.0, None, 0.05, None, False),
    (100.0, 0.30, 0.0, None, False),
    (100.0, 0.40, 0.0, None, False),
    (100.0, 0.0, 0.0, None, True),
    (None, None, 0.05, None, None),
    (0.0, None, 0.05, None, None),
    (100.0, 0.30, None, None, None),
]


def reconciled(rows: list[tuple[Any, ...]]) -> Report:
    names = ("average_holdings", "annual_rate", "median_rate", "deviation", "within_tolerance")
    frame = polars.DataFrame(rows, schema=names, orient="row").select(
        polars.exclude("within_tolerance").cast(polars.Float64),
        polars.col("within_tolerance").cast(polars.Boolean),
        group=polars.format("g-{}", polars.int_range(polars.len())),
        group_name=polars.lit(None, polars.String),
        month=polars.lit(at()),
        asset=polars.lit("ETH"),
        ledger=polars.lit("INK"),
        claimed=polars.int_range(polars.len()).cast(polars.Decimal(38, 18)),
    )
    return Report(REPORTS["reconciliation"], ("group", "month"), frame, {"tolerance": 0.05})


def test_groups_without_a_deviation_are_drawn_at_the_edge_or_counted() -> None:
    picture = reconciled(RECONCILED).plot()
    strips = data_of(picture, "within")
    assert [(row["deviation"], row["within"]) for row in strips] == [
        (9.0, "beyond it"),
        (0.0, "within tolerance"),
        *[(13.5, "beyond it")] * 3,
    ]
    notes = notes_of(picture)[1:]
    assert notes == [
        "Furthest: g-1 in 2026-01, +900%.",
        "Crosses at the edge: 1 claimed on holdings of 0.",
        "Most: g-2 in 2026-01.",
        "Crosses at the edge: 2 claimed on a median rate of 0.",
        "Most: g-4 in 2026-01, g-3 in 2026-01.",
        "Not drawn: 2 with no rate, since no holdings are known, or none and no claims.",
        "Not drawn: 1 with no median, since the asset or the ledger is unknown.",
        "Not drawn: 1 with a rate of 0, as the median is.",
        "Grey: within the tolerance.",
    ]
    not_drawn = sum(int(note.split()[2]) for note in notes if note.startswith("Not drawn"))
    assert len(strips) + not_drawn == len(RECONCILED)


@pytest.mark.parametrize("row", RECONCILED)
def test_a_single_group_is_drawn_or_counted(row: tuple[Any, ...]) -> None:
    picture = reconciled([row]).plot()
    svg_of(picture)
    assert len(data_of(picture, "within")) == ("Not drawn: 1" not in "".join(notes_of(picture)))


def test_a_claim_on_no_holdings_is_named(operator: comptroller.Service) -> None:
    mine, place = group(id="0" * 8 + "-0000-4000-8000-" + "0" * 12), address()
    load(operator, "payout-groups", mine)
    load(operator, "reward-addresses", {**place, "payout_group_id": mine["id"]})
    load(operator, "balances", balance(address_id=place["id"], balance="0"))
    moments = {"submitted_at": at(), "confirmed_at": at(9)}
    load(
        operator, "claims", claim(payout_group_id=mine["id"], onchain_status="CONFIRMED", **moments)
    )
    picture = operator.reports.reconciliation().plot()
    assert len(data_of(picture, "within")) == 1
    assert "Most: 00000000-0000…0000 in 2026-01." in notes_of(picture)
