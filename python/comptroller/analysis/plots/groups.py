"""Pictures of payout groups: statements, reconciliation and cohorts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from comptroller.analysis.plots import frames, marks, scales, theme
from comptroller.display.numbers import shortest, with_fraction

if TYPE_CHECKING:
    from comptroller.analysis.report import Report

_MAX_MONTHS = 36
_MAX_GROUPS = 4_000
_MAX_CROSSES = 500
#: The position of groups without a deviation, as a multiple of the largest deviation.
_BEYOND = 1.5
_NAMED = 2
#: The deviation from which on a note has a multiple of the median instead of a percentage.
_TIMES = 10


def statement(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the daily holdings of each asset as a waterfall, and the claimed amounts below."""
    notes: list[str] = []
    panels: list[theme.Picture] = []
    for asset, exact in frames.by_asset(report.to_polars(), notes):
        (month,) = exact.filter(pl.col("day").is_null()).to_dicts()
        opening, claimed, closing = (
            "more than 20 digits" if amount is None else with_fraction(shortest(amount), 0)
            for amount in map(month.get, _AMOUNTS)
        )
        last = month["last_claim_at"]
        at = "none" if last is None else f"the last at {last:%Y-%m-%d %H:%M} UTC"
        notes.append(f"{asset}: opening {opening}, closing {closing}.")
        notes.append(f"Claimed {claimed} in {month['claims']:,} claims, {at}.")
        panels += _days(exact.drop_nulls("day"), asset)
    return alt.vconcat(*panels), notes


def _days(exact: pl.DataFrame, asset: str) -> list[theme.Picture]:
    fell = pl.col("closing_holdings") < pl.col("opening_holdings")
    down, up = _CHANGES
    days = frames.with_day(exact, "day").with_columns(
        pl.col(_AMOUNTS).cast(pl.Float64),
        change=pl.when(fell).then(pl.lit(down)).otherwise(pl.lit(up)),
    )
    when = scales.times(days, "day (UTC)")
    axis = alt.Axis(title=f"holdings ({asset})", labelExpr=scales.LABEL)
    opening, closing = (
        alt.Y(f"{name}_holdings:Q", scale=alt.Scale(zero=False, nice=True), axis=axis)
        for name in ("opening", "closing")
    )
    change = marks.coloured("change", _CHANGES)
    span = {"x": when, "x2": "end:T"}
    steps = marks.drawn(
        days, alt.MarkDef("rect"), **span, y=opening, y2="closing_holdings:Q", color=change
    )
    rules = marks.drawn(
        days, alt.MarkDef("rule", color=theme.GREY, strokeWidth=2), **span, y=closing
    )
    claimed = alt.Y("claimed:Q", **scales.quantity(days["claimed"], f"claimed ({asset})"))
    return [
        alt.layer(steps, rules).properties(height=200),
        marks.period_bars(days, when, claimed, theme.GREEN).properties(height=100),
    ]


_AMOUNTS = ("opening_holdings", "claimed", "closing_holdings")
_CHANGES = {"holdings down": theme.ORANGE, "holdings up": theme.BLUE}


def reconciliation(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the deviation of each group's rate, in a strip for each asset and ledger."""
    compared = frame.drop_nulls("deviation").sort(pl.col("deviation").abs(), descending=True)
    worst = compared.filter(~pl.col("within_tolerance")).head(_NAMED)
    notes = [
        f"Furthest: {_named(row)}, {_far(row['deviation'])}." for row in worst.iter_rows(named=True)
    ]
    tolerance = float(report.given.get("tolerance", 0))
    near = compared.head(_MAX_GROUPS).with_columns(known=True)
    furthest = max(float(near["deviation"].abs().max() or 0), tolerance)  # type: ignore[arg-type]
    beyond, others = _without_deviation(frame)
    crossed = beyond.with_columns(deviation=pl.lit(_BEYOND * furthest or 1.0), known=False)
    drawn = pl.concat([near, crossed])
    if len(near) < len(compared):
        more = len(compared) - len(near)
        notes.append(f"Shows the furthest {_MAX_GROUPS:,} groups; {more:,} others are not drawn.")
    notes += others
    if tolerance:
        notes.append("Grey: within the tolerance.")
    if not len(drawn):
        return marks.message("There are no two rates to compare."), notes
    shown = pl.concat([drawn["deviation"], pl.Series([-tolerance, tolerance])])
    scaled = scales.quantity(shown, "deviation from the median rate")
    scaled["axis"]["labelExpr"] = _PERCENT
    tolerated = marks.band(tolerance, x=alt.X("low:Q", **scaled), x2="high:Q")
    return alt.layer(tolerated, *_strips(drawn, scaled)).properties(height=alt.Step(32)), notes


def _without_deviation(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Returns rows outside the tolerance without a deviation, and notes on all such rows."""
    missing = frame.filter(pl.col("deviation").is_null())
    rated = pl.col("annual_rate").is_not_null()
    beyond = missing.filter(~pl.col("within_tolerance")).sort("claimed", descending=True)
    notes = []
    for where, condition in (("holdings of 0", ~rated), ("a median rate of 0", rated)):
        if len(some := beyond.filter(condition)):
            most = ", ".join(_named(row) for row in some.head(_NAMED).iter_rows(named=True))
            notes += [f"Crosses at the edge: {len(some):,} claimed on {where}.", f"Most: {most}."]
    unmeasured = missing.filter(pl.col("within_tolerance").is_null())
    counts = {
        "no rate, since no holdings are known, or none and no claims": unmeasured.filter(~rated),
        "no median, since the asset or the ledger is unknown": unmeasured.filter(rated),
        "a rate of 0, as the median is": missing.filter("within_tolerance"),
    }
    notes += [f"Not drawn: {len(some):,} with {why}." for why, some in counts.items() if len(some)]
    if len(beyond) > _MAX_CROSSES:
        notes.append(f"Shows {_MAX_CROSSES:,} crosses, those with the most claimed.")
    return beyond.head(_MAX_CROSSES), notes


def _named(row: dict[str, Any]) -> str:
    return f"{frames.shortened(row['group'])} in {row['month']:%Y-%m}"


def _strips(drawn: pl.DataFrame, scaled: dict[str, Any]) -> list[alt.Chart]:
    named, _ = frames.with_series(drawn, ["asset", "ledger"], most=marks.MAX_BARS)
    near, far = _COLOURS
    rows = frames.reordered(named, sorted(frames.names_of(named))).with_columns(
        within=pl.when("within_tolerance").then(pl.lit(near)).otherwise(pl.lit(far))
    )
    encoded = {
        "x": alt.X("deviation:Q", **scaled),
        "y": marks.ROWS,
        "color": marks.coloured("within", _COLOURS),
    }
    ticks = alt.MarkDef("tick", thickness=2, size=22, opacity=0.8)
    crosses = alt.MarkDef("point", shape="cross", filled=True, size=70, opacity=1)
    return [
        marks.drawn(rows.filter("known"), ticks, **encoded),
        marks.drawn(rows.filter(~pl.col("known")), crosses, **encoded),
    ]


_COLOURS = {"within tolerance": theme.BLUE, "beyond it": theme.VERMILLION}
_PERCENT = (
    "abs(datum.value) < 10 ? format(datum.value, '~%') "
    ": replace(format(datum.value * 100, '~s'), 'G', 'bn') + '%'"
)


def _far(deviation: float) -> str:
    return f"{deviation:+.0%}" if deviation < _TIMES else f"{1 + deviation:,.3g} times the median"


def cohort(frame: pl.DataFrame, report: Report) -> theme.Drawn:
    """Draws the share of each month's groups that still claim, by months since the first."""
    notes = []
    if frame["asset"].n_unique() > 1:
        notes.append("A group that claims several assets counts once for each.")
    frame = frame.group_by("month", "age_months", maintain_order=True).agg(pl.col("groups").sum())
    months = frame["month"].unique().sort()
    if len(months) > _MAX_MONTHS:
        notes.append(f"Shows the latest {_MAX_MONTHS} of {len(months)} months.")
    first = frame.filter(pl.col("age_months") == 0).select("month", all=pl.col("groups"))
    shown = (
        frame.join(first, on="month")
        .filter(pl.col("month") >= months.tail(_MAX_MONTHS).min())
        .filter(pl.col("age_months") < _MAX_MONTHS)
        .with_columns(
            share=pl.col("groups") / pl.col("all"),
            began=pl.format("{} ({})", pl.col("month").dt.strftime("%Y-%m"), "all"),
        )
    )
    if len(shown) < len(frame) and len(months) <= _MAX_MONTHS:
        notes.append(f"Shows the first {_MAX_MONTHS} months of each.")
    cells = shown.select(
        column="age_months",
        row="began",
        value="share",
        text=pl.when(pl.col("share").is_between(0, 0.01, closed="none"))
        .then(pl.lit("<1%"))
        .otherwise((pl.col("share") * 100).round(0).cast(pl.Int64).cast(pl.String) + "%"),
    )
    picture = marks.heat(
        cells,
        x=alt.X("column:O", title="months since the first claim", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("row:O", title="first claim", axis=marks.LEFT),
        scale=alt.Scale(scheme="cividis", domain=[0, 1]),
        title="groups that claim",
        label="format(datum.value, '~%')",
    )
    return picture, notes
