"""Orchestrations: what flows from which asset to which."""

from __future__ import annotations

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoLazyFrameT

from comptroller.analysis.reports.definition import COUNT, MONEY, RATIO, Definition, finished
from comptroller.analysis.reports.survival import seconds

#: The statuses that an orchestration does not leave.
FINAL = ("COMPLETED", "FAILED", "REJECTED")
KEYS = ("source_asset", "destination_asset", "status")

ORCHESTRATION_FLOW = Definition(
    title="Orchestrations from asset to asset",
    formula=(
        "A duration is updated_at - created_at, of COMPLETED, FAILED and REJECTED ones; "
        "percentiles are by nearest rank."
    ),
    reads={"orchestrations": (*KEYS, "source_amount", "created_at", "updated_at")},
    columns={
        "orchestrations": COUNT,
        "source_amount": MONEY,
        "p50_seconds": RATIO,
        "p90_seconds": RATIO,
    },
)


def orchestration_flow(orchestrations: IntoLazyFrameT) -> IntoLazyFrameT:
    """How many orchestrations go from each asset to each and how they fare.

    Columns: ``source_asset``, ``destination_asset`` and ``status``, the keys; ``orchestrations``;
    ``source_amount``, the exact sum in units of the source asset of those that have one;
    ``p50_seconds`` and ``p90_seconds``, the percentiles by nearest rank of updated_at - created_at,
    null unless the status is COMPLETED, FAILED or REJECTED. Where the clocks were out of order a
    duration is negative.
    """
    # The status is one of the keys: either all of a part are at their end or none is.
    took = nw.when(nw.col("status").is_in(FINAL)).then(
        nw.col("updated_at_us") - nw.col("created_at_us")
    )
    timed = nw.from_native(orchestrations).with_columns(took_us=took)
    ranked = timed.with_columns(
        rank=nw.col("took_us").rank("ordinal").over(*KEYS).cast(nw.Int64),
        all=nw.len().over(*KEYS).cast(nw.Int64),
    )
    percentiles = {f"p{percent}_us": _reached(percent) for percent in (50, 90)}
    flows = (
        ranked.with_columns(**percentiles)
        .group_by(*KEYS)
        .agg(
            nw.len().alias("orchestrations"),
            nw.col("source_amount").sum(),
            *(nw.col(name).min() for name in percentiles),
        )
        .with_columns(p50_seconds=seconds("p50_us"), p90_seconds=seconds("p90_us"))
    )
    native: IntoLazyFrameT = finished(flows, KEYS, ORCHESTRATION_FLOW.columns).to_native()
    return native


def _reached(percent: int) -> nw.Expr:
    reached = nw.col("rank") * 100 >= nw.col("all") * percent
    return nw.when(reached).then(nw.col("took_us"))
