"""The drawings of durations: times to confirmation, and the ages of waiting claims."""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import polars as pl

from comptroller.analysis.plots import frames, marks, theme
from comptroller.analysis.plots.frames import fill_notes, with_series
from comptroller.analysis.plots.marks import MAX_BARS, colour_by, draw_marks, message
from comptroller.analysis.plots.theme import BLUE, GREY, ORANGE, VERMILLION, Picture
from comptroller.analysis.registry import PERIODS, period_of
from comptroller.analysis.rows import ReportRows

_WITHIN = {"p50": "half within", "p90": "90 % within", "p99": "99 % within"}
_COLOURS = dict(zip(_WITHIN.values(), (BLUE, ORANGE, VERMILLION), strict=True))
#: Narrower lines are drawn over wider ones, so that equal percentiles are all visible.
_WIDTHS = {"p50": 4.5, "p90": 3, "p99": 1.5}
#: The height of a distribution in pixels, and the minimum height of the picture.
_ROW, _MIN_HEIGHT = 40, 80
#: The share of the height that the highest bar of a distribution takes.
_HIGHEST = 0.85
#: The step of a millisecond or less, see `sql/confirmation_distribution.sql`.
_FIRST_STEP = -30


def confirmation_times(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the distribution of each key with its percentiles, or percentiles over a period."""
    frame = frame.rename(lambda name: name.removesuffix("_seconds"))
    confirmed = frame.filter(pl.col("confirmed") > 0)
    counts = {
        "Still waiting, and counted as waiting: {}.": int(frame["waiting"].sum()),
        "Rows whose time for 99 % is unknown, because too many claims wait: {}.": confirmed[
            "p99"
        ].null_count(),
        "Not drawn: {} rows without a confirmed claim.": len(frame) - len(confirmed),
    }
    notes += fill_notes(counts)
    if not len(confirmed):
        return message("No claim is confirmed yet.")
    period = period_of(report.by)
    if period is None:
        return _distributions(confirmed, report, notes)
    return _percentiles(confirmed, report, period, notes)


def _distributions(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    named = frames.keep_most_confirmed(frame, report.by, MAX_BARS, notes)
    places = named.with_columns(place=pl.col("series").to_physical().cast(pl.Int64) + 1)
    percentiles = places.unpivot(list(_WITHIN), index="place", variable_name="percentile")
    rules = percentiles.drop_nulls("value").with_columns(
        top=pl.col("place") - _HIGHEST,
        width=pl.col("percentile").replace_strict(_WIDTHS),
        percentile=pl.col("percentile").replace_strict(_WITHIN),
    )
    notes += marks.too_short(rules["value"])
    steps = _steps(report, places.select(*report.by, "place"), notes)
    times = pl.concat([rules["value"], steps["value"], steps["to"]])
    x = alt.X("value:Q", **marks.durations(times, "submitted to confirmed, log scale"))
    names = frames.names_of(named)
    placed = {"x": x, "y": marks.places(names), "y2": "top:Q"}
    bars = draw_marks(steps, alt.MarkDef("rect", color=GREY, opacity=0.6), **placed, x2="to:Q")
    width = alt.StrokeWidth("width:Q", scale=None, legend=None)
    colour = colour_by("percentile", _COLOURS)
    lines = draw_marks(
        rules, alt.MarkDef("rule", opacity=1), **placed, color=colour, strokeWidth=width
    )
    return alt.layer(bars, lines).properties(height=max(_MIN_HEIGHT, _ROW * len(names)))


def _steps(report: ReportRows, places: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Returns the bars of each distribution, scaled by its highest bar."""
    if report.distribution is None:
        return pl.DataFrame(schema=dict.fromkeys(("value", "to", "place", "top"), pl.Float64))
    how: Any = {"on": report.by, "nulls_equal": True} if report.by else {"how": "cross"}
    steps = report.distribution.join(places, **how)
    notes.append("Grey: the number of claims by time, each row scaled by its maximum.")
    first = steps.filter(pl.col("step") == _FIRST_STEP)
    notes += fill_notes(
        {"Drawn at 1 ms: {} claims that took 1 ms or less.": int(first["claims"].sum())}
    )
    share = pl.col("claims") / pl.col("claims").max().over("place")
    return steps.select(
        "place",
        value=10.0 ** (pl.col("step") / 10),
        to=10.0 ** ((pl.col("step") + 1) / 10),
        top=pl.col("place") - _HIGHEST * share,
    )


def _percentiles(frame: pl.DataFrame, report: ReportRows, period: str, notes: list[str]) -> Picture:
    latest = frame[period].unique().sort().tail(marks.MAX_PERIODS)
    shown = frame.filter(pl.col(period) >= latest.min())
    notes += fill_notes({f"Shows the latest {len(latest)} {period}s.": len(frame) - len(shown)})
    keys = [key for key in report.by if key not in PERIODS]
    named = frames.keep_most_confirmed(shown, keys, len(theme.SERIES), notes)
    notes += marks.too_short(pl.concat([named["p50"], named["p99"]]))
    spanned, when = marks.timeline(named, period, f"created, by {{}} ({report.zone})", notes)
    panels = [
        marks.lines(known, name, marks.durations(known[name], f"{_WITHIN[name]}, log scale"), when)
        for name in ("p50", "p99")
        if len(known := spanned.drop_nulls(name))
    ]
    if not panels:
        return message("Too many claims wait, so no percentile is known.")
    return alt.vconcat(*panels)


_MAX_STUCK = 2_000
_WAITING = {status: theme.STATUSES[status] for status in ("PENDING", "SUBMITTED")}


def stuck_claims(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the age of each claim and the threshold of its chain, in a strip for each chain."""
    named = with_series(frame, ["chain"], most=MAX_BARS)
    claims = named.sort("age_seconds", descending=True).head(_MAX_STUCK)
    left = len(frame) - len(claims)
    notes += fill_notes({f"Shows the oldest {_MAX_STUCK:,}; {{}} others are not drawn.": left})
    limits = claims.unique(["chain", "threshold_seconds"], maintain_order=True)
    ages = pl.concat([claims["age_seconds"], limits["threshold_seconds"]])
    notes += [*marks.too_short(ages), "Red: the threshold of the chain."]
    scaled = marks.durations(ages, "age, log scale")
    age, limit = alt.X("age_seconds:Q", **scaled), alt.X("threshold_seconds:Q", **scaled)
    counts = json.dumps(dict(named["series"].value_counts(sort=True).rows()))
    labels = alt.Axis(labelExpr=f"datum.label + ': ' + format({counts}[datum.label], ',')")
    rows = alt.Y("series", title=None, axis=labels)
    thin = alt.MarkDef("tick", thickness=1.5, size=18, opacity=0.85)
    thick = alt.MarkDef("tick", thickness=3, size=24, color=VERMILLION)
    return alt.layer(
        draw_marks(claims, thin, x=age, y=rows, color=colour_by("status", _WAITING)),
        draw_marks(limits, thick, x=limit, y=rows),
    ).properties(height=alt.Step(30))
