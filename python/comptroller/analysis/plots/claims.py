"""Pictures of claims counted: volume over time, how surely, why they failed."""

from __future__ import annotations

import altair as alt
import polars as pl

from comptroller.analysis.plots.frames import (
    by_asset,
    period_of,
    with_series,
    with_spans,
    words_of,
)
from comptroller.analysis.plots.marks import (
    BAR,
    MOST_BARS,
    across,
    lines,
    rows_of,
    volume_of,
    width_of,
)
from comptroller.analysis.plots.scales import Scaled, quantity, times
from comptroller.analysis.plots.theme import (
    BLUE,
    GREEN,
    PANEL,
    STATUSES,
    VERMILLION,
    Picture,
    colours,
)
from comptroller.analysis.report import Report

_COUNTS = pl.col("claims", "confirmed", "failed").sum()
#: What the labels and the bars beside them have more than a panel.
_BESIDE = 50
_ENDED = pl.col("confirmed") + pl.col("failed")


def summary(frame: pl.DataFrame, report: Report) -> tuple[Picture, list[str]]:
    """Volume over time by status or else by the other keys; bars without a period.

    Beside it success rates, or amounts by status and where nothing has succeeded or failed yet.
    """
    period = period_of(report.keys)
    keys = report.keys
    return _bars(frame, keys) if period is None else _over_time(frame, keys, period)


def _over_time(
    frame: pl.DataFrame, keys: tuple[str, ...], period: str
) -> tuple[Picture, list[str]]:
    words = words_of(keys)
    by_status = "status" in words
    named, names, _ = with_series(frame, ["status"] if by_status else words, "claims")
    if by_status:
        order = list(STATUSES)
        names.sort(key=lambda name: order.index(name) if name in order else len(order))
    spanned, unit = with_spans(named, period)
    counted = spanned.group_by("start", "end", "series").agg(_COUNTS).sort("start", "series")
    notes = [] if unit == period else [f"Drawn by {unit}: there are too many of each {period}."]
    when = times(counted, f"created, by {unit} (UTC)")
    volume = volume_of(counted, names, "claims", "claims", when, notes)
    rates = _with_rate(counted)
    if len(rates) and not by_status:
        return alt.vconcat(volume, lines(rates, names, "rate", _shares(rates), when)), notes
    amounts = []
    for asset, some in by_asset(spanned.rename({"series": "of"}), notes):
        summed = some.group_by("start", "end", series="of").agg(pl.col("amount").sum())
        ordered = summed.sort("start", "series")
        amounts.append(volume_of(ordered, names, "amount", f"amount ({asset})", when, notes))
    return alt.vconcat(volume, *amounts), notes


def _with_rate(counted: pl.DataFrame) -> pl.DataFrame:
    return counted.filter(_ENDED > 0).with_columns(rate=pl.col("confirmed") / _ENDED)


def _shares(rates: pl.DataFrame) -> Scaled:
    lowest = float(rates["rate"].min() or 0) if len(rates) else 0  # type: ignore[arg-type]
    low = 0.9 if lowest >= 0.9 else 0.5 if lowest >= 0.5 else 0
    axis = alt.Axis(title="success rate", format="~%", values=[low, (low + 1) / 2, 1])
    return Scaled(alt.Scale(domain=[low, 1]), axis)


def _bars(frame: pl.DataFrame, keys: tuple[str, ...]) -> tuple[Picture, list[str]]:
    notes: list[str] = []
    named, names, _ = with_series(frame, keys, "claims", MOST_BARS)
    counted = named.group_by("series").agg(_COUNTS)
    claims = across("claims", quantity(counted["claims"], "claims"))
    room = PANEL + _BESIDE - width_of(names)
    volume = alt.Chart(counted).mark_bar(color=BLUE).encode(x=claims, y=rows_of(names))
    if "status" in keys:
        amounts = _amounts(named.rename({"series": "of"}), names, notes)
        if len(amounts) > 1:
            drawn = [each.properties(width=room, height=BAR) for each in (volume, *amounts)]
            return alt.vconcat(*drawn), notes
        (beside,) = amounts
    else:
        rates = _with_rate(counted)
        points = alt.Chart(rates).mark_point(filled=True, size=70, color=BLUE, opacity=1)
        beside = points.encode(x=across("rate", _shares(rates)))
    bare = beside.encode(y=rows_of(names, axis=None)).properties(width=0.4 * room, height=BAR)
    return alt.hconcat(volume.properties(width=0.6 * room, height=BAR), bare), notes


def _amounts(named: pl.DataFrame, names: list[str], notes: list[str]) -> list[alt.Chart]:
    """Bars of the amounts of each asset."""
    drawn = []
    for asset, some in by_asset(named, notes):
        summed = some.group_by(series="of").agg(pl.col("amount").sum())
        x = across("amount", quantity(summed["amount"], f"amount ({asset})"))
        drawn.append(alt.Chart(summed).mark_bar(color=BLUE).encode(x=x, y=rows_of(names)))
    return drawn


def schedules(frame: pl.DataFrame, report: Report) -> tuple[Picture, list[str]]:
    """How many claims of each schedule have failed since its last confirmed one."""
    named, names, _ = with_series(frame, ["schedule"], "failures", MOST_BARS)
    counted = named.group_by("series").agg(pl.col("failures").sum())
    x = across("failures", quantity(counted["failures"], "claims failed since the last confirmed"))
    bars = alt.Chart(counted).mark_bar(color=VERMILLION)
    return bars.encode(x=x, y=rows_of(names)).properties(height=BAR), []


def failures(frame: pl.DataFrame, report: Report) -> tuple[Picture, list[str]]:
    """How many failures each message has, and within how many were made good."""
    named, names, _ = with_series(frame, ["error_message"], "failures", MOST_BARS)
    counted = named.group_by("series").agg(pl.col("failures", "made_good").sum())
    scaled = quantity(counted["failures"], "failed claims")
    told = {"failures": "failed", "made_good": "made good later"}
    scale = colours(list(told.values()), dict(zip(told.values(), (VERMILLION, GREEN), strict=True)))
    bars = [
        alt.Chart(counted.select("series", pl.col(name).alias("claims"), what=pl.lit(what)))
        .mark_bar(size=size)
        .encode(
            x=across("claims", scaled),
            y=rows_of(names),
            color=alt.Color("what:N", title=None, scale=scale),
        )
        for (name, what), size in zip(told.items(), (14, 6), strict=True)
    ]
    layered = alt.layer(*bars).properties(height=BAR)
    others = [key for key in report.keys if key != "error_message"]
    return layered, [f"Added over every {' and '.join(others)}."] if others else []
