"""Pictures of orchestrations, unusual days, controls and histories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from comptroller.analysis.plots import frames, marks, scales, theme

if TYPE_CHECKING:
    from comptroller.analysis.report import Report

_KINDS = ("type", "set_by")
_MAX_ASSETS = 10
_MAX_POINTS = 2_000
#: The ratio of the largest cell to the median from which on the scale is logarithmic.
_LOG_RATIO = 60


def orchestrations(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the number of orchestrations, and of failed ones, for each pair of assets."""
    weighed = ("orchestrations", _MAX_ASSETS)
    sources = frames.with_series(frame, ["source_asset"], *weighed, "row")
    named = sources.frame
    destinations = frames.with_series(named, ["destination_asset"], *weighed, "column")
    failed = pl.col("orchestrations").filter(pl.col("status").is_in(["FAILED", "REJECTED"]))
    cells = (
        destinations.frame.group_by("row", "column", maintain_order=True)
        .agg(value=pl.col("orchestrations").sum(), failed=failed.sum())
        .with_columns(text=_count_text())
    )
    largest, median = float(cells["value"].max()), float(cells["value"].median())  # type: ignore[arg-type]
    slanted = alt.Axis(labelAngle=-40, labelLimit=110, labelOverlap=False)
    picture = marks.heat(
        cells.select("row", "column", "value", "text"),
        x=alt.X("column:N", title="to", sort=destinations.names, axis=slanted),
        y=alt.Y("row:N", title="from", sort=sources.names, axis=alt.Axis(**marks.LEFT)),
        title="orchestrations",
        domain=(0, largest),
        is_log=largest > _LOG_RATIO * median,
    )
    total = int(frame["orchestrations"].sum())
    bad = int(cells["failed"].sum())
    return picture, [f"{total:,} orchestrations, {bad:,} of them FAILED or REJECTED."]


def _count_text() -> pl.Expr:
    value = pl.col("value")
    short = pl.format("{}k", (value / 1000).round(0).cast(pl.Int64))
    return pl.when(value < 10_000).then(value.cast(pl.String)).otherwise(short)


def anomalies(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the days outside the band by their distance from the median, in MADs."""
    keys = frame.columns[: frame.columns.index("day")]
    named, names, _ = frames.with_series(frame, keys)
    drawn = _furthest(named)
    notes = ["How many MADs a day is from the median of its series; grey: the band."]
    if len(drawn) < len(frame):
        left = len(frame) - len(drawn)
        notes.append(f"Shows the furthest {_MAX_POINTS:,} days; {left:,} others are not drawn.")
    edge = float(report.given.get("band", 0))
    furthest = float(drawn["score"].abs().max() or edge or 1)  # type: ignore[arg-type]
    side = pl.when(pl.col("value") < pl.col("median")).then(-furthest).otherwise(furthest)
    placed = drawn.with_columns(
        pl.col("score").fill_null(side), known=pl.col("score").is_not_null()
    )
    unscored = len(placed) - int(placed["known"].sum())
    if unscored:
        notes.append(f"Crosses: {unscored:,} days without a score, as their series hardly vary.")
    placed = placed.with_columns(start="day", end=frames.end_of(pl.col("day"), "1d"))
    when = scales.times(placed, "day (UTC)")
    return _scores(placed, f"{report.given['measure']}, in MADs", names, edge, when), notes


def _furthest(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the days to draw: those with the largest scores, and up to a quarter without one.

    If there are few days with a score, more days without one fill the limit.
    """
    has_score = pl.col("score").is_not_null()
    scored = frame.filter(has_score).sort(pl.col("score").abs(), descending=True)
    unscored = frame.filter(~has_score).head(max(_MAX_POINTS // 4, _MAX_POINTS - len(scored)))
    return pl.concat([scored.head(_MAX_POINTS - len(unscored)), unscored])


def _scores(
    frame: pl.DataFrame, title: str, names: list[str], edge: float, when: alt.X
) -> theme.Picture:
    scaled = scales.quantity(pl.concat([frame["score"], pl.Series([-edge, edge])]), title)
    shape = alt.Scale(domain=[True, False], range=["circle", "cross"])
    points = (
        alt.Chart(frame.select("start", "score", "series", "known"))
        .mark_point(filled=True, size=45, opacity=0.9)
        .encode(
            x=when,
            y=scaled.y("score"),
            color=marks.colour_of(names),
            shape=alt.Shape("known:N", legend=None, scale=shape),
        )
    )
    inside = marks.band(edge).encode(y=scaled.y("low"), y2=alt.Y2("high:Q"))
    return alt.layer(inside, points).properties(width=theme.PANEL, height=150)


def restrictions(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the active controls by type and setter over time, and those created and lifted."""
    period = frames.period_of(report.keys)
    if period is None:
        named, names, _ = frames.with_series(frame, _KINDS, "active", marks.MAX_BARS)
        return marks.bars(named, names, "active", "controls in force"), []
    named, names, _ = frames.with_series(frame, _KINDS, "created")
    notes: list[str] = []
    spanned, unit = frames.with_spans(named, period, notes)
    # Each listed period has all active controls; of merged periods, the last one counts.
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
    when = scales.times(spanned, f"by {unit} (UTC)")
    counted = active.join(until, on="start").sort("start")
    in_force = marks.volume_of(counted, names, "controls", "in force at the end", when, notes)
    return alt.vconcat(in_force, _changes(spanned, when)), notes


def history(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the times of events, in a strip for each kind of event."""
    named, names, _ = frames.with_series(
        frame.drop_nulls("at"), ["record", "event"], most=marks.MAX_BARS
    )
    ends = named.with_columns(start="at", end=frames.end_of(pl.col("at"), "1d"))
    drawn = alt.Chart(named.select("series", start="at")).mark_tick(size=14, color=theme.BLUE)
    picture = drawn.encode(x=scales.times(ends, "time (UTC)"), y=marks.rows_of(names)).properties(
        height=marks.ROW
    )
    return picture, []


def _changes(spanned: pl.DataFrame, when: alt.X) -> alt.Chart:
    counts = spanned.group_by("start", "end", maintain_order=True).agg(
        pl.col("created").sum(), lifted=-pl.col("lifted").sum()
    )
    changes = counts.unpivot(["created", "lifted"], index=["start", "end"])
    scaled = scales.quantity(changes["value"], "made, lifted")
    shown = changes.select("start", "end", "value", zero=0)
    return marks.rects(shown, when, scaled.y("zero"), "value", 110, color=theme.GREY)
