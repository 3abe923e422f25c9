"""Pictures of who is restricted, and of value on its way."""

from __future__ import annotations

import altair as alt
import polars as pl

from comptroller.analysis.plots.frames import end_of, period_of, with_series, with_spans
from comptroller.analysis.plots.marks import MOST_BARS, ROW, bars, rows_of, volume_of
from comptroller.analysis.plots.scales import quantity, times
from comptroller.analysis.plots.theme import BLUE, GREY, PANEL, Picture
from comptroller.analysis.report import Report

_KINDS = ("type", "set_by")


def restrictions(frame: pl.DataFrame, report: Report) -> tuple[Picture, list[str]]:
    """The controls in force by type and setter over time, and those made and lifted."""
    period = period_of(report.keys)
    if period is None:
        named, names, _ = with_series(frame, _KINDS, "active", MOST_BARS)
        return bars(named, names, "active", "controls in force"), []
    named, names, _ = with_series(frame, _KINDS, "created")
    spanned, unit = with_spans(named, period)
    notes = [] if unit == period else [f"Drawn by {unit}: there are too many of each {period}."]
    # A period that is listed has all that is in force; what counts of several is the last.
    last = spanned.filter(pl.col(period) == pl.col(period).max().over("start"))
    active = last.group_by("start", "series", maintain_order=True).agg(
        controls=pl.col("active").sum()
    )
    until = (
        spanned.select("start", "end")
        .unique()
        .sort("start")
        .with_columns(end=pl.col("start").shift(-1).fill_null(pl.col("end")))
    )
    when = times(spanned, f"by {unit} (UTC)")
    counted = active.join(until, on="start").sort("start")
    standing = volume_of(counted, names, "controls", "in force at the end", when, notes)
    return alt.vconcat(standing, _changes(spanned, when)), notes


def history(frame: pl.DataFrame, report: Report) -> tuple[Picture, list[str]]:
    """When what happened: a strip for each kind of event."""
    named, names, _ = with_series(frame.drop_nulls("at"), ["record", "event"], most=MOST_BARS)
    ends = named.with_columns(start="at", end=end_of(pl.col("at"), "1d"))
    drawn = alt.Chart(named.select("series", start="at")).mark_tick(size=14, color=BLUE)
    picture = drawn.encode(x=times(ends, "time (UTC)"), y=rows_of(names)).properties(height=ROW)
    return picture, []


def _changes(spanned: pl.DataFrame, when: alt.X) -> alt.Chart:
    counts = spanned.group_by("start", "end", maintain_order=True).agg(
        pl.col("created").sum(), lifted=-pl.col("lifted").sum()
    )
    changes = counts.unpivot(["created", "lifted"], index=["start", "end"])
    scaled = quantity(changes["value"], "made, lifted")
    drawn: alt.Chart = (
        alt.Chart(changes.select("start", "end", "value", zero=0))
        .mark_rect(color=GREY)
        .encode(
            x=when,
            x2=alt.X2("end:T"),
            y=alt.Y("zero:Q", scale=scaled.scale, axis=scaled.axis),
            y2=alt.Y2("value:Q"),
        )
        .properties(width=PANEL, height=110)
    )
    return drawn
