"""What stood on the addresses of groups, from one snapshot to the next."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import narwhals.stable.v2 as nw

from comptroller.analysis.reports.periods import DAY
from comptroller.analysis.reports.ratios import ratio

#: More than a month in microseconds has.
_BITS = 42


def held(reward_addresses: nw.LazyFrame[Any], balances: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """A row for each snapshot of an address that is a group's at present.

    Columns: ``group``; ``balance``; ``at_us``, from when it is known; ``next_us``, when
    the next snapshot of the address replaces it, null for the newest.
    """
    owned = reward_addresses.filter(~nw.col("payout_group_id").is_null()).select(
        nw.col("id").alias("address_id"), nw.col("payout_group_id").alias("group")
    )
    replaced = nw.col("at_us").shift(-1).over("address_id", order_by="at_us")
    return balances.join(owned, on="address_id", how="inner").select(
        "group", "balance", "at_us", next_us=replaced
    )


def mean_holdings(snapshots: nw.LazyFrame[Any], months: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The time-weighted mean of what groups held in months, as ``average_holdings``.

    By ``group`` and ``first``, the first day of the month: over the time from its beginning, or the
    group's first snapshot, to its end, or the end of the day `until`; an address that has no
    snapshot yet holds 0. `months` has ``first``, ``days`` and ``until``.
    """
    begins, ends = nw.col("first") * DAY, (nw.col("first") + nw.col("days")) * DAY
    known_until = nw.col("until") * DAY
    standing = (
        snapshots.join(months, how="cross")
        .with_columns(
            begins_us=nw.max_horizontal(nw.col("at_us"), begins),
            ends_us=nw.min_horizontal(nw.col("next_us"), ends, known_until),
        )
        .filter(nw.col("begins_us") < nw.col("ends_us"))
    )
    # Amounts are not multiplied: each bit of the durations has an exact sum of its own.
    lasted = nw.col("ends_us") - nw.col("begins_us")
    bits = {
        f"bit_{bit}": nw.when(lasted // 2**bit % 2 == 1).then(nw.col("balance"))
        for bit in range(_BITS)
    }
    summed = (
        standing.with_columns(**bits)
        .group_by("group", "first")
        .agg(
            *(nw.col(name).sum() for name in bits),
            nw.col("begins_us").min(),
            nw.col("ends_us").max(),
        )
    )
    weighed = reduce(add, (nw.col(f"bit_{n}").cast(nw.Float64) * 2.0**n for n in range(_BITS)))
    return summed.select(
        "group",
        "first",
        average_holdings=ratio(weighed, nw.col("ends_us") - nw.col("begins_us")),
    )
