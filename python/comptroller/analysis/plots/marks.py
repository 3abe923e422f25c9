"""The elements of pictures: stacks and lines over time, rows of marks, and heat maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from comptroller.analysis.plots import scales
from comptroller.analysis.plots.frames import names_of
from comptroller.analysis.plots.theme import BLUE, GREY, PANEL, SERIES, STATUSES, Picture

#: The maximum number of bars in a picture.
MAX_BARS = 20
#: The maximum number of rows for which lines have points, so that a single value is visible.
_MAX_LINE_POINTS = 60
#: The axis with a row for each series.
ROWS = alt.Y("series", title=None)
#: The share of one series from which on the others would be invisible in a stack.
_DOMINATES = 0.985
#: Puts the title of an axis with row names above them, where a few rows also have room for it.
LEFT = alt.Axis(
    titleAngle=0,
    titleAnchor="start",
    titleBaseline="bottom",
    titleY=-4,
    titleAlign="right",
    titleX=-6,
)
#: A legend has four columns if all labels are this short, else two.
_SHORT_LABEL_LENGTH = 12
#: The width of a legend symbol in pixels.
_SYMBOL = 30
#: The maximum number of columns of a heat map whose cells have room for text.
_MAX_TEXT_COLUMNS = 14
_INK = alt.expr("luminance(scale('color', datum.value)) > 0.22 ? '#000' : '#fff'")


def drawn(frame: pl.DataFrame, mark: alt.MarkDef, **channels: Any) -> alt.Chart:
    """Draws a mark for each row of a frame, of which the picture has only the encoded columns."""
    fields = [each if isinstance(each, str) else each["shorthand"] for each in channels.values()]
    rows = frame.select(sorted({field.partition(":")[0] for field in fields}))
    chart: alt.Chart = alt.Chart(rows, mark=mark).encode(**channels)
    return chart


def colour_of(frame: pl.DataFrame) -> alt.Color:
    """Returns the colour encoding of the series, with a legend; statuses have fixed colours."""
    names = names_of(frame)
    colours = dict(zip(names, [*SERIES, GREY], strict=False)) | STATUSES
    return coloured("series", {name: colours.get(name, GREY) for name in names})


def coloured(column: str, colours: Mapping[str, str]) -> alt.Color:
    """Returns the colour encoding of a column with these colours by name, with a legend."""
    columns = 4 if max(map(len, colours)) <= _SHORT_LABEL_LENGTH else 2
    return alt.Color(
        f"{column}:N",
        title=None,
        scale=alt.Scale(domain=list(colours), range=list(colours.values())),
        legend=alt.Legend(columns=columns, labelLimit=PANEL // columns - _SYMBOL),
    )


def period_bars(
    frame: pl.DataFrame, when: alt.X, y: alt.Y, colour: str = GREY, **channels: Any
) -> alt.Chart:
    """Draws a panel with a bar for each row, from its `start` to its `end`; stacks the series."""
    mark = alt.MarkDef("bar", orient="vertical", binSpacing=0, color=colour, strokeWidth=0.4)
    return drawn(frame, mark, x=when, x2="end:T", y=y, **channels)


def stack(frame: pl.DataFrame, measure: str, title: str, when: alt.X) -> alt.Chart:
    """Draws the measure of the series stacked in their order, from `start` to `end`."""
    places = frame.with_columns(place=pl.col("series").to_physical())
    tops = frame.group_by("start").agg(pl.col(measure).sum())
    y = alt.Y(f"{measure}:Q", axis=scales.counted(tops[measure], title))
    colour = colour_of(frame)
    # A stroke hides the gaps between adjacent bars.
    stroke = alt.Stroke("series:N", scale=colour["scale"], legend=None)
    stacked = period_bars(places, when, y, color=colour, stroke=stroke, order="place:Q")
    return stacked.properties(height=190)


def volume_of(
    frame: pl.DataFrame, measure: str, title: str, when: alt.X, notes: list[str]
) -> alt.Chart:
    """Draws the sums of a measure: a stack, or lines, with a note, if one series dwarfs others."""
    summed = frame.group_by("start", "end", "series").agg(pl.col(measure).sum())
    counted = summed.sort("start", "series")
    shares = counted.group_by("series").agg(pl.col(measure).sum())[measure]
    total, largest = float(shares.sum()), float(shares.max() or 0)  # type: ignore[arg-type]
    if len(shares) < 2 or largest <= _DOMINATES * total:
        return stack(counted, measure, title, when)
    notes.append(f"{title}: one has {largest / total:.1%}, so lines instead of a stack.")
    return lines(counted, measure, scales.quantity(counted[measure], title, is_log=True), when)


def lines(frame: pl.DataFrame, measure: str, scaled: Mapping[str, Any], when: alt.X) -> alt.Chart:
    """Draws the measure of each series as a line over the periods."""
    mark = alt.MarkDef("line", strokeWidth=1.8, point=len(frame) <= _MAX_LINE_POINTS)
    y = alt.Y(f"{measure}:Q", **scaled)
    return drawn(frame, mark, x=when, y=y, color=colour_of(frame))


def bars(frame: pl.DataFrame, measure: str, title: str, colour: str = BLUE) -> alt.Chart:
    """Draws the sum of the measure of each series as a bar."""
    summed = frame.group_by("series", maintain_order=True).agg(pl.col(measure).sum())
    x = alt.X(f"{measure}:Q", **scales.quantity(summed[measure], title))
    return drawn(summed, alt.MarkDef("bar", color=colour), x=x, y=ROWS)


def band(edge: float, **channels: Any) -> alt.Chart:
    """Draws the band from -`edge` (column `low`) to `edge` (column `high`)."""
    edges = pl.DataFrame({"low": [-edge], "high": [edge]})
    return drawn(edges, alt.MarkDef("rect", color=GREY, opacity=0.25), **channels)


def beside(bars: alt.Chart, texts: pl.DataFrame, title: str) -> Picture:
    """Adds a titled column of the texts of each series at the right of bars."""
    place: dict[str, Any] = {"align": "left", "x": "width", "dx": 6}
    column = drawn(texts, alt.MarkDef("text", **place), y=ROWS, text="text:N")
    above = alt.MarkDef("text", y=-9, **place)
    heading = drawn(pl.DataFrame({"text": [title]}), above, text="text:N")
    return alt.layer(bars, column, heading)


def heat(
    cells: pl.DataFrame, x: alt.X, y: alt.Y, scale: alt.Scale, title: str, label: str
) -> Picture:
    """Draws a heat map of `value` by `column`, with `text` if the cells have room."""
    legend = alt.Legend(title=title, labelExpr=label, gradientLength=200, tickCount=2)
    colour = alt.Color("value:Q", scale=scale, legend=legend)
    rects = drawn(cells, alt.MarkDef("rect"), x=x, y=y, color=colour)
    if cells["column"].n_unique() > _MAX_TEXT_COLUMNS:
        return rects
    mark = alt.MarkDef("text", fontSize=10, color=_INK)
    texts = drawn(cells, mark, x=x, y=y, text="text:N", detail="value:Q")
    return alt.layer(rects, texts).properties(height=alt.Step(22))


def message(text: str) -> alt.Chart:
    """Draws a text, for a report without data."""
    mark = alt.MarkDef("text", fontSize=13, color=GREY)
    return drawn(pl.DataFrame({"text": [text]}), mark, text="text:N").properties(height=90)
