"""Rows made few enough to draw: the largest with the others added up, longer periods."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from typing import NamedTuple

import polars as pl

from comptroller.analysis.plots.theme import SERIES
from comptroller.analysis.registry import PERIODS
from comptroller.display.html import printable

#: No more rows than this go into a picture.
MOST_ROWS = 5_000
#: No more periods than are told apart at 600 pixels.
MOST_PERIODS = 180
#: A label has so many letters at most; Vega cuts those that are wider than there is room for.
_MOST_LETTERS = 40
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


def drawable(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with money as floats, which a picture is exact enough with."""
    return frame.with_columns(pl.col(pl.Decimal).cast(pl.Float64))


#: The amounts of so many assets are drawn, each in a panel of its own.
MOST_ASSETS = 4


def by_asset(frame: pl.DataFrame, notes: list[str]) -> list[tuple[str, pl.DataFrame]]:
    """The rows of each asset with its label, those with the most rows first; the others noted."""
    named, names, others = with_series(frame, ["asset"], None, MOST_ASSETS)
    if others is not None:
        notes.append(f"Amounts are drawn of {MOST_ASSETS} assets, not of the {others}.")
        names = names[:-1]
    return [(name, named.filter(pl.col("series") == name).drop("series")) for name in names]


class Fewer(NamedTuple):
    """Rows whose `series` are `names`, the largest first; the last is the `others`, where any."""

    frame: pl.DataFrame
    names: list[str]
    others: str | None = None


def with_series(
    frame: pl.DataFrame, keys: Sequence[str], weight: str | None = None, most: int = len(SERIES)
) -> Fewer:
    """Names each row's `series` after its keys; those beyond the `most` heaviest are others.

    A series weighs what its column `weight` adds up to, or as many rows as it has. Keys that differ
    are never one series, however alike they read.
    """
    if not keys:
        return Fewer(frame.with_columns(series=pl.lit("all")), ["all"])
    heaviest = (
        frame.group_by(keys, maintain_order=True)
        .agg(weight_of_series=pl.len() if weight is None else pl.col(weight).abs().sum())
        .sort("weight_of_series", *keys, descending=[True, *(False for _ in keys)])
        .select(keys)
    )
    kept = heaviest if len(heaviest) <= most + 1 else heaviest.head(most)
    left = len(heaviest) - len(kept)
    names = labels(kept.rows(), *([f"{left:,} others"] if left else []))
    named = kept.with_columns(series=pl.Series(names[: len(kept)], dtype=pl.String))
    joined = frame.join(named, on=keys, how="left", nulls_equal=True, maintain_order="left")
    if not left:
        return Fewer(joined, names)
    return Fewer(joined.with_columns(pl.col("series").fill_null(names[-1])), names, names[-1])


def end_of(start: pl.Expr, step: str) -> pl.Expr:
    """When a period ends, or the last moment there is."""
    return pl.min_horizontal(start.dt.offset_by(step), pl.lit(_LAST))


def with_spans(
    frame: pl.DataFrame, period: str, notes: list[str], most: int = MOST_PERIODS
) -> tuple[pl.DataFrame, str]:
    """Rows with the `start` and the `end` of their period, and what it is called.

    So many periods are taken together, and that noted, that there are at most `most`; nothing is
    added up yet.
    """
    units = list(_STEPS)
    for unit in units[units.index(period) :]:
        step = _STEPS[unit]
        start = pl.col(period).dt.truncate(step)
        spanned = frame.with_columns(start=start, end=end_of(start, step))
        if spanned["start"].n_unique() <= most:
            break
    if unit != period:
        notes.append(f"Drawn by {unit}: there are too many of each {period}.")
    return spanned, unit


def period_of(keys: Sequence[str]) -> str | None:
    """The finest period among the keys."""
    return next((period for period in PERIODS if period in keys), None)


def words_of(keys: Sequence[str]) -> list[str]:
    """The keys that are no periods."""
    return [key for key in keys if key not in PERIODS]


def shortened(text: str) -> str:
    """Printable text as long as a label may be; of each UUID its beginning and its end."""
    shown = _UUID.sub(lambda found: f"{found[0][:13]}…{found[0][-4:]}", printable(text))
    return shown if len(shown) <= _MOST_LETTERS else f"{shown[: _MOST_LETTERS - 1]}…"


def labels(rows: Sequence[Sequence[str | None]], *more: str) -> list[str]:
    """A label for each row of words and for each one more; those that would be equal numbered."""
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
