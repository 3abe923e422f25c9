"""Pictures of how long claims take, and of those that take too long."""

from __future__ import annotations

import altair as alt
import polars as pl

from comptroller.analysis.plots.frames import (
    MOST_PERIODS,
    period_of,
    with_series,
    with_spans,
    words_of,
)
from comptroller.analysis.plots.marks import MOST_BARS, across, colour_of, lines, rows_of
from comptroller.analysis.plots.scales import drawn_seconds, spans
from comptroller.analysis.plots.scales import times as times_of
from comptroller.analysis.plots.theme import (
    BLUE,
    GREY,
    ORANGE,
    SERIES,
    VERMILLION,
    Picture,
    colours,
)
from comptroller.analysis.report import Report

_PERCENTILES = {"p50_seconds": "p50", "p90_seconds": "p90", "p99_seconds": "p99"}
_COLOURS = dict(zip(_PERCENTILES.values(), (BLUE, ORANGE, VERMILLION), strict=True))
_MOST_STUCK = 2_000
_TITLE = "submitted to confirmed, log scale"


def times(frame: pl.DataFrame, report: Report) -> tuple[Picture, list[str]]:
    """The percentiles of each key on a logarithmic scale; lines of them over the period."""
    waiting = int(frame["waiting"].sum())
    notes = [f"Still waiting, and counted as waiting: {waiting:,}."] if waiting else []
    drawn = frame.with_columns(drawn_seconds(name).alias(p) for name, p in _PERCENTILES.items())
    unreached = int(drawn["p99"].null_count())
    if unreached:
        notes.append(f"Rows in which too many wait for p99 to be known: {unreached:,}.")
    period = period_of(report.keys)
    if period is None:
        return _ranges(drawn, report.keys, notes)
    return _over_time(drawn, report.keys, period, notes)


def _largest(
    frame: pl.DataFrame, keys: list[str] | tuple[str, ...], most: int, notes: list[str]
) -> tuple[pl.DataFrame, list[str]]:
    """The keys with the most confirmed claims; percentiles of the others cannot be added up."""
    named, names, others = with_series(frame, keys, "confirmed", most)
    if others is None:
        return named, names
    notes.append(f"Shown are the {most} with the most confirmed claims, not the {others}.")
    return named.filter(pl.col("series") != others), names[:-1]


def _ranges(
    drawn: pl.DataFrame, keys: tuple[str, ...], notes: list[str]
) -> tuple[Picture, list[str]]:
    named, names = _largest(drawn, keys, MOST_BARS, notes)
    points = named.unpivot(
        list(_COLOURS), index="series", variable_name="percentile", value_name="seconds"
    ).drop_nulls("seconds")
    x = across("seconds", spans(points["seconds"], _TITLE))
    ends = points.group_by("series").agg(
        pl.col("seconds").min(), pl.col("seconds").max().alias("to")
    )
    rules = alt.Chart(ends).mark_rule(color=GREY, strokeWidth=3, opacity=0.5)
    marks = alt.Chart(points).mark_tick(thickness=4, size=14, opacity=1)
    layered = alt.layer(
        rules.encode(x=x, x2="to:Q", y=rows_of(names)),
        marks.encode(
            x=x,
            y=rows_of(names),
            color=alt.Color("percentile:N", title=None, scale=colours(list(_COLOURS), _COLOURS)),
        ),
    )
    return layered.properties(height=alt.Step(22)), notes


def _over_time(
    drawn: pl.DataFrame, keys: tuple[str, ...], period: str, notes: list[str]
) -> tuple[Picture, list[str]]:
    latest = drawn[period].unique().sort().tail(MOST_PERIODS)
    shown = drawn.filter(pl.col(period) >= latest.min())
    if len(shown) < len(drawn):
        notes.append(f"Shown are the latest {MOST_PERIODS} of each {period}.")
    named, names = _largest(shown, words_of(keys), len(SERIES), notes)
    started = with_spans(named, period, len(named)).frame.sort("start")
    when = times_of(started, f"created, by {period} (UTC)")
    panels = [
        lines(known, names, p, spans(known[p], f"{p}, log scale"), when)
        for p in ("p50", "p99")
        if len(known := started.drop_nulls(p))
    ]
    return alt.vconcat(*panels), notes


def stuck(frame: pl.DataFrame, report: Report) -> tuple[Picture, list[str]]:
    """A strip for each chain: the age of each claim, and the threshold it is beyond."""
    notes = []
    oldest = frame.sort("age_seconds", descending=True).head(_MOST_STUCK)
    if len(oldest) < len(frame):
        notes.append(
            f"Drawn are the oldest {_MOST_STUCK:,}, and {len(frame) - _MOST_STUCK:,} others not."
        )
    counts = frame.group_by("chain").agg(pl.len().alias("claims"))
    told = oldest.join(counts, on="chain").with_columns(
        drawn_seconds("age_seconds").alias("age"),
        drawn_seconds("threshold_seconds").alias("threshold"),
        told=pl.format("{}: {}", "chain", "claims"),
    )
    named, names, _ = with_series(told, ["told"], most=MOST_BARS)
    ages = pl.concat([named["age"], named["threshold"]])
    scaled = spans(ages, "age, log scale")
    claims = alt.Chart(named.select("age", "status", "series"))
    limits = alt.Chart(named.select("threshold", "series").unique())
    layered = alt.layer(
        claims.mark_tick(thickness=1.5, size=18, opacity=0.85).encode(
            x=across("age", scaled),
            y=rows_of(names),
            color=colour_of(["PENDING", "SUBMITTED"], "status"),
        ),
        limits.mark_tick(thickness=3, size=24, color=VERMILLION).encode(
            x=across("threshold", scaled), y=rows_of(names)
        ),
    )
    return layered.properties(height=alt.Step(30)), [*notes, "Red: the threshold of the chain."]
