"""How long claims take to be confirmed, and which take too long."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoLazyFrameT

from comptroller.analysis.keys import checked, with_keys
from comptroller.analysis.reports.definition import (
    COUNT,
    MONEY,
    RATIO,
    TEXT,
    Definition,
    finished,
)
from comptroller.analysis.reports.survival import kaplan_meier, nearest_ranks, seconds
from comptroller.errors import invalid

CONFIRMATION_TIMES = Definition(
    title="Time from submission to confirmation",
    formula=(
        "Kaplan-Meier: a percentile p is the smallest t with S(t) <= 1 - p, where claims still "
        "SUBMITTED count as waiting until as_of, the newest updated_at unless given (what was "
        "confirmed later is confirmed all the same); without any it is the nearest rank."
    ),
    reads={
        "claims": ("onchain_status", "submitted_at", "confirmed_at", "updated_at"),
        "payout_groups": ("id", "jurisdiction"),
    },
    columns={
        "confirmed": COUNT,
        "waiting": COUNT,
        "p50_seconds": RATIO,
        "p90_seconds": RATIO,
        "p99_seconds": RATIO,
    },
)
_PERCENTS = (50, 90, 99)
_SHORTEST_US, _SHORTEST_STEP = 1_000, -30

STUCK_CLAIMS = Definition(
    title="Claims that wait longer than their chain's claims do",
    formula=(
        "age = as_of - submitted_at (of a PENDING claim: as_of - created_at); threshold = the "
        "percentile, by nearest rank, of confirmed_at - submitted_at of the chain's CONFIRMED "
        "claims. as_of is the newest updated_at unless given."
    ),
    reads={
        "claims": (
            *("id", "payout_group_id", "blockchain", "onchain_status", "amount"),
            *("created_at", "submitted_at", "confirmed_at", "updated_at"),
        )
    },
    columns={
        "id": TEXT,
        "group": TEXT,
        "chain": TEXT,
        "status": TEXT,
        "amount": MONEY,
        "age_seconds": RATIO,
        "threshold_seconds": RATIO,
    },
)


def confirmation_times(
    claims: IntoLazyFrameT,
    payout_groups: IntoLazyFrameT | None = None,
    by: Sequence[str] = ("chain",),
    as_of: int | None = None,
) -> IntoLazyFrameT:
    """How long claims take from submitted_at to confirmed_at, those that still wait included.

    Columns: the keys, then ``confirmed``, CONFIRMED claims with both times; ``waiting``, SUBMITTED
    claims with submitted_at, which are known to take longer than until `as_of` (microseconds since
    1970; the newest updated_at of these claims when left out); ``p50_seconds``, ``p90_seconds``,
    ``p99_seconds``: by Kaplan-Meier the smallest t with S(t) <= 1 - p + 1e-12, null when never
    reached; without waiting claims the nearest rank. FAILED and PENDING claims are left out. A
    claim that was confirmed before it was submitted counts with the negative time its clocks say.
    """
    keys = checked(by)
    timed = _timed(_with_as_of(nw.from_native(claims), as_of))
    keyed = with_keys(timed, payout_groups, keys)
    shares = {f"p{percent}": Fraction(percent, 100) for percent in _PERCENTS}
    ranked = kaplan_meier(keyed, keys, shares).with_columns(
        nw.col("ended").alias("confirmed"),
        *(seconds(name).alias(f"{name}_seconds") for name in shares),
    )
    some = ranked.filter(nw.col("confirmed") + nw.col("waiting") > 0)
    native: IntoLazyFrameT = finished(some, keys, CONFIRMATION_TIMES.columns).to_native()
    return native


def distribution(
    claims: IntoLazyFrameT,
    payout_groups: IntoLazyFrameT | None = None,
    by: Sequence[str] = ("chain",),
) -> IntoLazyFrameT:
    """How many claims took how long to be confirmed, in ten steps for each power of ten.

    Of CONFIRMED claims with both times. Columns: the keys, then ``step`` = floor(10 x log10(t)) for
    t seconds from submitted_at to confirmed_at, where what took less than a millisecond, or a
    negative time, is in the step of a millisecond, -30; ``claims``, how many. A time on the edge of
    a step may be in the one below it. Steps without claims are left out.
    """
    keys = checked(by)
    timed = _timed(nw.from_native(claims).with_columns(as_of_us=nw.lit(0))).filter(nw.col("ended"))
    took = nw.when(nw.col("took_us") > _SHORTEST_US).then(nw.col("took_us").cast(nw.Float64))
    steps = (10.0 * took.log(10)).floor().cast(nw.Int64) - 60
    stepped = timed.with_columns(step=steps.fill_null(_SHORTEST_STEP))
    keyed = with_keys(stepped, payout_groups, keys)
    counted = keyed.group_by(*keys, "step").agg(nw.len().alias("claims"))
    listed = finished(counted, keys, {"step": COUNT, "claims": COUNT})
    native: IntoLazyFrameT = listed.sort(*keys, "step", nulls_last=True).to_native()
    return native


def stuck_claims(
    claims: IntoLazyFrameT, as_of: int | None = None, percentile: float = 0.99
) -> IntoLazyFrameT:
    """The PENDING and SUBMITTED claims older than nearly all of their chain were when confirmed.

    Columns: ``id``; ``group``; ``chain``; ``status``; ``amount``, in units of the asset;
    ``age_seconds``, as_of - submitted_at, or as_of - created_at of a claim that is PENDING or whose
    submitted_at is unknown; ``threshold_seconds``, the `percentile` by nearest rank of confirmed_at
    - submitted_at of the CONFIRMED claims of the same chain, negative where their clocks say so.
    Claims without a chain are compared to each other; a chain without a confirmed claim lists none.
    The oldest come first. `as_of` is in microseconds since 1970, the newest updated_at of these
    claims when left out.
    """
    shares = {"threshold_us": _share(percentile)}
    # No chain's name is empty; a join finds no null.
    known = nw.from_native(claims).with_columns(on_chain=nw.col("blockchain").fill_null(""))
    confirmed = _timed(known.with_columns(as_of_us=nw.lit(0))).filter(nw.col("ended"))
    thresholds = nearest_ranks(confirmed, ("on_chain",), shares)
    submitted = nw.col("onchain_status") == "SUBMITTED"
    began = nw.when(submitted & ~nw.col("submitted_at_us").is_null()).then(
        nw.col("submitted_at_us")
    )
    waiting = _with_as_of(known, as_of).filter(
        nw.col("onchain_status").is_in(["PENDING", "SUBMITTED"])
    )
    aged = waiting.with_columns(
        age_us=nw.col("as_of_us") - began.otherwise(nw.col("created_at_us"))
    )
    stuck = aged.join(thresholds, on="on_chain").filter(nw.col("age_us") > nw.col("threshold_us"))
    told = stuck.with_columns(
        group=nw.col("payout_group_id"),
        chain=nw.col("blockchain"),
        status=nw.col("onchain_status"),
        age_seconds=seconds("age_us"),
        threshold_seconds=seconds("threshold_us"),
    )
    listed = finished(told, (), STUCK_CLAIMS.columns)
    native: IntoLazyFrameT = listed.sort("age_seconds", "id", descending=[True, False]).to_native()
    return native


def _share(percentile: float) -> Fraction:
    """The share as it is written: 0.99 is 99/100."""
    try:
        share = Fraction(Decimal(str(percentile)))
    except (ArithmeticError, ValueError):
        share = Fraction(0)
    if not 0 < share <= 1 or 1_000_000 % share.denominator:
        raise invalid("percentile", "must be above 0 and at most 1, with at most six decimals")
    return share


def _with_as_of(claims: nw.LazyFrame[Any], as_of: int | None) -> nw.LazyFrame[Any]:
    if as_of is not None:
        return claims.with_columns(as_of_us=nw.lit(as_of))
    newest = claims.select(nw.col("updated_at_us").max().alias("as_of_us"))
    return claims.join(newest, how="cross")


def _timed(claims: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The claims submitted and not failed: `ended`, and `took_us` so far, where that is known."""
    status = nw.col("onchain_status")
    confirmed, waits = status == "CONFIRMED", status == "SUBMITTED"
    until = nw.when(confirmed).then(nw.col("confirmed_at_us")).otherwise(nw.col("as_of_us"))
    timed = claims.filter(confirmed | waits).with_columns(
        ended=confirmed, took_us=until - nw.col("submitted_at_us")
    )
    return timed.filter(~nw.col("took_us").is_null())
