"""Who is restricted, since when and why: controls made, lifted and in force."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoLazyFrameT

from comptroller.analysis.keys import PERIODS, checked, with_keys
from comptroller.analysis.reports.definition import COUNT, RATIO, TEXT, Definition, finished
from comptroller.analysis.reports.survival import days, kaplan_meier
from comptroller.errors import invalid

RESTRICTIONS = Definition(
    title="Controls made, lifted and in force",
    formula=(
        "active = all created - all lifted up to the end of the period; median_days, of those "
        "created in it, by Kaplan-Meier, where those in force count as lasting until the newest "
        "time of all controls. Controls created outside since and until are not counted, also not "
        "as active."
    ),
    reads={"controls": ("type", "set_by", "reason_code", "created_at", "deleted_at")},
    columns={
        "type": TEXT,
        "set_by": TEXT,
        "reason_code": TEXT,
        "created": COUNT,
        "lifted": COUNT,
        "active": COUNT,
        "median_days": RATIO,
    },
)
#: What controls can be taken apart by, besides the columns that are always there.
KEYS = ("customer", *PERIODS)
_KINDS = ("type", "set_by", "reason_code")


def restrictions(controls: IntoLazyFrameT, by: Sequence[str] = ("month",)) -> IntoLazyFrameT:
    """How many controls were made, lifted and in force, and how long they last.

    `by` is customer, a period (hour, day, week or month), both or neither. Columns: the keys, then
    ``type``, ``set_by``, ``reason_code`` (null where there is none); ``created`` and ``lifted``,
    how many were made and deleted in the period; ``active``, how many are in force at its end;
    ``median_days``, how many days those created in the period are in force: by Kaplan-Meier the
    smallest t with S(t) <= 0.5 + 1e-12, those not lifted being known to last until the newest
    created_at or deleted_at of these controls; null when never reached, and where none was made.

    A period in which a control was made or lifted has a row for every kind of control that is in
    force at its end or changed in it. Between the listed periods nothing changes. A control deleted
    before it was made counts as lifted when it was made.
    """
    keys = checked(by, KEYS)
    periods = [key for key in keys if key in PERIODS]
    if len(periods) > 1:
        raise invalid("by", "may name one period only")
    parts = (*keys, *_KINDS)
    timed = _timed(nw.from_native(controls))
    made = kaplan_meier(with_keys(timed, None, keys), parts, {"median_us": Fraction(1, 2)})
    ended = timed.filter(nw.col("ended")).with_columns(created_at=nw.col("lifted_at"))
    lifted = with_keys(ended, None, keys).group_by(*parts).agg(nw.len().alias("lifted"))
    changes = nw.concat(
        [
            _change(made, parts, created=nw.col("ended") + nw.col("waiting"), median="median_us"),
            _change(lifted, parts, lifted=nw.col("lifted")),
        ]
    )
    summed = _standing(changes, parts, periods)
    shown = summed.filter(nw.col("created") + nw.col("lifted") + nw.col("active") > 0)
    told = shown.with_columns(median_days=days("median_us"))
    native: IntoLazyFrameT = finished(told, parts, RESTRICTIONS.columns).to_native()
    return native


def _timed(controls: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The controls with `ended`, `lifted_at`, and `took_us` so far."""
    newest = controls.select(
        nw.max_horizontal("created_at_us", "deleted_at_us").max().alias("newest_us")
    )
    ended = ~nw.col("deleted_at_us").is_null()
    in_order = nw.col("deleted_at_us") > nw.col("created_at_us")
    until_us = nw.when(~ended).then(nw.col("newest_us")).otherwise(nw.col("lifted_us"))
    return (
        controls.join(newest, how="cross")
        .with_columns(
            lifted_at=nw.when(in_order).then(nw.col("deleted_at")).otherwise(nw.col("created_at")),
            lifted_us=nw.max_horizontal("created_at_us", "deleted_at_us"),
        )
        .with_columns(ended=ended, took_us=until_us - nw.col("created_at_us"))
    )


def _change(
    frame: nw.LazyFrame[Any],
    parts: tuple[str, ...],
    created: nw.Expr | None = None,
    lifted: nw.Expr | None = None,
    median: str | None = None,
) -> nw.LazyFrame[Any]:
    """The counts of some periods in the columns that all changes have."""
    figures = {
        "created": nw.lit(0) if created is None else created,
        "lifted": nw.lit(0) if lifted is None else lifted,
        "median_us": nw.lit(None) if median is None else nw.col(median),
    }
    return frame.select(
        *parts, *(figure.cast(nw.Int64).alias(name) for name, figure in figures.items())
    )


def _standing(
    changes: nw.LazyFrame[Any], parts: tuple[str, ...], periods: list[str]
) -> nw.LazyFrame[Any]:
    """The changes of each part summed, with `active`; in every period there is, for each kind."""
    kinds = tuple(part for part in parts if part not in periods)
    if periods:
        # Of no join: kinds may be null.
        every = changes.select(*periods).unique().join(changes.select(*kinds).unique(), how="cross")
        changes = nw.concat([changes, _change(every.select(*parts), parts)])
    summed = changes.group_by(*parts).agg(
        nw.col("created", "lifted").sum(), nw.col("median_us").max()
    )
    grown = nw.col("created") - nw.col("lifted")
    active = grown.cum_sum().over(*kinds, order_by=periods) if periods else grown
    return summed.with_columns(active=active)
