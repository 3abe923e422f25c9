"""The elements of pictures: axes, stacks and lines over time, rows of marks, and heat maps."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

import altair as alt
import polars as pl

from comptroller.analysis.plots import theme
from comptroller.analysis.plots.frames import fill_notes, names_of
from comptroller.analysis.plots.theme import BLUE, GREY, PANEL, Picture

#: The maximum number of bars in a picture.
MAX_BARS = 20
#: The maximum number of periods that can be distinguished at 600 pixels.
MAX_PERIODS = 180
_STEPS = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo", "quarter": "1q"}
_STEPS |= {"year": "1y", "decade": "10y", "century": "100y"}
_LAST = datetime.max.replace(tzinfo=UTC)
#: The axis with a row for each series.
ROWS = alt.Y("series", title=None)
#: The share of one series from which on the others would be invisible in a stack.
_DOMINATES = 0.985
#: The ratio of the largest value to the median from which on the scale is logarithmic.
_LOG_RATIO = 60
#: The maximum number of powers of ten, ticks and dates on an axis.
_MAX_POWERS, _MAX_TICKS, _MAX_DATES = 8, 5, 6
#: The maximum number of columns of a heat map whose cells have room for text.
_MAX_TEXT_COLUMNS = 14
_INK = alt.expr("luminance(scale('color', datum.value)) > 0.22 ? '#000' : '#fff'")
#: Labels with k, M, bn and tn; other SI prefixes are replaced by exponents.
LABEL = (
    "datum.value == 0 ? '0' : abs(datum.value) >= 1e15 || abs(datum.value) < 1e-3 "
    "? format(datum.value, '~e') : abs(datum.value) < 1 ? format(datum.value, '~r') "
    ": replace(replace(format(datum.value, '~s'), 'G', 'bn'), 'T', 'tn')"
)
#: Labels of ratios as percentages.
PERCENT = (
    "abs(datum.value) < 10 ? format(datum.value, '~%') "
    ": replace(format(datum.value * 100, '~s'), 'G', 'bn') + '%'"
)
#: Labels of dates; and of times, except midnight, on an axis of at most two weeks.
_DATE = "utcFormat(datum.value, '%Y-%m-%d')"
_TIME = "utcFormat(datum.value, datum.value % 86400000 ? '%Y-%m-%d %H:%M' : '%Y-%m-%d')"
_TIMES_UP_TO_MS = 14 * 86_400_000
_SHORTEST_S, _HOUR_S, _DAY_S, _YEAR_S = 0.001, 3_600, 86_400, 365 * 86_400
#: The ticks on an axis of seconds, and their labels.
_DURATIONS = {_SHORTEST_S: "1 ms", 0.01: "10 ms", 0.1: "0.1 s", 1: "1 s", 10: "10 s", 60: "1 min"}
_DURATIONS |= {600: "10 min", _HOUR_S: "1 h", 6 * _HOUR_S: "6 h"}
_DURATIONS |= {_DAY_S: "1 d", 7 * _DAY_S: "7 d", 30 * _DAY_S: "30 d"}
_DURATIONS |= {number * _YEAR_S: f"{number:,} y" for number in (1, 10, 100, 1_000)}


def draw_marks(frame: pl.DataFrame, mark: alt.MarkDef, **channels: Any) -> alt.Chart:
    """Draws a mark for each row of a frame, of which the picture has only the encoded columns."""
    fields = [each if isinstance(each, str) else each["shorthand"] for each in channels.values()]
    rows = frame.select(sorted({field.partition(":")[0] for field in fields}))
    chart: alt.Chart = alt.Chart(rows, mark=mark).encode(**channels)
    return chart


def quantity(
    values: Iterable[float | None], title: str, *, is_log: bool | None = None
) -> dict[str, Any]:
    """Returns a scale from zero and its axis; by default logarithmic if one value dwarfs others.

    A linear axis of counts has at most one tick per integer.
    """
    known = [value for value in values if value is not None]
    sizes = [abs(value) for value in known if value]
    if not sizes:
        return {"scale": alt.Scale(domain=[0, 1]), "axis": alt.Axis(title=title, values=[0])}
    if not (is_skewed(sizes) if is_log is None else is_log):
        span = max(0, *known) - min(0, *known)
        ticks = min(_MAX_TICKS, span) if isinstance(span, int) else _MAX_TICKS
        return {"axis": alt.Axis(title=title, tickCount=ticks, labelExpr=LABEL)}
    high = math.ceil(math.log10(max(sizes)))
    low = max(math.floor(math.log10(min(sizes))), high - _MAX_POWERS)
    step = max(1, math.ceil((high - low) / _MAX_TICKS))
    powers = [10.0**power for power in range(high, low - 1, -step)]
    shown = [0, *powers, *(-power for power in powers if power < -10 * min(known))]
    return {
        "scale": alt.Scale(type="symlog", constant=10.0**low),
        "axis": alt.Axis(title=f"{title}, log scale", values=shown, labelExpr=LABEL),
    }


def is_skewed(sizes: Sequence[float]) -> bool:
    """Whether one size dwarfs the others, which would be invisible on a linear scale."""
    return max(sizes) > _LOG_RATIO * median(sizes)


def durations(values: pl.Series, title: str) -> dict[str, Any]:
    """Returns a logarithmic scale of seconds and its axis, with ticks such as 1 min and 7 d.

    Times below a millisecond are drawn as a millisecond, see `too_short`.
    """
    known = values.drop_nulls().to_list() or [1.0]
    low = max((tick for tick in _DURATIONS if tick <= min(known)), default=_SHORTEST_S)
    longest = max(*known, 10 * low)
    high = min((tick for tick in _DURATIONS if tick >= longest), default=longest)
    shown = {tick: text for tick, text in _DURATIONS.items() if low <= tick <= high}
    labels = f"{json.dumps(shown)}[datum.value]"
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False, clamp=True),
        "axis": alt.Axis(title=title, values=list(shown), labelExpr=labels),
    }


def rates(values: pl.Series, title: str) -> dict[str, Any]:
    """Returns a scale of shares and its axis, from 0, 50 or 90 % to 100 %."""
    low = next(low for low in (0.9, 0.5, 0) if min(values) >= low)
    axis = alt.Axis(title=title, format="~%", values=[low, (low + 1) / 2, 1])
    return {"axis": axis, "scale": alt.Scale(domain=[low, 1])}


def places(names: list[str]) -> alt.Y:
    """Returns the axis of rows from top to bottom, in which bars reach from `place` to `top`."""
    middles = [place + 0.5 for place in range(len(names))]
    label = f"{json.dumps(names)}[floor(datum.value)]"
    axis = alt.Axis(title=None, values=middles, labelExpr=label, grid=False, ticks=False)
    scale = alt.Scale(domain=[0, len(names)], reverse=True, nice=False)
    return alt.Y("place:Q", scale=scale, axis=axis)


def too_short(values: pl.Series) -> list[str]:
    """Returns a note on times below a millisecond, if there are any."""
    negative = int((values < 0).sum())
    note = f"Drawn as 1 ms: {{}} shorter times, {negative:,} of them negative."
    return fill_notes({note: int((values < _SHORTEST_S).sum())})


def timeline(
    frame: pl.DataFrame, period: str, title: str, notes: list[str]
) -> tuple[pl.DataFrame, alt.X]:
    """Adds the `start` and `end` of a period to each row; returns also the time axis.

    Uses the shortest period of which there are at most `MAX_PERIODS`, and adds a note if that is
    longer than `period`. The title has its name in place of `{}`. Does not aggregate rows.
    """
    units = list(_STEPS)
    for unit in units[units.index(period) :]:
        start = pl.col(period).dt.truncate(_STEPS[unit])
        if frame.select(start.n_unique()).item() <= MAX_PERIODS:
            break
    if unit != period:
        notes.append(f"Drawn by {unit}: there are too many of each {period}.")
    return with_times(frame, start, _STEPS[unit], title.format(unit))


def with_times(
    frame: pl.DataFrame, start: pl.Expr, step: str, title: str
) -> tuple[pl.DataFrame, alt.X]:
    """Adds the `start` of each row and the `end` a step later; returns also the time axis.

    The axis has the dates of some starts, and ends with the last `end`.
    """
    end = pl.min_horizontal(start.dt.offset_by(step), pl.lit(_LAST))
    timed = frame.with_columns(start=start, end=end)
    starts, ends = (timed[name].dt.epoch("ms").unique().sort() for name in ("start", "end"))
    values = starts.gather_every(math.ceil(len(starts) / _MAX_DATES)).to_list()
    label = _TIME if ends[-1] - starts[0] <= _TIMES_UP_TO_MS else _DATE
    axis = alt.Axis(title=title, values=values, labelExpr=label, labelFlush=False, grid=False)
    scale = alt.Scale(type="utc", domain=[starts[0], ends[-1]], nice=False, padding=0)
    return timed, alt.X("start:T", scale=scale, axis=axis)


def colour_of(frame: pl.DataFrame) -> alt.Color:
    """Returns the colour encoding of the series, with a legend; statuses have fixed colours."""
    names = names_of(frame)
    colours = dict(zip(names, [*theme.SERIES, GREY], strict=False)) | theme.STATUSES
    return colour_by("series", {name: colours.get(name, GREY) for name in names})


def colour_by(column: str, colours: Mapping[str, str]) -> alt.Color:
    """Returns the colour encoding of a column with these colours by name, with a legend."""
    columns = 4 if max(map(len, colours)) <= 12 else 2
    return alt.Color(
        f"{column}:N",
        title=None,
        scale=alt.Scale(domain=list(colours), range=list(colours.values())),
        legend=alt.Legend(columns=columns, labelLimit=PANEL // columns - 30),  # without symbols
    )


def period_bars(
    frame: pl.DataFrame, when: alt.X, y: alt.Y, colour: str = GREY, **channels: Any
) -> alt.Chart:
    """Draws a panel with a bar for each row, from its `start` to its `end`; stacks the series."""
    mark = alt.MarkDef("bar", orient="vertical", binSpacing=0, color=colour, strokeWidth=0.4)
    return draw_marks(frame, mark, x=when, x2="end:T", y=y, **channels)


def volume_of(
    frame: pl.DataFrame, measure: str, title: str, when: alt.X, notes: list[str]
) -> alt.Chart:
    """Draws the sums of a measure: a stack, or lines, with a note, if one series dwarfs others."""
    summed = frame.group_by("start", "end", "series").agg(pl.col(measure).sum())
    rows = summed.sort("start", "series").with_columns(place=pl.col("series").to_physical())
    shares = rows.group_by("series").agg(pl.col(measure).sum())[measure].to_list()
    if len(shares) > 1 and max(shares) > _DOMINATES * sum(shares):
        largest = max(shares) / sum(shares)
        notes.append(f"{title}: one has {largest:.1%}, so lines instead of a stack.")
        return lines(rows, measure, quantity(rows[measure], title, is_log=True), when)
    tops = rows.group_by("start").agg(pl.col(measure).sum())[measure]
    y = alt.Y(f"{measure}:Q", **quantity(tops, title, is_log=False))
    colour = colour_of(rows)
    # A stroke hides the gaps between adjacent bars.
    stroke = alt.Stroke("series:N", scale=colour["scale"], legend=None)
    stack = period_bars(rows, when, y, color=colour, stroke=stroke, order="place:Q")
    return stack.properties(height=190)


def lines(frame: pl.DataFrame, measure: str, scaled: Mapping[str, Any], when: alt.X) -> alt.Chart:
    """Draws the measure of each series as a line over the periods."""
    # Points, so that a single value is visible.
    mark = alt.MarkDef("line", strokeWidth=1.8, strokeJoin="round", point={"size": 15})
    y = alt.Y(f"{measure}:Q", **scaled)
    return draw_marks(frame, mark, x=when, y=y, color=colour_of(frame))


def bars(frame: pl.DataFrame, measure: str, title: str, colour: str = BLUE) -> alt.Chart:
    """Draws the sum of the measure of each series as a bar."""
    summed = frame.group_by("series", maintain_order=True).agg(pl.col(measure).sum())
    x = alt.X(f"{measure}:Q", **quantity(summed[measure], title))
    chart = draw_marks(summed, alt.MarkDef("bar", color=colour), x=x, y=ROWS)
    return chart.properties(width=theme.WIDTH - theme.NAMES)


def band(edge: float, **channels: Any) -> alt.Chart:
    """Draws the band from -`edge` (column `low`) to `edge` (column `high`)."""
    edges = pl.DataFrame({"low": [-edge], "high": [edge]})
    return draw_marks(edges, alt.MarkDef("rect", color=GREY, opacity=0.25), **channels)


def beside(bars: alt.Chart, texts: pl.DataFrame, title: str) -> Picture:
    """Adds a titled column of the texts of each series at the right of bars."""
    place: dict[str, Any] = {"align": "left", "x": "width", "dx": 6}
    column = draw_marks(texts, alt.MarkDef("text", **place), y=ROWS, text="text:N")
    above = alt.MarkDef("text", y=-9, **place)
    heading = draw_marks(pl.DataFrame({"text": [title]}), above, text="text:N")
    return alt.layer(bars, column, heading)


def heat(
    cells: pl.DataFrame, x: alt.X, y: alt.Y, scale: alt.Scale, title: str, ticks: str, label: str
) -> Picture:
    """Draws a heat map of `value` by `column`, with labels in the cells if they have room."""
    legend = alt.Legend(title=title, labelExpr=ticks, gradientLength=200, tickCount=2)
    colour = alt.Color("value:Q", scale=scale, legend=legend)
    rects = draw_marks(cells, alt.MarkDef("rect"), x=x, y=y, color=colour)
    if cells["column"].n_unique() > _MAX_TEXT_COLUMNS:
        return rects
    mark = alt.MarkDef("text", text=alt.expr(label), fontSize=10, color=_INK)
    texts = draw_marks(cells, mark, x=x, y=y, detail="value:Q")
    return alt.layer(rects, texts).properties(height=alt.Step(22))


def message(text: str) -> alt.Chart:
    """Draws a text, for a report without data."""
    mark = alt.MarkDef("text", fontSize=13, color=GREY)
    return draw_marks(pl.DataFrame({"text": [text]}), mark, text="text:N").properties(height=90)
