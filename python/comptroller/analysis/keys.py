"""What a report can be taken apart by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw

from comptroller.errors import invalid

#: The start of a claim's hour, day, week (Monday) or month, UTC.
PERIODS = {"hour": "1h", "day": "1d", "week": "1d", "month": "1mo"}
_COLUMNS = {
    "status": "onchain_status",
    "chain": "blockchain",
    "asset": "asset_type",
    "group": "payout_group_id",
    "customer": "customer_id",
    "type": "claim_type",
}
KEYS = ("status", "chain", "asset", "jurisdiction", "group", "customer", "type", *PERIODS)


def checked(by: Sequence[str], among: Sequence[str] = KEYS, name: str = "by") -> tuple[str, ...]:
    """The keys. Raises InvalidRequest for one that is not `among` them or is repeated."""
    if not isinstance(by, Iterable):
        raise invalid(name, f"must be some of {', '.join(among)}")
    keys = (by,) if isinstance(by, str) else tuple(by)
    for key in keys:
        if key not in among:
            raise invalid(name, f"must be some of {', '.join(among)}")
        if keys.count(key) > 1:
            raise invalid(name, f"names {key} twice")
    return keys


def partitions(columns: Sequence[str], by: Sequence[str]) -> Mapping[str, str]:
    """The keys that rows of these columns are written apart by, each as SQL that gives text.

    Raises InvalidRequest for a key that there is no column for.
    """
    time = '"at"' if "at" in columns else "created_at"
    folders = {key: column for key, column in _COLUMNS.items() if column in columns}
    for period in ("day", "week", "month"):
        folders[period] = f"strftime(date_trunc('{period}', {time}), '%Y-%m-%d')"
    return {key: folders[key] for key in checked(by, list(folders), "partition")}


def columns_of(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of claims that the keys are made of."""
    by_key = {**_COLUMNS, "jurisdiction": "payout_group_id"}
    return tuple(by_key.get(key, "created_at") for key in keys)


def with_keys(
    claims: nw.LazyFrame[Any], payout_groups: Any, keys: tuple[str, ...]
) -> nw.LazyFrame[Any]:
    """The claims, or what else has the columns that the keys are made of, with one for each key.

    The jurisdiction is that of the claim's group at present, for which alone the native frame of
    groups is needed; null where the group is unknown.
    """
    if "jurisdiction" in keys:
        groups = nw.from_native(payout_groups).select(
            nw.col("id").alias("payout_group_id"), "jurisdiction"
        )
        claims = claims.join(groups, on="payout_group_id", how="left")
    named = {key: nw.col(_COLUMNS[key]) for key in keys if key in _COLUMNS}
    starts = {key: nw.col("created_at").dt.truncate(PERIODS[key]) for key in keys if key in PERIODS}
    if named or starts:
        claims = claims.with_columns(**named, **starts)
    return with_week(claims) if "week" in keys else claims


def with_week(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Sets `week`, which is a day, to the Monday on or before it."""
    # A Sunday is 7 to some engines and 0 to others.
    weekday = nw.col("week").dt.weekday() % 7
    monday = nw.when(weekday == 1).then(nw.col("week"))
    steps = nw.col("week")
    for days in range(1, 7):
        stepped = nw.col("week").dt.offset_by(f"-{days}d")
        steps = nw.when(weekday == (days + 1) % 7).then(stepped).otherwise(steps)
    return frame.with_columns(week=monday.otherwise(steps))
