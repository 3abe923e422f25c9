"""What pictures are made of: piles and lines over time, bars beside their names."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from comptroller.analysis.plots.scales import LABEL, Scaled, quantity, ticks_for
from comptroller.analysis.plots.theme import BLUE, GREY, PANEL, STATUSES, Picture, colours

#: Bars that are told apart, one above the other.
MOST_BARS = 20
#: As many points are shown on their lines; a single one would not be seen otherwise.
_MOST_POINTS = 60
ROW = alt.Step(18)
#: What one series must hold for the others to vanish from a pile.
_DOMINATES = 0.985
#: The title of the names of rows, above them: beside few of them it would have no room.
ABOVE: dict[str, Any] = {
    "titleAngle": 0,
    "titleAnchor": "start",
    "titleBaseline": "bottom",
    "titleY": -4,
}
LEFT: dict[str, Any] = {**ABOVE, "titleAlign": "right", "titleX": -6}
#: A legend has four columns of such short labels, of longer ones two; what its symbols take.
_SHORT_LETTERS = 12
_SYMBOL = 30
#: The most columns of a heat map whose cells have room for a text.
_MOST_TEXTS = 14
#: From here on, of 1, a cell is too bright for white text.
_BRIGHT = 0.55


def colour_of(names: Sequence[str], column: str = "series") -> alt.Color:
    """The colour of each name, with its legend; words of a status have their own."""
    return alt.Color(f"{column}:N", **_coloured(names))


def _coloured(names: Sequence[str]) -> dict[str, Any]:
    columns = 4 if max(map(len, names)) <= _SHORT_LETTERS else 2
    legend = alt.Legend(columns=columns, labelLimit=PANEL // columns - _SYMBOL)
    scale = colours(names, STATUSES)
    return {"title": None, "scale": scale, "sort": list(names), "legend": legend}


def pile(
    frame: pl.DataFrame, names: Sequence[str], measure: str, title: str, when: alt.X
) -> alt.Chart:
    """The measure of each series upon those before it in `names`, from `start` to `end`."""
    places = pl.DataFrame({"series": names, "place": range(len(names))})
    piled = (
        frame.select("start", "end", "series", pl.col(measure).alias("height"))
        .join(places, on="series")
        .sort("start", "place")
        .with_columns(top=pl.col("height").cum_sum().over("start"))
        .with_columns(bottom=pl.col("top") - pl.col("height"))
    )
    axis = alt.Axis(title=title, labelExpr=LABEL, tickCount=ticks_for(piled["top"]))
    drawn: alt.Chart = (
        alt.Chart(piled.select("start", "end", "series", "bottom", "top"))
        .mark_rect(strokeWidth=0.4)
        .encode(
            x=when,
            x2=alt.X2("end:T"),
            y=alt.Y("bottom:Q", axis=axis),
            y2=alt.Y2("top:Q"),
            color=colour_of(names),
            # Without it the ground shines through between two of them.
            stroke=alt.Stroke("series:N", **_coloured(names)),
        )
        .properties(width=PANEL, height=190)
    )
    return drawn


def volume_of(
    counted: pl.DataFrame, names: list[str], measure: str, title: str, when: alt.X, notes: list[str]
) -> alt.Chart:
    """A pile, or lines in steps of ten where one series would hide the others; noted then."""
    shares = counted.group_by("series").agg(pl.col(measure).sum())[measure]
    total, largest = float(shares.sum()), float(shares.max() or 0)  # type: ignore[arg-type]
    if len(shares) < 2 or largest <= _DOMINATES * total:
        return pile(counted, names, measure, title, when)
    notes.append(f"{title}: one has {largest / total:.1%}, so lines instead of a pile.")
    return lines(counted, names, measure, quantity(counted[measure], title, tens=True), when)


def lines(
    frame: pl.DataFrame, names: Sequence[str], measure: str, scaled: Scaled, when: alt.X
) -> alt.Chart:
    """The measure of each series from period to period."""
    drawn: alt.Chart = (
        alt.Chart(frame.select("start", "series", measure))
        .mark_line(strokeWidth=1.8, point=len(frame) <= _MOST_POINTS)
        .encode(
            x=when,
            y=scaled.y(measure),
            color=colour_of(names),
        )
        .properties(width=PANEL, height=150)
    )
    return drawn


def rows_of(names: Sequence[str]) -> alt.Y:
    """The series one below the other."""
    return alt.Y("series:N", title=None, sort=list(names))


def bars(
    frame: pl.DataFrame, names: Sequence[str], measure: str, title: str, colour: str = BLUE
) -> alt.Chart:
    """A bar for each series: what the measure adds up to."""
    summed = frame.group_by("series", maintain_order=True).agg(pl.col(measure).sum())
    x = quantity(summed[measure], title).x(measure)
    drawn: alt.Chart = alt.Chart(summed).mark_bar(color=colour).encode(x=x, y=rows_of(names))
    return drawn.properties(height=ROW)


def band(edge: float) -> alt.Chart:
    """What lies between -`edge`, the column `low`, and `edge`, `high`."""
    drawn: alt.Chart = alt.Chart(pl.DataFrame({"low": [-edge], "high": [edge]})).mark_rect(
        color=GREY, opacity=0.25
    )
    return drawn


def beside(drawn: alt.Chart, texts: Mapping[str, str], title: str) -> Picture:
    """Bars with a text at the right of each, by its name, under a title."""
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
    tens: bool = False,
) -> Picture:
    """Cells of `column`, `row` and `value`, with their `text` where there is room for it."""
    low, high = domain
    place = (pl.col("value") - low) / max(high - low, 1e-300)
    if tens:
        place = (pl.col("value") + 1).log() / math.log(high + 1)
    scale = alt.Scale(type="symlog" if tens else "linear", scheme="cividis", domain=[low, high])
    legend = alt.Legend(title=title, labelExpr=label, gradientLength=200, tickCount=2)
    rects = (
        alt.Chart(cells)
        .mark_rect()
        .encode(x=x, y=y, color=alt.Color("value:Q", scale=scale, legend=legend))
    )
    if cells["column"].n_unique() > _MOST_TEXTS:
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


def say(text: str) -> alt.Chart:
    """Words where there is nothing to draw."""
    said = alt.Chart(pl.DataFrame({"text": [text]})).mark_text(fontSize=13, color=GREY)
    texts: alt.Chart = said.encode(text=alt.Text("text:N")).properties(height=90)
    return texts
