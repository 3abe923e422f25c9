"""Time zones by the names that all libraries know, and local times of columns in UTC."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from comptroller.errors import require

if TYPE_CHECKING:
    import polars

# Files beside the zones: the zone of this machine or of none, and copies of all zones, of which
# those of `right` count leap seconds.
_NO_ZONES = re.compile("localtime|posixrules|factory|(posix|right)/.*", re.IGNORECASE)
#: The days from which a time zone does not lead out of the years 1 to 9999.
_FIRST, _LAST = date(1, 1, 3), date(9999, 12, 29)


def zone_of(name: str) -> ZoneInfo | None:
    """Returns the time zone of a name; None if it is unknown, or not a zone of every library."""
    if _NO_ZONES.fullmatch(name):
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return None


def offset_of(local: datetime, zone: ZoneInfo) -> timedelta | None:
    """Returns the offset of a local time; None if it exists twice, or does not exist."""
    first, second = (local.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
    return first if first == second else None


def in_utc(column: polars.Series, zone: ZoneInfo) -> polars.Series:
    """Returns local times, or the starts of days, as times in UTC.

    Null for a time that exists twice or does not exist, and near the ends of the years 1 to 9999.

    The offsets are those of `zone` because libraries have databases of their own; that of polars
    has no summer time after 2099.
    """
    library = require("polars", "a time zone", "analysis")
    times = column.cast(library.Datetime("us"))
    days = column.cast(library.Date)
    known = days.filter(days.is_between(_FIRST, _LAST)).unique()
    of_day = _offset_of_start if column.dtype == library.Date else _offset_of_day
    offsets = _replaced(days, known, [of_day(each, zone) for each in known])
    if column.dtype != library.Date:
        others = times.filter(offsets.is_null() & days.is_between(_FIRST, _LAST)).unique()
        if len(others):
            more = _replaced(times, others, [offset_of(each, zone) for each in others])
            offsets = offsets.zip_with(offsets.is_not_null(), more)
    return (times - offsets).dt.replace_time_zone("UTC")


def _offset_of_start(day: date, zone: ZoneInfo) -> timedelta | None:
    """Returns the offset of the first time of a day; if midnight exists twice, of the first."""
    return datetime.combine(day, time(), zone).utcoffset()


def _offset_of_day(day: date, zone: ZoneInfo) -> timedelta | None:
    """Returns the offset of all times of a day; None if they have several."""
    first = datetime.combine(day, time.min, zone)
    last = datetime.combine(day, time.max, zone).replace(fold=1)
    return first.utcoffset() if first.utcoffset() == last.utcoffset() else None


def _replaced(
    column: polars.Series, values: polars.Series, offsets: list[timedelta | None]
) -> polars.Series:
    library = require("polars", "a time zone", "analysis")
    duration = library.Duration("us")
    found: polars.Series = column.replace_strict(
        values, library.Series(offsets, dtype=duration), default=None, return_dtype=duration
    )
    return found
