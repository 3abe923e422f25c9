"""The elements of pictures: stacked areas and lines over time, bars, and heat maps."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from comptroller.analysis.plots.scales import LABEL, Scaled, quantity, ticks_for
from comptroller.analysis.plots.theme import BLUE, GREY, PANEL, STATUSES, Picture, colours

#: The maximum number of bars in a picture.
MAX_BARS = 20
#: The maximum number of rows for which lines have points, so that a single value is visible.
_MAX_LINE_POINTS = 60
ROW = alt.Step(18)
#: The share of one series from which on the others would be invisible in a stack.
_DOMINATES = 0.985
#: Puts the title of an axis with row names above it, where a few rows also have room for it.
ABOVE: dict[str, Any] = {
    "titleAngle": 0,
    "titleAnchor": "start",
    "titleBaseline": "bottom",
    "titleY": -4,
}
LEFT: dict[str, Any] = {**ABOVE, "titleAlign": "right", "titleX": -6}
#: A legend has four columns if all labels are this short, else two.
_SHORT_LABEL_LENGTH = 12
#: The width of a legend symbol in pixels.
_SYMBOL = 30
#: The maximum number of columns of a heat map whose cells have room for text.
_MAX_TEXT_COLUMNS = 14
#: The position on the colour scale from which on text is black, not white.
_BRIGHT = 0.55


def colour_of(names: Sequence[str], column: str = "series") -> alt.Color:
    """Returns the colour encoding of the names, with a legend; statuses have fixed colours."""
    return alt.Color(f"{column}:N", **_coloured(names))


def fixed_colours(column: str, known: dict[str, str]) -> alt.Color:
    """Returns the colour encoding of a column with known values, with a legend."""
    return alt.Color(f"{column}:N", title=None, scale=colours(list(known), known))


def _coloured(names: Sequence[str]) -> dict[str, Any]:
    columns = 4 if max(map(len, names)) <= _SHORT_LABEL_LENGTH else 2
    legend = alt.Legend(columns=columns, labelLimit=PANEL // columns - _SYMBOL)
    scale = colours(names, STATUSES)
    return {"title": None, "scale": scale, "sort": list(names), "legend": legend}


def stack(
    frame: pl.DataFrame, names: Sequence[str], measure: str, title: str, when: alt.X
) -> alt.Chart:
    """Draws the measure of the series stacked in the order of `names`, from `start` to `end`."""
    places = pl.DataFrame({"series": names, "place": range(len(names))})
    stacked = (
        frame.select("start", "end", "series", pl.col(measure).alias("height"))
        .join(places, on="series")
        .sort("start", "place")
        .with_columns(top=pl.col("height").cum_sum().over("start"))
        .with_columns(bottom=pl.col("top") - pl.col("height"))
    )
    axis = alt.Axis(title=title, labelExpr=LABEL, tickCount=ticks_for(stacked["top"]))
    shown = stacked.select("start", "end", "series", "bottom", "top")
    drawn = rects(shown, when, alt.Y("bottom:Q", axis=axis), "top", 190, strokeWidth=0.4)
    # A stroke hides the gaps between adjacent rectangles.
    stroke = alt.Stroke("series:N", **_coloured(names))
    coloured: alt.Chart = drawn.encode(color=colour_of(names), stroke=stroke)
    return coloured


def rects(
    frame: pl.DataFrame, when: alt.X, y: alt.Y, top: str, height: int, **mark: Any
) -> alt.Chart:
    """Draws a panel with a rectangle for each row: from `start` to `end`, and from `y` to `top`."""
    marked = alt.Chart(frame).mark_rect(**mark)
    drawn: alt.Chart = marked.encode(x=when, x2=alt.X2("end:T"), y=y, y2=alt.Y2(f"{top}:Q"))
    return drawn.properties(width=PANEL, height=height)


def volume_of(
    counted: pl.DataFrame, names: list[str], measure: str, title: str, when: alt.X, notes: list[str]
) -> alt.Chart:
    """Draws a stack; or, with a note, lines on a log scale if one series dwarfs the others."""
    shares = counted.group_by("series").agg(pl.col(measure).sum())[measure]
    total, largest = float(shares.sum()), float(shares.max() or 0)  # type: ignore[arg-type]
    if len(shares) < 2 or largest <= _DOMINATES * total:
        return stack(counted, names, measure, title, when)
    notes.append(f"{title}: one has {largest / total:.1%}, so lines instead of a stack.")
    return lines(counted, names, measure, quantity(counted[measure], title, is_log=True), when)


def lines(
    frame: pl.DataFrame, names: Sequence[str], measure: str, scaled: Scaled, when: alt.X
) -> alt.Chart:
    """Draws the measure of each series as a line over the periods."""
    has_points = len(frame) <= _MAX_LINE_POINTS
    marked = alt.Chart(frame.select("start", "series", measure)).mark_line(
        strokeWidth=1.8, point=has_points
    )
    drawn: alt.Chart = marked.encode(x=when, y=scaled.y(measure), color=colour_of(names))
    return drawn.properties(width=PANEL, height=150)


def rows_of(names: Sequence[str]) -> alt.Y:
    """Returns the axis with a row for each series."""
    return alt.Y("series:N", title=None, sort=list(names))


def bars(
    frame: pl.DataFrame, names: Sequence[str], measure: str, title: str, colour: str = BLUE
) -> alt.Chart:
    """Draws the sum of the measure of each series as a bar."""
    summed = frame.group_by("series", maintain_order=True).agg(pl.col(measure).sum())
    x = quantity(summed[measure], title).x(measure)
    drawn: alt.Chart = alt.Chart(summed).mark_bar(color=colour).encode(x=x, y=rows_of(names))
    return drawn.properties(height=ROW)


def band(edge: float) -> alt.Chart:
    """Draws the band from -`edge` (column `low`) to `edge` (column `high`)."""
    drawn: alt.Chart = alt.Chart(pl.DataFrame({"low": [-edge], "high": [edge]})).mark_rect(
        color=GREY, opacity=0.25
    )
    return drawn


def beside(drawn: alt.Chart, texts: Mapping[str, str], title: str) -> Picture:
    """Adds a titled column of texts, by name, at the right of bars."""
    axis = alt.Axis(
        title=title,
        orient="right",
        labelExpr=f"{json.dumps(texts)}[datum.value]",
        ticks=False,
        domain=False,
        titleAlign="left",
        titleX=6,
        **ABOVE,
    )
    named = alt.Chart(pl.DataFrame({"series": list(texts)})).mark_point(opacity=0)
    texted = named.encode(y=alt.Y("series:N", sort=list(texts), axis=axis))
    layered: alt.LayerChart = alt.layer(drawn, texted).resolve_axis(y="independent")
    return layered.properties(height=ROW)


def heat(
    cells: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    title: str,
    domain: tuple[float, float],
    label: str = LABEL,
    *,
    is_log: bool = False,
) -> Picture:
    """Draws a heat map of `column`, `row` and `value`, with `text` if the cells have room."""
    low, high = domain
    place = (pl.col("value") - low) / max(high - low, 1e-300)
    if is_log:
        place = (pl.col("value") + 1).log() / math.log(high + 1)
    scale = alt.Scale(type="symlog" if is_log else "linear", scheme="cividis", domain=[low, high])
    legend = alt.Legend(title=title, labelExpr=label, gradientLength=200, tickCount=2)
    rects = (
        alt.Chart(cells)
        .mark_rect()
        .encode(x=x, y=y, color=alt.Color("value:Q", scale=scale, legend=legend))
    )
    if cells["column"].n_unique() > _MAX_TEXT_COLUMNS:
        bare: alt.Chart = rects.properties(height=ROW)
        return bare
    texts = [
        alt.Chart(some).mark_text(fontSize=10, color=ink).encode(x=x, y=y, text=alt.Text("text:N"))
        for ink, some in (
            ("#000", cells.filter(place > _BRIGHT)),
            ("#fff", cells.filter(place <= _BRIGHT)),
        )
    ]
    return alt.layer(rects, *texts).properties(height=alt.Step(22))


def message(text: str) -> alt.Chart:
    """Draws a text, for a report without data."""
    mark = alt.Chart(pl.DataFrame({"text": [text]})).mark_text(fontSize=13, color=GREY)
    chart: alt.Chart = mark.encode(text=alt.Text("text:N")).properties(height=90)
    return chart
