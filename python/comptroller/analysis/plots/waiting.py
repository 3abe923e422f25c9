"""Pictures of confirmation times and of stuck claims."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from comptroller.analysis.plots import frames, marks, scales, theme
from comptroller.analysis.registry import period_of
from comptroller.display.html import printable

if TYPE_CHECKING:
    from comptroller.analysis.report import Report

_PERCENTILES = {"p50_seconds": "p50", "p90_seconds": "p90", "p99_seconds": "p99"}
_COLOURS = dict(
    zip(_PERCENTILES.values(), (theme.BLUE, theme.ORANGE, theme.VERMILLION), strict=True)
)
_STATUSES = {status: theme.STATUSES[status] for status in ("PENDING", "SUBMITTED")}
_MAX_STUCK = 2_000
#: The height of a distribution in pixels, and the minimum height of the picture.
_ROW = 40
_MIN_HEIGHT = 80
#: The share of the height that the highest bar of a distribution takes.
_HIGHEST = 0.85
#: The step of a millisecond or less, see registry.COLUMNS.
_FIRST_STEP = -30
_TITLE = "submitted to confirmed, log scale"


def times(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the distribution of each key with its percentiles, or percentiles over a period."""
    waiting = int(frame["waiting"].sum())
    notes = [f"Still waiting, and counted as waiting: {waiting:,}."] if waiting else []
    confirmed = frame.filter(pl.col("confirmed") > 0)
    unreached = int(confirmed["p99_seconds"].null_count())
    if unreached:
        notes.append(f"Rows without a p99, because too many claims wait: {unreached:,}.")
    if len(confirmed) < len(frame):
        notes.append(f"Not drawn: {len(frame) - len(confirmed):,} rows without a confirmed claim.")
    if not len(confirmed):
        return marks.message("No claim is confirmed yet."), notes
    period = period_of(report.keys)
    if period is None:
        return _distributions(confirmed, report, notes)
    return _over_time(confirmed, report.keys, period, notes)


def _distributions(frame: pl.DataFrame, report: Report, notes: list[str]) -> theme.Drawn:
    named = _largest(frame, report.keys, marks.MAX_BARS, notes)
    places = named.with_columns(place=pl.col("series").to_physical().cast(pl.Int64) + 1)
    known = (
        places.rename(_PERCENTILES)
        .unpivot(list(_COLOURS), index=["series", "place"], variable_name="percentile")
        .drop_nulls("value")
    )
    notes += scales.too_short(known["value"])
    rules = known.with_columns(scales.drawn_seconds("value"), top=pl.col("place") - _HIGHEST)
    steps = _steps(report.distribution, places.select(*report.keys, "series", "place"), notes)
    scaled = scales.spans(pl.concat([rules["value"], steps["value"], steps["to"]]), _TITLE)
    names = frames.names_of(named)
    placed = {"x": alt.X("value:Q", **scaled), "y": _places(names), "y2": "top:Q"}
    grey = alt.MarkDef("rect", color=theme.GREY, opacity=0.6)
    # Narrower lines are drawn over wider ones, so that equal percentiles are all visible.
    widths = dict(zip(_COLOURS, (4.5, 3, 1.5), strict=True))
    lines = marks.drawn(
        rules.with_columns(width=pl.col("percentile").replace_strict(widths)),
        alt.MarkDef("rule", opacity=1),
        **placed,
        color=marks.coloured("percentile", _COLOURS),
        strokeWidth=alt.StrokeWidth("width:Q", scale=None, legend=None),
    )
    layered = alt.layer(marks.drawn(steps, grey, **placed, x2="to:Q"), lines)
    return layered.properties(height=max(_MIN_HEIGHT, _ROW * len(names))), notes


def _largest(frame: pl.DataFrame, keys: Sequence[str], most: int, notes: list[str]) -> pl.DataFrame:
    """Keeps the keys with the most confirmed claims; percentiles of others cannot be merged."""
    named, others = frames.with_series(frame, keys, "confirmed", most, is_merged=False)
    if others is not None:
        notes.append(f"Shows the {most} with the most confirmed claims, not the {others}.")
    return named


def _steps(
    distribution: pl.DataFrame | None, places: pl.DataFrame, notes: list[str]
) -> pl.DataFrame:
    """Returns the bars of each distribution, scaled by its highest bar."""
    if distribution is None:
        return pl.DataFrame(schema=dict.fromkeys(("value", "to", "place", "top"), pl.Float64))
    keys = [key for key in places.columns if key in distribution.columns]
    how: Any = {"on": keys, "nulls_equal": True} if keys else {"how": "cross"}
    steps = distribution.join(places, **how)
    notes.append("Grey: the number of claims by time, each row scaled by its maximum.")
    if least := int(steps.filter(pl.col("step") == _FIRST_STEP)["claims"].sum()):
        notes.append(f"Drawn at 1 ms: {least:,} claims that took 1 ms or less.")
    share = pl.col("claims") / pl.col("claims").max().over("series")
    return steps.select(
        "place",
        value=10.0 ** (pl.col("step") / 10),
        to=10.0 ** ((pl.col("step") + 1) / 10),
        top=pl.col("place") - _HIGHEST * share,
    )


def _places(names: list[str]) -> alt.Y:
    """Returns the axis of rows from top to bottom, in which bars reach from `place` to `top`."""
    middles = [place + 0.5 for place in range(len(names))]
    label = f"{json.dumps(names)}[floor(datum.value)]"
    axis = alt.Axis(title=None, values=middles, labelExpr=label, grid=False, ticks=False)
    scale = alt.Scale(domain=[0, len(names)], reverse=True, nice=False)
    return alt.Y("place:Q", scale=scale, axis=axis)


def _over_time(
    frame: pl.DataFrame, keys: tuple[str, ...], period: str, notes: list[str]
) -> theme.Drawn:
    latest = frame[period].unique().sort().tail(frames.MAX_PERIODS)
    shown = frame.filter(pl.col(period) >= latest.min())
    if len(shown) < len(frame):
        notes.append(f"Shows the latest {frames.MAX_PERIODS} {period}s.")
    named = _largest(shown, frames.non_periods_of(keys), len(theme.SERIES), notes)
    notes += scales.too_short(pl.concat([named["p50_seconds"], named["p99_seconds"]]))
    drawn = named.with_columns(
        scales.drawn_seconds(name).alias(p) for name, p in _PERCENTILES.items()
    )
    started = frames.with_spans(drawn, period, notes, len(drawn))[0].sort("start")
    when = scales.times(started, f"created, by {period} (UTC)")
    panels = [
        marks.lines(known, p, scales.spans(known[p], f"{p}, log scale"), when)
        for p in ("p50", "p99")
        if len(known := started.drop_nulls(p))
    ]
    if not panels:
        return marks.message("Too many claims wait, so no percentile is known."), notes
    return alt.vconcat(*panels), notes


def stuck(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the age of each claim and the threshold of its chain, in a strip for each chain."""
    named, _ = frames.with_series(frame, ["chain"], most=marks.MAX_BARS)
    counts = dict(named["series"].value_counts().rows())
    labels = {name: f"{name}: {counts[name]:,}" for name in frames.names_of(named)}
    oldest = named.sort("age_seconds", descending=True).head(_MAX_STUCK)
    left = len(frame) - len(oldest)
    notes = [f"Shows the oldest {_MAX_STUCK:,}; {left:,} others are not drawn."] if left else []
    thresholds = oldest.select("chain", "threshold_seconds").unique()["threshold_seconds"]
    notes += scales.too_short(pl.concat([oldest["age_seconds"], thresholds]))
    drawn = oldest.with_columns(
        scales.drawn_seconds("age_seconds").alias("age"),
        scales.drawn_seconds("threshold_seconds").alias("threshold"),
        pl.col("series")
        .cast(pl.String)
        .replace_strict(labels, return_dtype=pl.Enum(labels.values())),
        pl.col("status").map_elements(printable, return_dtype=pl.String),
    )
    scaled = scales.spans(pl.concat([drawn["age"], drawn["threshold"]]), "age, log scale")
    claims = marks.drawn(
        drawn,
        alt.MarkDef("tick", thickness=1.5, size=18, opacity=0.85),
        x=alt.X("age:Q", **scaled),
        y=marks.ROWS,
        color=marks.coloured("status", _STATUSES),
    )
    limits = marks.drawn(
        drawn.unique(["threshold", "series"], maintain_order=True),
        alt.MarkDef("tick", thickness=3, size=24, color=theme.VERMILLION),
        x=alt.X("threshold:Q", **scaled),
        y=marks.ROWS,
    )
    layered = alt.layer(claims, limits).properties(height=alt.Step(30))
    return layered, [*notes, "Red: the threshold of the chain."]
