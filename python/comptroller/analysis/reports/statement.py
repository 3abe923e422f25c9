"""The statement of a group: a month, day by day."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoLazyFrameT

from comptroller.analysis.reports.definition import (
    COUNT,
    MOMENT,
    MONEY,
    TEXT,
    Definition,
    finished,
)
from comptroller.analysis.reports.holdings import held
from comptroller.analysis.reports.periods import DAY, Month, day_of, for_each, midnight, month_of

GROUP_STATEMENT = Definition(
    title="Statement of a group",
    formula=(
        "Holdings are the sum over the group's addresses of the newest snapshot before the day, "
        "and before the next; claims are the CONFIRMED ones by confirmed_at. The last row, "
        "without a day, is the whole month. since and until leave out claims created outside, and "
        "no holdings."
    ),
    reads={
        "payout_groups": ("id",),
        "reward_addresses": ("id", "payout_group_id"),
        "balances": ("address_id", "balance", "at"),
        "claims": ("id", "payout_group_id", "onchain_status", "amount", "confirmed_at"),
    },
    columns={
        "opening_holdings": MONEY,
        "claims": COUNT,
        "claimed": MONEY,
        "closing_holdings": MONEY,
        "last_claim": TEXT,
        "last_claim_at": MOMENT,
    },
)


def group_statement(
    payout_groups: IntoLazyFrameT,
    reward_addresses: IntoLazyFrameT,
    balances: IntoLazyFrameT,
    claims: IntoLazyFrameT,
    group: str,
    month: str,
) -> IntoLazyFrameT:
    """What a group held and claimed on each day of a month, which is named as 2026-05 is.

    Columns: ``day``, the key, null in the last row, which is the whole month;
    ``opening_holdings``, the exact sum over the addresses that are the group's at present of the
    newest snapshot before the day, an address without one holding 0; ``claims``, how many of the
    group's claims were CONFIRMED on the day by confirmed_at (without one they are on no day);
    ``claimed``, the exact sum of their amounts; ``closing_holdings``, the opening of the day
    after; ``last_claim`` and ``last_claim_at``, the id and the confirmed_at of the last of these
    claims (of those of one moment the greatest id), null where there are none. Amounts are in units
    of the group's asset. A group that no table names has no rows.

    Raises:
        InvalidRequest: a malformed month.
    """
    named = month_of(month)
    owned = nw.from_native(reward_addresses).filter(nw.col("payout_group_id") == group)
    confirmed = nw.from_native(claims).filter(nw.col("payout_group_id") == group)
    ids = nw.from_native(payout_groups).filter(nw.col("id") == group).select("id")
    days = _days([ids, owned, confirmed], named)
    holdings = _holdings(days, held(owned, nw.from_native(balances)), named)
    claimed = _claimed(days, confirmed, named)
    money = ("opening_holdings", "closing_holdings", "claimed")
    stated = (
        days.join(holdings, on="number", how="left")
        .join(claimed, on="number", how="left")
        .with_columns(nw.col(*money, "claims").fill_null(0))
    )
    native: IntoLazyFrameT = finished(stated, ("day",), GROUP_STATEMENT.columns).to_native()
    return native


def _days(named_by: list[nw.LazyFrame[Any]], month: Month) -> nw.LazyFrame[Any]:
    """The days of a month and, as the last of them, the month itself; none where nothing is."""
    ids = nw.concat([frame.select("id") for frame in named_by])
    one = ids.select(nw.len().alias("known")).filter(nw.col("known") > 0)
    number = nw.col("number")
    is_day = number < month.days
    numbered = for_each(one, range(month.days + 1), "number")
    first = nw.when(is_day).then(number).otherwise(nw.lit(0)) + month.first
    last = nw.when(is_day).then(number).otherwise(nw.lit(month.days - 1)) + month.first
    return numbered.select(
        "number",
        day=nw.when(is_day).then(midnight(number + month.first)),
        first=first,
        last=last,
    )


def _holdings(
    days: nw.LazyFrame[Any], snapshots: nw.LazyFrame[Any], month: Month
) -> nw.LazyFrame[Any]:
    ends = (month.first + month.days) * DAY
    until = nw.col("next_us")
    near = snapshots.filter(
        nw.col("at_us") < ends, until.is_null() | (until >= month.first * DAY)
    ).join(days, how="cross")
    moments = {"opening_holdings": nw.col("first"), "closing_holdings": nw.col("last") + 1}
    standing = {
        name: nw.when(nw.col("at_us") < day * DAY, until.is_null() | (until >= day * DAY)).then(
            nw.col("balance")
        )
        for name, day in moments.items()
    }
    return (
        near.with_columns(**standing)
        .group_by("number")
        .agg(*(nw.col(name).sum() for name in moments))
    )


def _claimed(days: nw.LazyFrame[Any], claims: nw.LazyFrame[Any], month: Month) -> nw.LazyFrame[Any]:
    day = nw.col("on")
    confirmed = (
        claims.filter(nw.col("onchain_status") == "CONFIRMED")
        .with_columns(
            on=day_of(nw.col("confirmed_at_us")),
            claims=nw.lit(1),
            claimed=nw.col("amount"),
            last_claim=nw.col("id"),
            last_claim_at=nw.col("confirmed_at"),
        )
        .filter(day >= month.first, day < month.first + month.days)
    )
    # Few rows meet each day: a sum for each day first, then that for the month of those.
    daily = _summed(confirmed, "on").join(days, how="cross")
    return _summed(daily.filter(day >= nw.col("first"), day <= nw.col("last")), "number")


def _summed(claims: nw.LazyFrame[Any], key: str) -> nw.LazyFrame[Any]:
    latest = nw.col("last_claim_at") == nw.col("last_claim_at").max().over(key)
    return (
        claims.with_columns(last_claim=nw.when(latest).then(nw.col("last_claim")))
        .group_by(key)
        .agg(
            nw.col("claims").sum(),
            nw.col("claimed").sum(),
            nw.col("last_claim").max(),
            nw.col("last_claim_at").max(),
        )
    )
