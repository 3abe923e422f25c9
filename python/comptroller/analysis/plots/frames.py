"""Rows made few enough to draw: the largest with the others added up, longer periods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import polars as pl

from comptroller.analysis.keys import PERIODS
from comptroller.analysis.plots.theme import SERIES

#: No more rows than this go into a picture.
MOST_ROWS = 5_000
#: No more periods than are told apart at 600 pixels.
MOST_PERIODS = 180
NONE = "(none)"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LONGEST = 80
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
    """The rows with money as floats, which a picture is exact enough with, and words to print."""
    texts = [name for name, type in frame.schema.items() if type == pl.String]
    return frame.with_columns(
        pl.col(pl.Decimal).cast(pl.Float64),
        *(
            pl.col(name).fill_null(NONE).map_elements(printable, return_dtype=pl.String)
            for name in texts
        ),
    )


def shortened(text: str) -> str:
    """The text, of each UUID its beginning and its end."""
    return _UUID.sub(lambda found: f"{found[0][:13]}…{found[0][-4:]}", text)


def printable(text: str) -> str:
    """Text of one line, with what could steer its drawing shown as escapes, 80 characters long."""
    shown = _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


class Fewer(NamedTuple):
    """Rows whose `series` are `names`, the largest first; the last is the `others`, where any."""

    frame: pl.DataFrame
    names: list[str]
    others: str | None = None


def with_series(
    frame: pl.DataFrame, keys: Sequence[str], weight: str | None = None, most: int = len(SERIES)
) -> Fewer:
    """Names each row's `series` after its keys; those beyond the `most` heaviest are others.

    A series weighs what its column `weight` adds up to, or as many rows as it has.
    """
    if not keys:
        return Fewer(frame.with_columns(series=pl.lit("all")), ["all"])
    named = frame.with_columns(series=pl.concat_str(keys, separator=" · "))
    heaviest = (
        named.group_by("series")
        .agg(weight=pl.len() if weight is None else pl.col(weight).abs().sum())
        .sort("weight", "series", descending=[True, False])["series"]
        .to_list()
    )
    kept = heaviest if len(heaviest) <= most + 1 else heaviest[:most]
    short = {name: shortened(name) for name in kept}
    if len(set(short.values())) < len(kept):
        short = {name: name for name in kept}
    others = f"{len(heaviest) - len(kept):,} others"
    series = pl.col("series").replace_strict(short, default=others, return_dtype=pl.String)
    folded = named.with_columns(series=series)
    if kept is heaviest:
        return Fewer(folded, list(short.values()))
    return Fewer(folded, [*short.values(), others], others)


def end_of(start: pl.Expr, step: str) -> pl.Expr:
    """When a period ends, or the last moment there is."""
    return pl.min_horizontal(start.dt.offset_by(step), pl.lit(_LAST))


class Spans(NamedTuple):
    """Rows with the `start` and the `end` of their period, which is `unit` long."""

    frame: pl.DataFrame
    unit: str


def with_spans(frame: pl.DataFrame, period: str, most: int = MOST_PERIODS) -> Spans:
    """Takes together so many periods that there are at most `most`; nothing is added up yet."""
    units = list(_STEPS)
    for unit in units[units.index(period) :]:
        step = _STEPS[unit]
        start = pl.col(period).dt.truncate(step)
        spanned = frame.with_columns(start=start, end=end_of(start, step))
        if spanned["start"].n_unique() <= most:
            break
    return Spans(spanned, unit)


def period_of(keys: Sequence[str]) -> str | None:
    """The finest period among the keys."""
    return next((period for period in PERIODS if period in keys), None)


def words_of(keys: Sequence[str]) -> list[str]:
    """The keys that are no periods."""
    return [key for key in keys if key not in PERIODS]
