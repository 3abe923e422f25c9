"""Reduction of rows for drawing: largest series, merged periods, shortened labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

import polars as pl

from comptroller.analysis.plots.theme import SERIES
from comptroller.analysis.registry import PERIODS
from comptroller.display.html import printable

#: The maximum number of periods that can be distinguished at 600 pixels.
MAX_PERIODS = 180
#: The maximum number of characters in a label; Vega truncates wider labels.
_MAX_LABEL_LENGTH = 40
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LAST = datetime.max.replace(tzinfo=UTC)
_STEPS = {
    "hour": "1h",
    "day": "1d",
    "week": "1w",
    "month": "1mo",
    "year": "1y",
    "decade": "10y",
    "century": "100y",
}
#: The maximum number of assets whose amounts are drawn, each in its own panel.
MAX_ASSETS = 4


def by_asset(frame: pl.DataFrame, notes: list[str]) -> list[tuple[str, pl.DataFrame]]:
    """Returns the label and the rows of each asset, most rows first; adds a note on the others."""
    named, others = with_series(frame, ["asset"], None, MAX_ASSETS, "panel", is_merged=False)
    if others is not None:
        notes.append(f"Shows the amounts of {MAX_ASSETS} assets, not of the {others}.")
    return [
        (name, named.filter(pl.col("panel") == name).drop("panel"))
        for name in names_of(named, "panel")
    ]


def with_series(
    frame: pl.DataFrame,
    keys: Sequence[str],
    weight: str | None = None,
    most: int = len(SERIES),
    column: str = "series",
    *,
    is_merged: bool = True,
) -> tuple[pl.DataFrame, str | None]:
    """Adds a column, named after the keys; merges, or drops, all but the `most` heaviest series.

    The weight of a series is the sum of its column `weight`, or else its number of rows. Different
    keys are always different series, even if their labels would be equal. The column is an
    enumeration, heaviest series first, and pictures keep this order. Returns also the name of the
    other series, or None if there are none.
    """
    if not keys:
        return frame.with_columns(pl.lit("all", pl.Enum(["all"])).alias(column)), None
    heaviest = (
        frame.group_by(keys, maintain_order=True)
        .agg(weight_of_series=pl.len() if weight is None else pl.col(weight).abs().sum())
        .sort("weight_of_series", *keys, descending=[True, *(False for _ in keys)])
        .select(keys)
    )
    kept = heaviest if len(heaviest) <= most + 1 else heaviest.head(most)
    left = len(heaviest) - len(kept)
    names = labels(kept.rows(), *([f"{left:,} others"] if left else []))
    own = names[: len(kept)]
    series = pl.Series(column, own, dtype=pl.Enum(names if is_merged else own))
    how: Any = {"how": "left" if is_merged else "inner", "maintain_order": "left"}
    joined = frame.join(kept.with_columns(series), on=keys, nulls_equal=True, **how)
    others = names[-1] if left else None
    if left and is_merged:
        joined = joined.with_columns(pl.col(column).fill_null(others))
    return joined, others


def names_of(frame: pl.DataFrame, column: str = "series") -> list[str]:
    """Returns the names of the series, in their order."""
    series = frame.schema[column]
    assert isinstance(series, pl.Enum)
    return series.categories.to_list()


def reordered(frame: pl.DataFrame, names: Sequence[str], column: str = "series") -> pl.DataFrame:
    """Returns the rows with these names of their series, in this order."""
    return frame.with_columns(pl.col(column).cast(pl.String).cast(pl.Enum(names)))


def with_day(frame: pl.DataFrame, time: str) -> pl.DataFrame:
    """Adds the `start`, which is a time, and the `end`, which is a day later."""
    return frame.with_columns(start=pl.col(time), end=_end_of(pl.col(time), "1d"))


def _end_of(start: pl.Expr, step: str) -> pl.Expr:
    """Returns the end of a period, at most the largest datetime."""
    return pl.min_horizontal(start.dt.offset_by(step), pl.lit(_LAST))


def with_spans(
    frame: pl.DataFrame, period: str, notes: list[str], most: int = MAX_PERIODS
) -> tuple[pl.DataFrame, str]:
    """Adds the `start` and `end` of a period to each row; returns also the name of the period.

    Uses the shortest period of which there are at most `most`, and adds a note if that is longer
    than `period`. Does not aggregate rows.
    """
    units = list(_STEPS)
    for unit in units[units.index(period) :]:
        step = _STEPS[unit]
        start = pl.col(period).dt.truncate(step)
        spanned = frame.with_columns(start=start, end=_end_of(start, step))
        if spanned["start"].n_unique() <= most:
            break
    if unit != period:
        notes.append(f"Drawn by {unit}: there are too many of each {period}.")
    return spanned, unit


def non_periods_of(keys: Sequence[str]) -> list[str]:
    """Returns the keys that are not periods."""
    return [key for key in keys if key not in PERIODS]


def shortened(text: str) -> str:
    """Shortens text to a label: cuts the middle of each UUID, and the end of a long text."""
    shown = _UUID.sub(lambda found: f"{found[0][:13]}…{found[0][-4:]}", printable(text))
    return shown if len(shown) <= _MAX_LABEL_LENGTH else f"{shown[: _MAX_LABEL_LENGTH - 1]}…"


def labels(rows: Sequence[Sequence[str | None]], *more: str) -> list[str]:
    """Returns a label for each row of key values, then those of `more`; numbers equal labels."""
    labels = [
        shortened(" · ".join("(none)" if word is None else word for word in row)) for row in rows
    ]
    labels += more
    times = Counter(labels)
    taken = {label for label in labels if times[label] == 1}
    for place, label in enumerate(labels):
        if times[label] > 1:
            numbered = (f"({number}) {label}" for number in count(1))
            labels[place] = next(free for free in numbered if free not in taken)
            taken.add(labels[place])
    return labels
