"""Days that are unlike the others."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoLazyFrameT

from comptroller.analysis.keys import KEYS, PERIODS, checked, with_keys
from comptroller.analysis.reports.definition import MONEY, RATIO, Definition, finished
from comptroller.analysis.reports.medians import with_median
from comptroller.analysis.reports.periods import day_of, midnight
from comptroller.analysis.reports.ratios import ROUNDING, limit, ratio

ANOMALIES = Definition(
    title="Days with unusually many or few claims, or amounts",
    formula=(
        "score = (value - median) / MAD over the days from the series' first claim to the last "
        "day of any, a day without claims being 0; a day is listed where the score is beyond the "
        "band, or MAD is 0 and the value not the median. Medians are the lower middle. Without "
        "asset among the keys amounts of all assets are added."
    ),
    reads={"claims": ("amount", "created_at"), "payout_groups": ("id", "jurisdiction")},
    columns={"value": MONEY, "median": MONEY, "mad": MONEY, "score": RATIO},
)
#: What a series can be taken apart by: what it runs over is days.
SERIES_KEYS = tuple(key for key in KEYS if key not in PERIODS)
#: One claim, as exact as an amount.
_ONE = nw.lit(Decimal(1).quantize(Decimal("1e-18")))
#: Its third power is above the number of days in 9,999 years.
_BASE = 160
_DIGITS = ",".join(map(str, range(_BASE)))


def anomalies(
    claims: IntoLazyFrameT,
    payout_groups: IntoLazyFrameT | None = None,
    by: Sequence[str] = ("chain",),
    band: float = 5.0,
) -> IntoLazyFrameT:
    """The days on which the number of claims or their amount is far from what it usually is.

    There are two series for each combination of the keys, of the claims created on each day and of
    the sum of their amounts, from the day of its first claim to the last day on which any claim was
    created; a day without a claim counts as 0. Columns: the keys, ``day`` and ``measure``
    ("claims" or "amount"); ``value``; ``median`` of the series and ``mad``, the median of the
    distances from it, both the lower middle by rank and all three exact, in claims or in units of
    the asset; ``score`` = (value - median) / mad, null where mad is 0. Listed are days whose score
    is beyond `band`, above or below, and where mad is 0 those whose value is not the median. The
    last day may not be over yet.

    Raises:
        InvalidRequest: an unknown key or a period, a band that is no finite number from 0 on.
    """
    series = (*checked(by, SERIES_KEYS), "measure")
    band = limit("band", band)
    keyed = with_keys(nw.from_native(claims), payout_groups, series[:-1])
    values = _values(keyed, series)
    weighed = nw.concat([values, _absent(values, series)])
    known = with_median(weighed, "value", "median", series).with_columns(distance=_distance())
    known = with_median(known, "distance", "mad", series)
    days = _with_absent_days(known, series, band)
    scored = days.with_columns(score=_score()).filter(_is_outside(band))
    told = scored.with_columns(day=midnight(nw.col("day")))
    keys = (*series[:-1], "day", "measure")
    native: IntoLazyFrameT = finished(told, keys, ANOMALIES.columns).to_native()
    return native


def _values(keyed: nw.LazyFrame[Any], series: tuple[str, ...]) -> nw.LazyFrame[Any]:
    """The value of each day with a claim, by series, and from when to when the series runs."""
    daily = (
        keyed.with_columns(day=day_of(nw.col("created_at_us")), claims=_ONE)
        .group_by(*series[:-1], "day")
        .agg(nw.col("claims").sum(), nw.col("amount").sum())
    )
    is_amount = nw.col("measure") == "amount"
    value = nw.when(is_amount).then(nw.col("amount")).otherwise(nw.col("claims"))
    measured = (
        daily.with_columns(everything=nw.lit(1), measure=nw.lit("amount,claims").str.split(","))
        .explode("measure")
        .with_columns(last=nw.col("day").max().over("everything"), value=value)
    )
    return measured.select(
        *series,
        "day",
        "value",
        "last",
        nw.col("day").min().over(*series).alias("first"),
        weight=nw.lit(1, nw.Int64),
    )


def _absent(values: nw.LazyFrame[Any], series: tuple[str, ...]) -> nw.LazyFrame[Any]:
    """A row for each series, without a day: 0, as often as there are days without a claim."""
    present = values.group_by(*series).agg(
        nw.col("value").min(),
        nw.col("last").min(),
        nw.col("first").min(),
        nw.col("weight").sum(),
    )
    return present.select(
        *series,
        nw.lit(None, nw.Int64).alias("day"),
        nw.col("value") - nw.col("value"),
        "last",
        "first",
        weight=(nw.col("last") - nw.col("first") + 1 - nw.col("weight")).cast(nw.Int64),
    )


def _with_absent_days(
    rows: nw.LazyFrame[Any], series: tuple[str, ...], band: float
) -> nw.LazyFrame[Any]:
    """The days with a claim, and those without one where these are outside the band.

    Then more than half of the days have one, so that the others are not too many to be listed.
    """
    is_day = ~nw.col("day").is_null()
    rows = rows.filter(is_day | ((nw.col("weight") > 0) & _is_outside(band)))
    rows = rows.with_columns(number=nw.lit(0, nw.Int64))
    digits = nw.when(is_day).then(nw.lit("0")).otherwise(nw.lit(_DIGITS)).str.split(",")
    number = nw.col("number") * _BASE + nw.col("digit").cast(nw.Int64)
    for step in (_BASE**2, _BASE, 1):
        rows = (
            rows.with_columns(digit=digits)
            .explode("digit")
            .with_columns(number=number)
            .filter(is_day | (nw.col("first") + nw.col("number") * step <= nw.col("last")))
        )
    # A day with a claim is counted out too, and adds 0 to what it has.
    day = nw.when(is_day).then(nw.col("day")).otherwise(nw.col("first") + nw.col("number"))
    days = rows.with_columns(day=day).group_by(*series, "day")
    return days.agg(nw.col("value").sum(), nw.col("median").min(), nw.col("mad").min())


def _distance() -> nw.Expr:
    value, median = nw.col("value"), nw.col("median")
    return nw.when(value >= median).then(value - median).otherwise(median - value)


def _score() -> nw.Expr:
    return ratio(nw.col("value") - nw.col("median"), nw.col("mad"))


def _is_outside(band: float) -> nw.Expr:
    beyond = _score().abs() > band * (1 + ROUNDING)
    unlike = (nw.col("mad") == 0) & (nw.col("value") != nw.col("median"))
    return beyond.fill_null(False) | unlike
