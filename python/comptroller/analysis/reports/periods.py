"""Days and months as whole numbers, the same on every engine."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw

from comptroller.errors import invalid

#: A day in microseconds.
DAY = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTH = re.compile(r"(?!0000)([0-9]{4})-(0[1-9]|1[0-2])")


class Month(NamedTuple):
    """A month: the day it begins on, counted from the first of 1970, and how many it has."""

    first: int
    days: int


def month_of(text: object) -> Month:
    """The month of its name. Raises InvalidRequest for what is none as 2026-05 is."""
    named = _MONTH.fullmatch(text) if isinstance(text, str) else None
    if named is None:
        raise invalid("month", "must be a month, as 2026-05 is")
    year, month = map(int, named.groups())
    first = datetime(year, month, 1, tzinfo=UTC)
    return Month((first - _EPOCH).days, monthrange(year, month)[1])


def day_of(microseconds: nw.Expr) -> nw.Expr:
    """The day of a moment, counted from the first of 1970; both may be negative."""
    # What remains of a negative number is negative to some engines.
    since_midnight = (microseconds % DAY + DAY) % DAY
    return (microseconds - since_midnight) // DAY


def midnight(day: nw.Expr) -> nw.Expr:
    """The moment at which a day, counted from the first of 1970, begins."""
    return nw.lit(_EPOCH) + nw.lit(timedelta(days=1)) * day


def for_each(frame: nw.LazyFrame[Any], numbers: Iterable[int], name: str) -> nw.LazyFrame[Any]:
    """Each row once for each of the numbers, which the column `name` has."""
    listed = nw.lit(",".join(map(str, numbers))).str.split(",")
    exploded = frame.with_columns(listed.alias(name)).explode(name)
    return exploded.with_columns(nw.col(name).cast(nw.Int64))


def with_month(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Adds to the rows' `day` its month: `first` and `days`, as :class:`Month` has them."""
    at = midnight(nw.col("day"))
    into_next = at.dt.truncate("1mo").dt.offset_by("31d").dt.day()
    return frame.with_columns(
        first=nw.col("day") - at.dt.day().cast(nw.Int64) + 1, days=32 - into_next.cast(nw.Int64)
    )
