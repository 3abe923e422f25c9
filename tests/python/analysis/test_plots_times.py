"""The picture of confirmation times: distribution, percentiles and notes."""

from __future__ import annotations

from typing import Any

import comptroller
import pytest
from lines import at, claim, load

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from comptroller.analysis.report import Report
from pictures import data_of, notes_of, svg_of, texts_of


def confirmed_in(*seconds: float, **members: Any) -> list[dict[str, Any]]:
    return [
        claim(
            onchain_status="CONFIRMED",
            submitted_at=at(),
            confirmed_at=at(each),
            updated_at=at(days=1),
            **members,
        )
        for each in seconds
    ]


def test_times_are_drawn_as_a_distribution(operator: comptroller.Service) -> None:
    load(operator, "claims", *confirmed_in(*[15] * 3, 150, blockchain="INK"))
    load(operator, "claims", *confirmed_in(2, -5, 0.0001), *confirmed_in(7, created_at=at(days=9)))
    report = operator.reports.confirmation_times(until=at(days=5))
    assert report.distribution is not None
    assert report.distribution.rows() == [
        ("INK", 11, 3),
        ("INK", 21, 1),
        (None, -30, 2),
        (None, 3, 1),
    ]
    picture = report.plot()
    steps = data_of(picture, "to")
    assert len(steps) == 4
    high, low = (step["place"] - step["top"] for step in steps if step["place"] == 1)
    assert high == pytest.approx(3 * low)
    notes = notes_of(picture)
    assert "Drawn as 1 ms: 1 shorter times, 0 of them negative." in notes
    assert "Drawn at 1 ms: 2 claims that took 1 ms or less." in notes
    shown = texts_of(svg_of(picture))
    assert {"INK", "(none)", "half within", "90 % within", "99 % within"} < shown


@pytest.mark.parametrize("by", [(), ("status",), ("group", "claim_type"), ("jurisdiction",)])
def test_a_distribution_has_all_confirmed_claims(
    furnished: comptroller.Service, by: tuple[str, ...]
) -> None:
    report = furnished.reports.confirmation_times(by)
    assert report.distribution is not None
    assert report.distribution["claims"].sum() == report.to_polars()["confirmed"].sum() > 0
    names = {"group_name"} if "group" in by else set()
    assert set(report.distribution.columns) == {*by, *names, "step", "claims"}


def test_without_a_distribution_the_percentiles_are_drawn(furnished: comptroller.Service) -> None:
    whole = furnished.reports.confirmation_times()
    bare = Report(whole.definition, whole.keys, whole.to_polars())
    picture = bare.plot()
    assert data_of(whole.plot(), "to")
    assert not data_of(picture, "to")
    assert len(data_of(picture, "percentile")) == len(data_of(whole.plot(), "percentile")) > 0
    svg_of(picture)


def test_a_period_gives_lines_and_no_distribution(furnished: comptroller.Service) -> None:
    report = furnished.reports.confirmation_times(("chain", "day"))
    assert report.distribution is None
    picture = report.plot()
    assert data_of(picture, "p50")
    assert data_of(picture, "p99")


@pytest.mark.parametrize("by", [("chain",), ("chain", "day")])
def test_waiting_claims_alone_have_no_times_to_draw(
    operator: comptroller.Service, by: tuple[str, ...]
) -> None:
    waits = {"onchain_status": "SUBMITTED", "submitted_at": at(), "updated_at": at(9)}
    load(operator, "claims", *[claim(**waits) for _ in range(3)])
    assert "No claim is confirmed yet." in svg_of(operator.reports.confirmation_times(by).plot())
    load(operator, "claims", *confirmed_in(60))
    svg_of(operator.reports.confirmation_times(by).plot())


@pytest.mark.parametrize("by", [("chain",), ("chain", "day")])
def test_negative_times_are_noted(operator: comptroller.Service, by: tuple[str, ...]) -> None:
    load(operator, "claims", *confirmed_in(-5, 3))
    notes = notes_of(operator.reports.confirmation_times(by).plot())
    assert "Drawn as 1 ms: 1 shorter times, 1 of them negative." in notes
