"""Pictures of orchestrations, unusual days, controls and histories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from comptroller.analysis.plots import frames, marks, scales, theme
from comptroller.analysis.registry import period_of

if TYPE_CHECKING:
    from comptroller.analysis.report import Report

_KINDS = ("type", "set_by")
_MAX_ASSETS = 10
_MAX_POINTS = 2_000


def orchestrations(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the number of orchestrations, and of failed ones, for each pair of assets."""
    weighed = ("orchestrations", _MAX_ASSETS)
    named, _ = frames.with_series(frame, ["source_asset"], *weighed, "row")
    named, _ = frames.with_series(named, ["destination_asset"], *weighed, "column")
    value = pl.col("orchestrations").sum()
    thousands = pl.format("{}k", (value / 1000).round(0).cast(pl.Int64))
    cells = named.group_by("row", "column", maintain_order=True).agg(
        value=value,
        text=pl.when(value < 10_000).then(value.cast(pl.String)).otherwise(thousands),
    )
    is_skewed = scales.is_skewed(cells["value"])
    slanted = alt.Axis(labelAngle=-40, labelLimit=110, labelOverlap=False)
    picture = marks.heat(
        cells,
        x=alt.X("column", title="to", axis=slanted),
        y=alt.Y("row", title="from", axis=marks.LEFT),
        scale=alt.Scale(type="symlog" if is_skewed else "linear", scheme="cividis", domainMin=0),
        title="orchestrations",
        label=scales.LABEL,
    )
    failed = frame.filter(pl.col("status").is_in(["FAILED", "REJECTED"]))
    total, bad = (int(each["orchestrations"].sum()) for each in (frame, failed))
    return picture, [f"{total:,} orchestrations, {bad:,} of them FAILED or REJECTED."]


def anomalies(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the days outside the band by their distance from the median, in MADs."""
    keys = frame.columns[: frame.columns.index("day")]
    named, _ = frames.with_series(frame, keys)
    shown = _furthest(named)
    notes = ["How many MADs a day is from the median of its series; grey: the band."]
    if len(shown) < len(frame):
        left = len(frame) - len(shown)
        notes.append(f"Shows the furthest {_MAX_POINTS:,} days; {left:,} others are not drawn.")
    if unscored := shown["score"].null_count():
        notes.append(f"Crosses: {unscored:,} days without a score, as their series hardly vary.")
    edge = float(report.given.get("band", 0))
    furthest = float(shown["score"].abs().max() or edge or 1)  # type: ignore[arg-type]
    side = pl.when(pl.col("value") < pl.col("median")).then(-furthest).otherwise(furthest)
    placed = frames.with_day(shown, "day").with_columns(
        pl.col("score").fill_null(side), known=pl.col("score").is_not_null()
    )
    title = f"{report.given['measure']}, in MADs"
    scaled = scales.quantity(pl.concat([placed["score"], pl.Series([-edge, edge])]), title)
    shape = alt.Scale(domain=[True, False], range=["circle", "cross"])
    points = marks.drawn(
        placed,
        alt.MarkDef("point", filled=True, size=45, opacity=0.9),
        x=scales.times(placed, "day (UTC)"),
        y=alt.Y("score:Q", **scaled),
        color=marks.colour_of(placed),
        shape=alt.Shape("known:N", legend=None, scale=shape),
    )
    band = marks.band(edge, y=alt.Y("low:Q", **scaled), y2="high:Q")
    return alt.layer(band, points), notes


def _furthest(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the days to draw: those with the largest scores, and up to a quarter without one.

    If there are few days with a score, more days without one fill the limit.
    """
    has_score = pl.col("score").is_not_null()
    scored = frame.filter(has_score).sort(pl.col("score").abs(), descending=True)
    unscored = frame.filter(~has_score).head(max(_MAX_POINTS // 4, _MAX_POINTS - len(scored)))
    return pl.concat([scored.head(_MAX_POINTS - len(unscored)), unscored])


def restrictions(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the active controls by type and setter over time, and those created and lifted."""
    period = period_of(report.keys)
    if period is None:
        named, _ = frames.with_series(frame, _KINDS, "active", marks.MAX_BARS)
        return marks.bars(named, "active", "controls in force"), []
    named, _ = frames.with_series(frame, _KINDS, "created")
    notes: list[str] = []
    spanned, unit = frames.with_spans(named, period, notes)
    when = scales.times(spanned, f"by {unit} (UTC)")
    # Each listed period has all active controls; of merged periods, the last one counts.
    last = spanned.filter(pl.col(period) == pl.col(period).max().over("start"))
    starts = spanned.select("start", "end").unique().sort("start")
    until = starts.with_columns(end=pl.col("start").shift(-1).fill_null(pl.col("end")))
    active = last.drop("end").join(until, on="start")
    in_force = marks.volume_of(active, "active", "in force at the end", when, notes)
    changes = (
        spanned.group_by("start", "end", maintain_order=True)
        .agg(pl.col("created").sum(), lifted=-pl.col("lifted").sum())
        .unpivot(["created", "lifted"], index=["start", "end"])
    )
    y = alt.Y("value:Q", **scales.quantity(changes["value"], "made, lifted"))
    below = marks.period_bars(changes, when, y).properties(height=110)
    return alt.vconcat(in_force, below), notes


def history(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the times of events, in a strip for each kind of event."""
    known = frame.drop_nulls("at")
    named, _ = frames.with_series(known, ["record", "event"], most=marks.MAX_BARS)
    ends = frames.with_day(named, "at")
    mark = alt.MarkDef("tick", size=14, color=theme.BLUE)
    return marks.drawn(ends, mark, x=scales.times(ends, "time (UTC)"), y=marks.ROWS), []
