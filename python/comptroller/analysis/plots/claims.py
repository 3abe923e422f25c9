"""Pictures of claims: volume over time, success rates and failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from comptroller.analysis.plots import frames, marks, scales, theme
from comptroller.display.numbers import percent

if TYPE_CHECKING:
    from comptroller.analysis.report import Report

_COUNTS = pl.col("claims", "confirmed", "failed").sum()
_ENDED = pl.col("confirmed") + pl.col("failed")


def summary(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the volume over time, by status or by the other keys; bars if there is no period.

    Adds success rates; or amounts, if the key `status` is given or no claim has ended yet.
    """
    period = frames.period_of(report.keys)
    keys = report.keys
    return _bars(frame, keys) if period is None else _over_time(frame, keys, period)


def _over_time(frame: pl.DataFrame, keys: tuple[str, ...], period: str) -> theme.Drawn:
    others = frames.non_periods_of(keys)
    by_status = "status" in others
    named, names, _ = frames.with_series(frame, ["status"] if by_status else others, "claims")
    if by_status:
        order = list(theme.STATUSES)
        names.sort(key=lambda name: order.index(name) if name in order else len(order))
    notes: list[str] = []
    spanned, unit = frames.with_spans(named, period, notes)
    counted = spanned.group_by("start", "end", "series").agg(_COUNTS).sort("start", "series")
    when = scales.times(counted, f"created, by {unit} (UTC)")
    volume = marks.volume_of(counted, names, "claims", "claims", when, notes)
    rates = _with_rate(counted)
    if len(rates) and not by_status:
        return alt.vconcat(volume, marks.lines(rates, names, "rate", _shares(rates), when)), notes
    amounts = []
    for asset, some in frames.by_asset(spanned, notes):
        summed = some.group_by("start", "end", "series").agg(pl.col("amount").sum())
        ordered = summed.sort("start", "series")
        amounts.append(marks.volume_of(ordered, names, "amount", f"amount ({asset})", when, notes))
    return alt.vconcat(volume, *amounts), notes


def _with_rate(counted: pl.DataFrame) -> pl.DataFrame:
    return counted.filter(_ENDED > 0).with_columns(rate=pl.col("confirmed") / _ENDED)


def _shares(rates: pl.DataFrame) -> scales.Scaled:
    lowest = float(rates["rate"].min() or 0) if len(rates) else 0  # type: ignore[arg-type]
    low = 0.9 if lowest >= 0.9 else 0.5 if lowest >= 0.5 else 0
    axis = alt.Axis(title="success rate", format="~%", values=[low, (low + 1) / 2, 1])
    return scales.Scaled(alt.Scale(domain=[low, 1]), axis)


def _bars(frame: pl.DataFrame, keys: tuple[str, ...]) -> theme.Drawn:
    notes: list[str] = []
    named, names, _ = frames.with_series(frame, keys, "claims", marks.MAX_BARS)
    volume = marks.bars(named, names, "claims", "claims")
    if "status" in keys:
        amounts = [
            marks.bars(some, names, "amount", f"amount ({asset})")
            for asset, some in frames.by_asset(named, notes)
        ]
        drawn = [each.properties(width=theme.WIDTH - theme.NAMES) for each in (volume, *amounts)]
        return alt.vconcat(*drawn), notes
    counted = named.group_by("series").agg(pl.col("confirmed", "failed").sum())
    rates = dict(_with_rate(counted).select("series", "rate").iter_rows())
    if not rates:
        return volume, notes
    return marks.beside(
        volume, {name: percent(rates.get(name)) for name in names}, "success rate"
    ), notes


def schedules(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the number of failed claims of each schedule since its last confirmed claim."""
    named, names, _ = frames.with_series(frame, ["schedule"], "failures", marks.MAX_BARS)
    title = "claims failed since the last confirmed"
    return marks.bars(named, names, "failures", title, theme.VERMILLION), []


def failures(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the number of failures with each message, and how many were made good later."""
    named, names, _ = frames.with_series(frame, ["error_message"], "failures", marks.MAX_BARS)
    counted = named.group_by("series", maintain_order=True).agg(
        pl.col("failures", "made_good").sum()
    )
    scaled = scales.quantity(counted["failures"], "failed claims")
    labels = {"failures": "failed", "made_good": "made good later"}
    colours = dict(zip(labels.values(), (theme.VERMILLION, theme.GREEN), strict=True))
    colour = marks.fixed_colours("what", colours)
    drawn = [
        alt.Chart(counted.select("series", pl.col(name).alias("claims"), what=pl.lit(what)))
        .mark_bar(size=size)
        .encode(x=scaled.x("claims"), y=marks.rows_of(names), color=colour)
        for (name, what), size in zip(labels.items(), (14, 6), strict=True)
    ]
    layered = alt.layer(*drawn).properties(height=marks.ROW)
    others = [key for key in report.keys if key != "error_message"]
    return layered, [f"Added over every {' and '.join(others)}."] if others else []
