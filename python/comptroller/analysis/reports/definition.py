"""What there is to know of a report besides its function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw

from comptroller.analysis.keys import PERIODS

#: Columns of money: decimal(38, 18) on every engine, and never cast.
MONEY = nw.Decimal()
COUNT = nw.Int64()
RATIO = nw.Float64()
TEXT = nw.String()
FLAG = nw.Boolean()
MOMENT = nw.Datetime("us", "UTC")


class Definition(NamedTuple):
    """A report: its title, how its figures come about, and what it reads.

    `reads` has the columns it needs of each table, in the order of its function's arguments;
    `columns` those it answers after its keys.
    """

    title: str
    formula: str
    reads: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, Any]


def finished(
    frame: nw.LazyFrame[Any], keys: tuple[str, ...], columns: Mapping[str, Any]
) -> nw.LazyFrame[Any]:
    """The frame as declared: keys first, one cast, ordered by the keys with nulls last."""
    declared = {**{key: MOMENT if key in PERIODS else TEXT for key in keys}, **columns}
    told = [
        nw.col(name) if type == MONEY else nw.col(name).cast(type)
        for name, type in declared.items()
    ]
    selected = frame.select(*told)
    return selected.sort(*keys, nulls_last=True) if keys else selected
