"""Medians that are one of the values, so that of money they are exact."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw


def with_median(
    frame: nw.LazyFrame[Any], column: str, name: str, parts: tuple[str, ...]
) -> nw.LazyFrame[Any]:
    """Each row with `name`, the lower middle of a column over the rows of its parts.

    A row counts as often as its `weight` says; a null has to weigh 0. Null where all are.
    """
    weight = nw.col("weight")
    counted = frame.with_columns(
        until_here=weight.cum_sum().over(*parts, order_by=column), all=weight.sum().over(*parts)
    )
    reached = nw.when(nw.col("until_here") * 2 >= nw.col("all")).then(nw.col(column))
    return (
        counted.with_columns(reached.alias(name))
        .with_columns(nw.col(name).min().over(*parts))
        .drop("until_here", "all")
    )
