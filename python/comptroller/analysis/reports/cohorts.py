"""Groups by the month in which they began to claim."""

from __future__ import annotations

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoLazyFrameT

from comptroller.analysis.reports.definition import COUNT, MONEY, Definition, finished

COHORT = Definition(
    title="Groups by the month of their first claim",
    formula=(
        "A group's month is that of the first claim it created; its age in another month is the "
        "number of months between, and it is active in a month in which it created a claim. "
        "Amounts of all assets are added."
    ),
    reads={"claims": ("payout_group_id", "amount", "created_at")},
    columns={"age_months": COUNT, "groups": COUNT, "amount": MONEY},
)


def cohort(claims: IntoLazyFrameT) -> IntoLazyFrameT:
    """How many of the groups that began in a month still claim later, and how much.

    Claims of every status count, by created_at. Columns: ``month``, the first day of the month of
    the groups' first claim, and ``age_months``, the months since, 0 for that month itself, the
    keys; ``groups``, how many of them created a claim at that age (all of them at age 0);
    ``amount``, the exact sum of these claims in units of their assets. An age at which none of
    them claimed has no row.
    """
    created = nw.col("created_at")
    months = created.dt.year().cast(nw.Int64) * 12 + created.dt.month().cast(nw.Int64)
    active = (
        nw.from_native(claims)
        .with_columns(month=created.dt.truncate("1mo"), months=months)
        .group_by("payout_group_id", "month", "months")
        .agg(nw.col("amount").sum())
    )
    aged = active.with_columns(
        month=nw.col("month").min().over("payout_group_id"),
        age_months=nw.col("months") - nw.col("months").min().over("payout_group_id"),
    )
    counted = aged.group_by("month", "age_months").agg(
        nw.len().alias("groups"), nw.col("amount").sum()
    )
    keys = ("month", "age_months")
    native: IntoLazyFrameT = finished(counted, keys, COHORT.columns).to_native()
    return native
