"""Whether what was claimed fits what was held."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoLazyFrameT

from comptroller.analysis.reports.definition import (
    COUNT,
    FLAG,
    MONEY,
    RATIO,
    TEXT,
    Definition,
    finished,
)
from comptroller.analysis.reports.holdings import held, mean_holdings
from comptroller.analysis.reports.medians import with_median
from comptroller.analysis.reports.periods import day_of, midnight, month_of, with_month
from comptroller.analysis.reports.ratios import ROUNDING, limit, ratio

KEYS = ("group", "month")

RECONCILIATION = Definition(
    title="What was claimed against what was held",
    formula=(
        "annual_rate = claimed / average_holdings x 365 / days; deviation = annual_rate / "
        "median_rate - 1, against the groups of the same asset and ledger in the same month. "
        "Claims are the CONFIRMED ones by confirmed_at; holdings are weighted by time. since and "
        "until leave out claims created outside, and no holdings."
    ),
    reads={
        "payout_groups": ("id", "asset_type", "ledger"),
        "reward_addresses": ("id", "payout_group_id"),
        "balances": ("address_id", "balance", "at"),
        "claims": ("payout_group_id", "onchain_status", "amount", "confirmed_at"),
    },
    columns={
        "asset": TEXT,
        "ledger": TEXT,
        "claimed": MONEY,
        "average_holdings": RATIO,
        "days": COUNT,
        "annual_rate": RATIO,
        "median_rate": RATIO,
        "deviation": RATIO,
        "within_tolerance": FLAG,
    },
)


def reconciliation(
    payout_groups: IntoLazyFrameT,
    reward_addresses: IntoLazyFrameT,
    balances: IntoLazyFrameT,
    claims: IntoLazyFrameT,
    month: str | None = None,
    tolerance: float = 0.05,
) -> IntoLazyFrameT:
    """Whether what groups claimed in months, or in one named as 2026-05 is, fits what they held.

    Each group is listed for each month in which any claim was confirmed or any snapshot taken, but
    for months before its own first of these; a month in which neither was is listed when it is
    named (a clock that is wrong by centuries would bring thousands of those). Columns: ``group``
    and ``month``, the first day, the keys; ``asset`` and ``ledger`` of the group, null where it is
    unknown; ``claimed``, the exact sum of its CONFIRMED claims by confirmed_at (those without one
    are in no month), in units of the asset; ``average_holdings``, the time-weighted mean of what
    stood on the addresses that are the group's at present, from its first snapshot on, a float as
    means are, null where there is no snapshot; ``days``, how many of the month are covered: from
    the group's first confirmed claim or snapshot to the last day of any; ``annual_rate`` = claimed
    / average_holdings x 365 / days, null where nothing was held; ``median_rate``, the lower middle
    of the rates of all groups of the asset and ledger in the month; ``deviation`` = annual_rate /
    median_rate - 1, null where that is 0; ``within_tolerance``, whether annual_rate is at most
    `tolerance` x median_rate away from it, false where something was claimed on holdings of 0, else
    null where there is no rate.

    Raises:
        InvalidRequest: a malformed month, a tolerance that is no finite number from 0 on.
    """
    tolerance = limit("tolerance", tolerance)
    claimed = _claimed(nw.from_native(claims))
    snapshots = held(nw.from_native(reward_addresses), nw.from_native(balances))
    snapped = snapshots.select("group", day=day_of(nw.col("at_us")))
    seen = nw.concat([claimed.select("group", "day"), snapped])
    months = _months(seen, month)
    rows = (
        _listed(_groups(nw.from_native(payout_groups), seen), months)
        .join(_by_month(claimed, months), on=["group", "first"], how="left")
        .join(mean_holdings(snapshots, months), on=["group", "first"], how="left")
        .with_columns(nw.col("claimed").fill_null(0), month=midnight(nw.col("first")))
    )
    compared = _compared(rows, tolerance)
    native: IntoLazyFrameT = finished(compared, KEYS, RECONCILIATION.columns).to_native()
    return native


def _claimed(claims: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """What was claimed by group and day."""
    told = (nw.col("onchain_status") == "CONFIRMED") & ~nw.col("confirmed_at_us").is_null()
    confirmed = claims.filter(told).with_columns(
        group=nw.col("payout_group_id"), day=day_of(nw.col("confirmed_at_us"))
    )
    return confirmed.group_by("group", "day").agg(nw.col("amount").sum().alias("claimed"))


def _by_month(claimed: nw.LazyFrame[Any], months: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    within = with_month(claimed).drop("days").join(months.select("first"), on="first", how="inner")
    return within.group_by("group", "first").agg(nw.col("claimed").sum())


def _months(seen: nw.LazyFrame[Any], month: str | None) -> nw.LazyFrame[Any]:
    """The months there are, or the one that is named, with the day `until` which all is known."""
    until = seen.select((nw.col("day").max() + 1).alias("until"))
    if month is not None:
        named = month_of(month)
        return until.with_columns(first=nw.lit(named.first), days=nw.lit(named.days))
    days = seen.group_by("day").agg()
    return with_month(days).group_by("first").agg(nw.col("days").min()).join(until, how="cross")


def _groups(payout_groups: nw.LazyFrame[Any], seen: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Every group that is known or named, with the day of the first that there is of it."""
    known = payout_groups.select(
        nw.col("id").alias("group"),
        nw.col("asset_type").alias("asset"),
        "ledger",
        begun=nw.lit(None, nw.Int64),
    )
    named = seen.select(
        "group",
        asset=nw.lit(None, nw.String),
        ledger=nw.lit(None, nw.String),
        begun=nw.col("day"),
    )
    return (
        nw.concat([known, named])
        .group_by("group")
        .agg(nw.col("asset").max(), nw.col("ledger").max(), nw.col("begun").min())
    )


def _listed(groups: nw.LazyFrame[Any], months: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Each group in each month from its beginning on, with the days of it that are covered."""
    ends, begun = nw.col("first") + nw.col("days"), nw.col("begun")
    covered = nw.min_horizontal(ends, nw.col("until")) - nw.max_horizontal(nw.col("first"), begun)
    return (
        groups.join(months, how="cross")
        .filter(begun.is_null() | (begun < ends))
        .with_columns(days=nw.when(~begun.is_null(), covered > 0).then(covered))
    )


def _compared(rows: nw.LazyFrame[Any], tolerance: float) -> nw.LazyFrame[Any]:
    rate, median, average = nw.col("annual_rate"), nw.col("median_rate"), nw.col("average_holdings")
    is_comparable = ~nw.col("asset").is_null() & ~nw.col("ledger").is_null()
    yearly = ratio(nw.col("claimed"), average) * 365.0 / nw.col("days").cast(nw.Float64)
    rated = rows.with_columns(annual_rate=yearly).with_columns(
        comparable=nw.when(is_comparable).then(rate)
    )
    weighed = rated.with_columns(weight=(~nw.col("comparable").is_null()).cast(nw.Int64))
    fits = nw.when(~rate.is_null()).then((rate - median).abs() <= median * (tolerance + ROUNDING))
    claimed_on_nothing = (average == 0) & (nw.col("claimed") > 0)
    return with_median(
        weighed, "comparable", "median_rate", ("asset", "ledger", "first")
    ).with_columns(
        deviation=ratio(rate, median) - 1.0,
        within_tolerance=nw.when(claimed_on_nothing).then(nw.lit(False)).otherwise(fits),
    )
