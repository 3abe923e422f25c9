"""How long something takes: percentiles of times, also where some have not come to their end."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import narwhals.stable.v2 as nw

#: By how much a share of survivors may miss its mark, for the rounding of floats.
_ROUNDING = 1e-12


def kaplan_meier(
    frame: nw.LazyFrame[Any], keys: tuple[str, ...], shares: Mapping[str, Fraction]
) -> nw.LazyFrame[Any]:
    """Percentiles of `took_us` by keys: what has not `ended` is known to take longer than that.

    Columns: the keys, ``ended`` and ``waiting`` (how many of each), and for each named share p the
    smallest took_us at which S <= 1 - p + 1e-12, null where S never is. S(t) is the product, over
    the times u <= t, of 1 - (those that ended at u) / (those that took u or longer), so that it is
    a nearest rank where none waits. Keys may be null.
    """
    waits = 1 - nw.col("ended").cast(nw.Int64)
    # What waits is behind what ended at the same time.
    ranked = _ranked(frame.with_columns(waits=waits, order=nw.col("took_us") * 2 + waits), keys)
    waits, left = nw.col("waits"), nw.col("all") - nw.col("rank")
    # Neighbours in the product cancel, up to what waits: where nothing does, S is one division.
    spared = nw.when((waits > 0) & (left > 0)).then(_float(left + 1) / _float(left))
    spared_log = spared.otherwise(nw.lit(1.0)).log()
    weighed = ranked.with_columns(spared_log=spared_log)
    weight = nw.col("spared_log").cum_sum().over(*_parts(keys), order_by="order").exp()
    remaining = nw.when(left > 0).then(left).otherwise(waits)
    survivors = _float(remaining) / _float(nw.col("all")) * weight
    reached = {
        name: nw.col("survivors") <= float(1 - share) + _ROUNDING for name, share in shares.items()
    }
    return _smallest(weighed.with_columns(survivors=survivors), keys, reached)


def nearest_ranks(
    frame: nw.LazyFrame[Any], keys: tuple[str, ...], shares: Mapping[str, Fraction]
) -> nw.LazyFrame[Any]:
    """Percentiles of `took_us` by keys among what has `ended`, exactly.

    Columns: the keys, ``ended`` (how many), ``waiting`` (0), and for each named share p the took_us
    of row ceil(p * ended) in order. Keys may be null.
    """
    ended = frame.filter(nw.col("ended"))
    ranked = _ranked(ended.with_columns(waits=nw.lit(0), order=nw.col("took_us")), keys)
    reached = {
        name: nw.col("rank") * share.denominator >= nw.col("all") * share.numerator
        for name, share in shares.items()
    }
    return _smallest(ranked, keys, reached)


def seconds(microseconds: str) -> nw.Expr:
    """A column of microseconds in seconds."""
    return _in_units(microseconds, 1_000_000)


def days(microseconds: str) -> nw.Expr:
    """A column of microseconds in days of 24 hours."""
    return _in_units(microseconds, 86_400_000_000)


def _in_units(microseconds: str, unit: int) -> nw.Expr:
    # polars multiplies by the inverse of a divisor that is the same in every row, which rounds
    # twice: no constant, therefore.
    return _float(nw.col(microseconds)) / _float(nw.col(microseconds) * 0 + unit)


def _parts(keys: tuple[str, ...]) -> tuple[str, ...]:
    return keys or ("everything",)  # a window needs one


def _ranked(frame: nw.LazyFrame[Any], keys: tuple[str, ...]) -> nw.LazyFrame[Any]:
    """The rows of some keys with their `rank` by `order`, and how many there are in `all`."""
    parts = _parts(keys)
    return frame.with_columns(everything=nw.lit(1)).with_columns(
        rank=nw.col("order").rank("ordinal").over(*parts).cast(nw.Int64),
        all=nw.len().over(*parts).cast(nw.Int64),
    )


def _smallest(
    ranked: nw.LazyFrame[Any], keys: tuple[str, ...], reached: Mapping[str, nw.Expr]
) -> nw.LazyFrame[Any]:
    parts = _parts(keys)
    times = {
        name: nw.when((nw.col("waits") == 0) & there).then(nw.col("took_us"))
        for name, there in reached.items()
    }
    summed = (
        ranked.select(*parts, "waits", **times)
        .group_by(*parts)
        .agg(
            (1 - nw.col("waits")).sum().alias("ended"),
            nw.col("waits").sum().alias("waiting"),
            *(nw.col(name).min() for name in times),
        )
    )
    return summed.select(*keys, "ended", "waiting", *times)


def _float(number: nw.Expr) -> nw.Expr:
    return number.cast(nw.Float64)
