"""Reduction of rows for drawing: largest series, shortened labels, and notes on others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count

import polars as pl

from comptroller.analysis.plots.theme import SERIES
from comptroller.analysis.registry import NAMES
from comptroller.display.html import printable

#: The maximum number of assets whose amounts are drawn, each in its own panel.
_MAX_ASSETS = 4
#: The maximum number of characters in a label; Vega truncates wider labels.
_MAX_LABEL_LENGTH = 40
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: What every object of JavaScript has. Vega looks labels up in objects, and fails for these names;
#: a zero-width space follows such a label.
_NAMES_OF_OBJECTS = {
    *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"),
    *("toString", "valueOf", "__defineGetter__", "__defineSetter__", "__lookupGetter__"),
    *("__lookupSetter__", "__proto__"),
}


def with_instants(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the frame with the start of each date in UTC, as time axes show it."""
    return frame.with_columns(pl.col(pl.Date).cast(pl.Datetime("us")).dt.replace_time_zone("UTC"))


def fill_notes(counts: Mapping[str, int]) -> list[str]:
    """Returns the notes whose count is not 0, with the count in place of `{}`."""
    return [note.format(f"{number:,}") for note, number in counts.items() if number]


def by_asset(frame: pl.DataFrame, notes: list[str]) -> list[tuple[str, pl.DataFrame]]:
    """Returns the label and the rows of each asset, most rows first; adds a note on the others."""
    heaviest, left = largest(frame, ["asset"], _MAX_ASSETS)
    notes += fill_notes(
        {f"Shows the amounts of {_MAX_ASSETS} assets, not of the {{}} others.": left}
    )
    panels = frame.partition_by("asset", as_dict=True)
    names = labels(heaviest.rows())
    return [(name, panels[asset]) for name, asset in zip(names, heaviest.rows(), strict=True)]


def largest(
    frame: pl.DataFrame, keys: Sequence[str], most: int, weight: str | None = None
) -> tuple[pl.DataFrame, int]:
    """Returns the keys of the heaviest series, at most `most`, and the number of other series.

    The weight of a series is the sum of its column `weight`, or else its number of rows. A single
    other series is also returned.
    """
    ranked = (
        frame.group_by(keys, maintain_order=True)
        .agg(weight_of_series=pl.len() if weight is None else pl.col(weight).abs().sum())
        .sort("weight_of_series", *keys, descending=[True, *(False for _ in keys)])
        .select(keys)
    )
    heaviest = ranked if len(ranked) == most + 1 else ranked.head(most)
    return heaviest, len(ranked) - len(heaviest)


def with_series(
    frame: pl.DataFrame,
    keys: Sequence[str],
    weight: str | None = None,
    most: int = len(SERIES),
    column: str = "series",
) -> pl.DataFrame:
    """Adds a column, named after the keys; merges all but the largest series.

    Different keys are always different series, even if their labels would be equal. The column is
    an enumeration, heaviest series first, and pictures keep this order.
    """
    if not keys:
        return frame.with_columns(pl.lit("all", pl.Enum(["all"])).alias(column))
    own_names = [NAMES[key] for key in keys if NAMES.get(key) in frame.columns]
    heaviest, left = largest(frame, [*own_names, *keys], most, weight)
    texts = [
        [text for name, text in row.items() if name not in own_names or text is not None]
        for row in heaviest.to_dicts()
    ]
    names = labels(texts, *fill_notes({"{} others": left}))
    series = pl.Series(column, names[: len(heaviest)], dtype=pl.Enum(names))
    named = heaviest.select(keys).with_columns(series)
    joined = frame.join(named, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.col(column).fill_null(names[-1]))


def keep_most_confirmed(
    frame: pl.DataFrame, keys: Sequence[str], most: int, notes: list[str]
) -> pl.DataFrame:
    """Keeps the series with the most confirmed claims; percentiles of others cannot be merged."""
    heaviest, left = largest(frame, keys, most, "confirmed")
    notes += fill_notes(
        {f"Shows the {most} with the most confirmed claims, not the {{}} others.": left}
    )
    shown = frame.join(heaviest, on=keys, how="semi", nulls_equal=True) if left else frame
    return with_series(shown, keys, "confirmed", most)


def names_of(frame: pl.DataFrame) -> list[str]:
    """Returns the names of the series, in their order."""
    series = frame.schema["series"]
    assert isinstance(series, pl.Enum)
    return series.categories.to_list()


def shorten_label(text: str) -> str:
    """Shortens text to a label: cuts the middle of each UUID, and the end of a long text."""
    shown = _UUID.sub(lambda found: f"{found[0][:13]}…{found[0][-4:]}", printable(text))
    return shown if len(shown) <= _MAX_LABEL_LENGTH else f"{shown[: _MAX_LABEL_LENGTH - 1]}…"


def labels(rows: Sequence[Sequence[str | None]], *more: str) -> list[str]:
    """Returns a label for each row of key values, then those of `more`; numbers equal labels."""
    words = [["(none)" if word is None else word for word in row] for row in rows]
    labels = [*(shorten_label(" · ".join(row)) for row in words), *more]
    times = Counter(labels)
    taken = {label for label in labels if times[label] == 1}
    for place, label in enumerate(labels):
        if times[label] > 1:
            numbered = (f"({number}) {label}" for number in count(1))
            labels[place] = next(free for free in numbered if free not in taken)
            taken.add(labels[place])
    return [f"{label}\u200b" if label in _NAMES_OF_OBJECTS else label for label in labels]
