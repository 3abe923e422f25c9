"""Scales and axes: quantities, linear or logarithmic, durations and times."""

from __future__ import annotations

import json
import math
from typing import Any

import altair as alt
import polars as pl

#: The ratio of the largest value to the median from which on the scale is logarithmic.
_LOG_RATIO = 60
#: The maximum number of powers of ten on an axis.
_MAX_POWERS = 8
_MAX_TICKS = 5
_SHORTEST_S = 0.001
_DAY_S = 86_400
#: The maximum number of dates on an axis, and their labels; midnight has no time.
_MAX_DATES = 6
_DATE = "utcFormat(datum.value, '%Y-%m-%d')"
_TIME = "utcFormat(datum.value, '%m-%d %H:%M')"
_SPANS = {
    0.001: "1 ms",
    0.01: "10 ms",
    0.1: "0.1 s",
    1: "1 s",
    10: "10 s",
    60: "1 min",
    600: "10 min",
    3_600: "1 h",
    6 * 3_600: "6 h",
    _DAY_S: "1 d",
    7 * _DAY_S: "7 d",
    30 * _DAY_S: "30 d",
    365 * _DAY_S: "1 y",
    3_650 * _DAY_S: "10 y",
    36_500 * _DAY_S: "100 y",
    365_000 * _DAY_S: "1,000 y",
}


def quantity(values: pl.Series, title: str, *, is_log: bool = False) -> dict[str, Any]:
    """Returns a scale from zero and its axis; logarithmic if one value dwarfs the others."""
    sizes = values.cast(pl.Float64).drop_nulls().abs().filter(values.drop_nulls() != 0)
    if not len(sizes):
        return {"scale": alt.Scale(domain=[0, 1]), "axis": alt.Axis(title=title, values=[0])}
    least, largest = _extremes(sizes)
    if not is_log and not is_skewed(sizes):
        return {"axis": counted(values, title)}
    high = math.ceil(math.log10(largest))
    low = max(math.floor(math.log10(least)), high - _MAX_POWERS)
    step = max(1, math.ceil((high - low) / _MAX_TICKS))
    marks = [10.0**power for power in range(high, low - 1, -step)]
    below = -10 * float(values.min() or 0)  # type: ignore[arg-type]
    negative = [-mark for mark in marks if mark < below]
    shown = [*negative, 0, *reversed(marks)]
    return {
        "scale": alt.Scale(type="symlog", constant=10.0**low),
        "axis": alt.Axis(title=f"{title}, log scale", values=shown, labelExpr=LABEL),
    }


def is_skewed(sizes: pl.Series) -> bool:
    """Whether one size dwarfs the others, which would be invisible on a linear scale."""
    _, largest = _extremes(sizes)
    return largest > _LOG_RATIO * float(sizes.median() or 0)  # type: ignore[arg-type]


def counted(values: pl.Series, title: str) -> alt.Axis:
    """Returns a linear axis; for counts, with at most one tick per integer."""
    ticks = _MAX_TICKS
    if values.dtype.is_integer() and len(values):
        least, largest = _extremes(values)
        ticks = max(1, min(ticks, int(max(largest, 0) - min(least, 0))))
    return alt.Axis(title=title, tickCount=ticks, labelExpr=LABEL)


#: Labels with k, M, bn and tn; other SI prefixes are replaced by exponents.
LABEL = (
    "datum.value == 0 ? '0' : abs(datum.value) >= 1e15 || abs(datum.value) < 1e-3 "
    "? format(datum.value, '~e') : abs(datum.value) < 1 ? format(datum.value, '~r') "
    ": replace(replace(format(datum.value, '~s'), 'G', 'bn'), 'T', 'tn')"
)


def drawn_seconds(column: str) -> pl.Expr:
    """Returns seconds for a logarithmic scale; times below a millisecond become a millisecond."""
    return pl.col(column).clip(lower_bound=_SHORTEST_S)


def too_short(values: pl.Series) -> list[str]:
    """Returns a note on times below a millisecond, if there are any."""
    short = values.filter(values < _SHORTEST_S)
    if not len(short):
        return []
    negative = int((short < 0).sum())
    return [f"Drawn as 1 ms: {len(short):,} shorter times, {negative:,} of them negative."]


def spans(values: pl.Series, title: str) -> dict[str, Any]:
    """Returns a logarithmic scale of seconds and its axis, with ticks such as 1 min and 7 d."""
    known = values.drop_nulls()
    least, largest = _extremes(known) if len(known) else (1.0, 1.0)
    low = max((span for span in _SPANS if span <= least), default=_SHORTEST_S)
    high = min((span for span in _SPANS if span >= max(largest, 10 * low)), default=largest)
    shown = {span: text for span, text in _SPANS.items() if low <= span <= high}
    labels = f"{json.dumps(shown)}[datum.value]"
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(title=title, values=list(shown), labelExpr=labels),
    }


def _extremes(values: pl.Series) -> tuple[float, float]:
    return float(values.min()), float(values.max())  # type: ignore[arg-type]


def times(frame: pl.DataFrame, title: str) -> alt.X:
    """Returns the time axis in UTC, from the first `start` to the last `end`, with some starts."""
    starts = frame["start"].unique().sort()
    shown = starts.gather_every(math.ceil(len(starts) / _MAX_DATES))
    first, *values, last = (
        int(time.timestamp() * 1_000) for time in (starts[0], *shown, frame["end"].max())
    )
    is_long = last - first > _MAX_DATES * _DAY_S * 1_000
    label = _DATE if is_long else f"datum.value % 86400000 ? {_TIME} : {_DATE}"
    axis = alt.Axis(title=title, values=values, labelExpr=label, labelFlush=False, grid=False)
    scale = alt.Scale(type="utc", domain=[first, last], nice=False, padding=0)
    return alt.X("start:T", scale=scale, axis=axis)
