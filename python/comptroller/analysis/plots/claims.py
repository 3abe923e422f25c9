"""Pictures of claims: volume over time, success rates and failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from comptroller.analysis.plots import frames, marks, scales, theme
from comptroller.analysis.registry import period_of
from comptroller.display.numbers import percent

if TYPE_CHECKING:
    from comptroller.analysis.report import Report

#: The width of the bars of a panel, without their names.
_BARS = theme.WIDTH - theme.NAMES


def summary(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the volume over time, by status or by the other keys; bars if there is no period.

    Adds success rates; or amounts, if the key `status` is given or no claim has ended yet.
    """
    period = period_of(report.keys)
    keys = report.keys
    return _bars(frame, keys) if period is None else _over_time(frame, keys, period)


def _over_time(frame: pl.DataFrame, keys: tuple[str, ...], period: str) -> theme.Drawn:
    others = frames.non_periods_of(keys)
    by_status = "status" in others
    named, _ = frames.with_series(frame, ["status"] if by_status else others, "claims")
    if by_status:
        names = frames.names_of(named)
        known = [status for status in theme.STATUSES if status in names]
        named = frames.reordered(named, list(dict.fromkeys([*known, *names])))
    notes: list[str] = []
    spanned, unit = frames.with_spans(named, period, notes)
    when = scales.times(spanned, f"created, by {unit} (UTC)")
    panels = [marks.volume_of(spanned, "claims", "claims", when, notes)]
    rates = _rates(spanned, "start", "series").sort("start", "series")
    if len(rates) and not by_status:
        panels.append(marks.lines(rates, "rate", _rate_axis(rates), when))
    else:
        for asset, some in frames.by_asset(spanned, notes):
            panels.append(marks.volume_of(some, "amount", f"amount ({asset})", when, notes))
    return alt.vconcat(*panels), notes


def _rates(frame: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Returns the success rate of each key that has claims which ended."""
    counted = frame.group_by(keys).agg(pl.col("confirmed", "failed").sum())
    ended = pl.col("confirmed") + pl.col("failed")
    return counted.filter(ended > 0).select(*keys, rate=pl.col("confirmed") / ended)


def _rate_axis(rates: pl.DataFrame) -> Mapping[str, Any]:
    """Returns an axis that begins at 0, 50 or 90 % and ends at 100 %."""
    lowest = min(rates["rate"].to_list())
    low = next(low for low in (0.9, 0.5, 0) if lowest >= low)
    axis = alt.Axis(title="success rate", format="~%", values=[low, (low + 1) / 2, 1])
    return {"axis": axis, "scale": alt.Scale(domain=[low, 1])}


def _bars(frame: pl.DataFrame, keys: tuple[str, ...]) -> theme.Drawn:
    notes: list[str] = []
    named, _ = frames.with_series(frame, keys, "claims", marks.MAX_BARS)
    if "status" in keys:
        measures = [(named, "claims", "claims")]
        for asset, some in frames.by_asset(named, notes):
            measures.append((some, "amount", f"amount ({asset})"))
        panels = [marks.bars(*each).properties(width=_BARS) for each in measures]
        return alt.vconcat(*panels), notes
    volume = marks.bars(named, "claims", "claims")
    rates = _rates(named, "series")
    if not len(rates):
        return volume, notes
    texts = named.select(pl.col("series").unique()).join(rates, on="series", how="left")
    percents = texts.with_columns(text=pl.Series(map(percent, texts["rate"]), dtype=pl.String))
    return marks.beside(volume, percents, "success rate"), notes


def schedules(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the number of failed claims of each schedule since its last confirmed claim."""
    named, _ = frames.with_series(frame, ["schedule"], "failures", marks.MAX_BARS)
    title = "claims failed since the last confirmed"
    return marks.bars(named, "failures", title, theme.VERMILLION), []


def failures(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the number of failures with each message, and how many were made good later."""
    named, _ = frames.with_series(frame, ["error_message"], "failures", marks.MAX_BARS)
    failed, made_good = _OUTCOMES
    counted = (
        named.group_by("series", maintain_order=True)
        .agg(pl.col("failures").sum().alias(failed), pl.col("made_good").sum().alias(made_good))
        .unpivot([failed, made_good], index="series", variable_name="what", value_name="claims")
        .with_columns(pixels=pl.when(pl.col("what") == failed).then(14).otherwise(6))
    )
    all_failed = counted.filter(pl.col("what") == failed)["claims"]
    bars = marks.drawn(
        counted,
        alt.MarkDef("bar"),
        x=alt.X("claims:Q", stack=None, **scales.quantity(all_failed, "failed claims")),
        y=marks.ROWS,
        color=marks.coloured("what", _OUTCOMES),
        size=alt.Size("pixels:Q", scale=None, legend=None),
    )
    others = [key for key in report.keys if key != "error_message"]
    notes = [f"Added over every {' and '.join(others)}."] if others else []
    return bars, notes


_OUTCOMES = {"failed": theme.VERMILLION, "made good later": theme.GREEN}
