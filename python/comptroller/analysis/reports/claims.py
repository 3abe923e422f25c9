"""Claims counted: how many, how much, how surely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoLazyFrameT

from comptroller.analysis.keys import checked, with_keys
from comptroller.analysis.reports.definition import COUNT, MONEY, RATIO, Definition, finished
from comptroller.analysis.reports.ratios import ratio

CLAIMS_SUMMARY = Definition(
    title="Claims and what they amount to",
    formula=(
        "success_rate = confirmed / (confirmed + failed); a share is that of all claims, and of "
        "the sum of all amounts. Without asset among the keys amounts of all assets are added."
    ),
    reads={"claims": ("onchain_status", "amount"), "payout_groups": ("id", "jurisdiction")},
    columns={
        "claims": COUNT,
        "amount": MONEY,
        "claims_share": RATIO,
        "amount_share": RATIO,
        "confirmed": COUNT,
        "failed": COUNT,
        "success_rate": RATIO,
    },
)


def claims_summary(
    claims: IntoLazyFrameT,
    payout_groups: IntoLazyFrameT | None = None,
    by: Sequence[str] = ("chain", "day"),
) -> IntoLazyFrameT:
    """How many claims there are by each key, what they amount to and how many succeeded.

    Columns: the keys, then ``claims``; ``amount``, their exact sum in units of the asset (add
    ``asset`` to the keys where there are several); ``claims_share`` and ``amount_share`` of all
    claims and of their sum, 0 to 1; ``confirmed``; ``failed``; ``success_rate`` = confirmed /
    (confirmed + failed), null when neither.
    """
    keys = checked(by)
    keyed = with_keys(nw.from_native(claims), payout_groups, keys)
    counts = [
        nw.len().alias("claims"),
        nw.col("amount").sum(),
        _count_of("CONFIRMED").alias("confirmed"),
        _count_of("FAILED").alias("failed"),
    ]
    counted = keyed.group_by(*keys).agg(*counts) if keys else keyed.select(*counts)
    ended = nw.col("confirmed") + nw.col("failed")
    some = counted.filter(nw.col("claims") > 0)  # of nothing, without keys, there is a row too
    shared = _with_totals(some).with_columns(
        claims_share=ratio(nw.col("claims"), nw.col("all_claims")),
        amount_share=ratio(nw.col("amount"), nw.col("all_amount")),
        success_rate=ratio(nw.col("confirmed"), ended),
    )
    native: IntoLazyFrameT = finished(shared, keys, CLAIMS_SUMMARY.columns).to_native()
    return native


def _count_of(status: str) -> nw.Expr:
    return (nw.col("onchain_status") == status).cast(nw.Int64).sum()


def _with_totals(counted: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    totals = counted.select(
        nw.col("claims").sum().alias("all_claims"), nw.col("amount").sum().alias("all_amount")
    )
    return counted.join(totals, how="cross")
