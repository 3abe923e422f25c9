"""Why claims failed, and what became of their groups since."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoLazyFrameT

from comptroller.analysis.keys import checked, with_keys
from comptroller.analysis.reports.definition import (
    COUNT,
    MOMENT,
    MONEY,
    TEXT,
    Definition,
    finished,
)

FAILURES = Definition(
    title="Why claims failed, and what was made good",
    formula=(
        "FAILED claims by their message; made good where a claim of the same group that was "
        "created later is CONFIRMED. Without asset among the keys amounts of all assets are added."
    ),
    reads={
        "claims": ("payout_group_id", "onchain_status", "amount", "error_message", "created_at"),
        "payout_groups": ("id", "jurisdiction"),
    },
    columns={
        "error_message": TEXT,
        "failures": COUNT,
        "amount": MONEY,
        "groups": COUNT,
        "made_good": COUNT,
        "made_good_amount": MONEY,
        "first_at": MOMENT,
        "last_at": MOMENT,
    },
)


def failures(
    claims: IntoLazyFrameT,
    payout_groups: IntoLazyFrameT | None = None,
    by: Sequence[str] = ("chain",),
) -> IntoLazyFrameT:
    """The FAILED claims by each key and message, and how many were made good.

    Columns: the keys, then ``error_message``, null where there is none; ``failures``, how many;
    ``amount``, their exact sum in units of the asset; ``groups``, how many payout groups they are
    of; ``made_good``, how many of them a claim of the same group followed that was created later
    (not at the same microsecond) and is CONFIRMED, among these claims; ``made_good_amount``, the
    exact sum of what those had failed to bring; ``first_at`` and ``last_at``, when the first and
    the last of the failures were created.
    """
    keys = checked(by)
    known = nw.from_native(claims)
    confirmed = known.filter(nw.col("onchain_status") == "CONFIRMED")
    latest = confirmed.group_by("payout_group_id").agg(
        nw.col("created_at_us").max().alias("confirmed_us")
    )
    failed = known.filter(nw.col("onchain_status") == "FAILED").join(
        latest, on="payout_group_id", how="left"
    )
    made_good = nw.col("confirmed_us") > nw.col("created_at_us")
    judged = failed.with_columns(
        made_good=nw.when(made_good).then(nw.lit(1)).otherwise(nw.lit(0)),
        made_good_amount=nw.when(made_good).then(nw.col("amount")),
    )
    parts = (*keys, "error_message")
    counted = (
        with_keys(judged, payout_groups, keys)
        .group_by(*parts)
        .agg(
            nw.len().alias("failures"),
            nw.col("amount").sum(),
            nw.col("payout_group_id").n_unique().alias("groups"),
            nw.col("made_good", "made_good_amount").sum(),
            nw.col("created_at").min().alias("first_at"),
            nw.col("created_at").max().alias("last_at"),
        )
    )
    native: IntoLazyFrameT = finished(counted, parts, FAILURES.columns).to_native()
    return native
