"""The drawing of each report, which has the report's name and adds its notes to a list."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from comptroller.analysis.plots import frames, marks
from comptroller.analysis.plots.durations import (
    confirmation_times as confirmation_times,
    stuck_claims as stuck_claims,
)
from comptroller.analysis.plots.frames import by_asset, fill_notes, with_instants, with_series
from comptroller.analysis.plots.marks import MAX_BARS, ROWS, colour_by, draw_marks, message
from comptroller.analysis.plots.theme import BLUE, GREEN, ORANGE, VERMILLION, Picture
from comptroller.analysis.registry import PERIODS, period_of
from comptroller.analysis.rows import ReportRows
from comptroller.display.numbers import percent, shortest, with_fraction

#: The height in pixels of each of several panels of amounts.
_LOW = 110


def claims_summary(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the confirmed amounts of each asset, the number of claims, and success rates.

    Over time, or as bars if there is no period. If nothing is confirmed, the amounts are those of
    waiting claims. Without rates by status, and if no claim has ended yet.
    """
    period, keys = period_of(report.by), [key for key in report.by if key not in PERIODS]
    volume: Callable[[pl.DataFrame, str, str], alt.Chart] = marks.bars
    if period is None:
        named, by = with_series(frame, keys, "claims", MAX_BARS), ["series"]
    else:
        named = with_series(frame, ["status"] if "status" in keys else keys, "claims")
        named, when = marks.timeline(named, period, f"created, by {{}} ({report.zone})", notes)
        volume, by = partial(marks.volume_of, when=when, notes=notes), ["start", "series"]
    measure = "confirmed" if named["confirmed_amount"].sum() else "waiting"
    amounts = by_asset(named.filter(pl.col(f"{measure}_amount") > 0), notes)
    panels: list[Picture] = [
        volume(some, f"{measure}_amount", f"{measure} amount ({asset})") for asset, some in amounts
    ]
    if period is not None and len(panels) > 1:
        panels = [each.properties(height=_LOW) for each in panels]
    claims = volume(named, "claims", "claims of all statuses")
    ended = pl.col("confirmed").sum() + pl.col("failed").sum()
    rate = (pl.col("confirmed").sum() / ended).fill_nan(None)
    rates = named.group_by(by).agg(rate=rate).sort(by)
    known = rates.drop_nulls("rate")
    if "status" in keys or not len(known):
        panels.append(claims)
    elif period is None:
        percents = pl.col("rate").map_elements(percent, pl.String, skip_nulls=False)
        panels.append(marks.beside(claims, rates.with_columns(text=percents), "success rate"))
    else:
        rate_scale = marks.rates(known["rate"], "success rate")
        panels += [claims, marks.lines(known, "rate", rate_scale, when)]
    return alt.vconcat(*panels)


_OUTCOMES = {"failed": VERMILLION, "recovered later": GREEN}


def failures(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the number of failures with each message, and how many a later claim recovered."""
    if others := [key for key in report.by if key != "error_message"]:
        notes.append(f"Added over every {' and '.join(others)}.")
    renamed = frame.rename({"failures": "failed", "made_good": "recovered later"})
    named = with_series(renamed, ["error_message"], "failed", MAX_BARS)
    summed = named.group_by("series", maintain_order=True).agg(pl.col(*_OUTCOMES).sum())
    counted = summed.unpivot(index="series", variable_name="what", value_name="claims")
    x = alt.X("claims:Q", stack=None, **marks.quantity(summed["failed"], "failed claims"))
    bars = draw_marks(counted, alt.MarkDef("bar"), x=x, y=ROWS, color=colour_by("what", _OUTCOMES))
    return bars.encode(size=alt.condition("datum.what == 'failed'", alt.value(14), alt.value(6)))


def failing_schedules(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the number of failed claims of each schedule since its last confirmed claim."""
    named = with_series(frame, ["schedule"], "failures", MAX_BARS)
    return marks.bars(named, "failures", "claims failed since the last confirmed", VERMILLION)


def shared_transactions(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the number of claims that name each transaction."""
    named = with_series(frame, ["tx_hash"], "claims", MAX_BARS)
    return marks.bars(named, "claims", "claims that name the transaction", ORANGE)


_CONTROL = ("type", "set_by")


def restrictions(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the active controls by type and setter over time, and those created and deleted."""
    period = period_of(report.by)
    if period is None:
        named = with_series(frame, _CONTROL, "active", MAX_BARS)
        return marks.bars(named, "active", "active controls")
    named = with_series(frame, _CONTROL, "created")
    spanned, when = marks.timeline(named, period, f"by {{}} ({report.zone})", notes)
    # Each listed period has all active controls; of merged periods, the last one counts.
    last = spanned.filter(pl.col(period) == pl.col(period).max().over("start"))
    starts = spanned.select("start", "end").unique().sort("start")
    until = starts.with_columns(end=pl.col("start").shift(-1).fill_null(pl.col("end")))
    active = last.drop("end").join(until, on="start")
    at_the_end = marks.volume_of(active, "active", "active at the end", when, notes)
    summed = spanned.group_by("start", "end", maintain_order=True).agg(
        pl.col("created").sum(), deleted=-pl.col("deleted").sum()
    )
    changes = summed.unpivot(["created", "deleted"], index=["start", "end"])
    y = alt.Y("value:Q", **marks.quantity(changes["value"], "created, deleted"))
    return alt.vconcat(at_the_end, marks.period_bars(changes, when, y).properties(height=110))


def restricted(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the number of controls active on the day, by type and setter."""
    named = with_series(frame.with_columns(controls=1), _CONTROL, "controls", MAX_BARS)
    return marks.bars(named, "controls", "controls active on the day")


_AMOUNTS = ("opening_holdings", "claimed", "closing_holdings")


def group_statement(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the holdings of each asset from day to day, and the claimed amounts below."""
    panels: list[Picture] = []
    unknown = "more than 20 digits" if report.has_unknown_sums else "unknown"
    for asset, exact in by_asset(with_instants(report.to_polars()), notes):
        (month,) = exact.filter(pl.col("day").is_null()).to_dicts()
        opening, claimed, closing = (
            unknown if amount is None else with_fraction(shortest(amount), 0)
            for amount in map(month.get, _AMOUNTS)
        )
        last = month["last_claim_at"]
        at = "none" if last is None else f"the last at {last:%Y-%m-%d %H:%M} UTC"
        notes.append(f"{asset}: opening {opening}, closing {closing}.")
        notes.append(f"Claimed {claimed} in {month['claims']:,} claims, {at}.")
        notes.append("A line joins the opening and the closing holdings of each day.")
        days = exact.drop_nulls("day").with_columns(pl.col(_AMOUNTS).cast(pl.Float64))
        panels += _holdings(days, asset, report, notes)
    return alt.vconcat(*panels)


def _holdings(
    frame: pl.DataFrame, asset: str, report: ReportRows, notes: list[str]
) -> list[Picture]:
    days, when = marks.timeline(frame, "day", f"day ({report.zone})", notes)
    axis = alt.Axis(title=f"holdings ({asset})", labelExpr=marks.LABEL)
    opening = alt.Y("opening_holdings:Q", scale=alt.Scale(zero=False), axis=axis)
    line = alt.MarkDef("rule", color=BLUE, strokeWidth=2, strokeCap="round")
    known = days.drop_nulls(["opening_holdings", "closing_holdings"])
    above = draw_marks(known, line, x=when, x2="end:T", y=opening, y2="closing_holdings:Q")
    claimed = alt.Y("claimed:Q", **marks.quantity(days["claimed"], f"confirmed claims ({asset})"))
    below = marks.period_bars(days, when, claimed, GREEN)
    return [above.properties(height=200), below.properties(height=100)]


_MAX_GROUPS, _MAX_CROSSES, _MAX_NAMED = 4_000, 500, 2
#: The position of groups without a deviation, as a multiple of the largest deviation.
_BEYOND = 1.5
#: The deviation from which on a note has a multiple of the median instead of a percentage.
_TIMES = 10
_TOLERANCE = {"within tolerance": BLUE, "beyond it": VERMILLION}


def reconciliation(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the deviation of each group's rate, in a strip for each asset and ledger."""
    compared = frame.drop_nulls("deviation").sort(pl.col("deviation").abs(), descending=True)
    for row in compared.filter(~pl.col("within_tolerance")).head(_MAX_NAMED).to_dicts():
        notes.append(f"Furthest: {_name_month(row)}, {_far(row['deviation'])}.")
    tolerance = float(report.given.get("tolerance", 0))
    near = compared.head(_MAX_GROUPS)
    left = len(compared) - len(near)
    notes += fill_notes(
        {f"Shows the furthest {_MAX_GROUPS:,} groups; {{}} others are not drawn.": left}
    )
    beyond = _without_deviation(frame, notes)
    if tolerance:
        notes.append("Grey: within the tolerance.")
    if not len(near) + len(beyond):
        return message("There are no two rates to compare.")
    edge = _BEYOND * max(tolerance, *near["deviation"].abs(), 0) or 1.0
    rows = pl.concat([near, beyond.with_columns(deviation=pl.lit(edge))])
    shown = [*rows["deviation"], -tolerance, tolerance]
    scaled = marks.quantity(shown, "deviation from the median rate")
    scaled["axis"]["labelExpr"] = marks.PERCENT
    inside, outside = map(pl.lit, _TOLERANCE)
    within = pl.when("within_tolerance").then(inside).otherwise(outside)
    named = with_series(rows, ["asset", "ledger"], most=MAX_BARS).with_columns(within=within)
    x, y = alt.X("deviation:Q", **scaled), alt.Y("series:N", sort="ascending", title=None)
    colour = colour_by("within", _TOLERANCE)
    ticks = alt.MarkDef("tick", thickness=2, size=22, opacity=0.8)
    crosses = alt.MarkDef("point", shape="cross", filled=True, size=70, opacity=1)
    return alt.layer(
        marks.band(tolerance, x=alt.X("low:Q", **scaled), x2="high:Q"),
        draw_marks(named.head(len(near)), ticks, x=x, y=y, color=colour),
        draw_marks(named.tail(len(beyond)), crosses, x=x, y=y, color=colour),
    ).properties(height=alt.Step(32))


def _without_deviation(frame: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Returns rows outside the tolerance without a deviation, and adds notes on all such rows."""
    missing = frame.filter(pl.col("deviation").is_null())
    rated = pl.col("annual_rate").is_not_null()
    beyond = missing.filter(~pl.col("within_tolerance")).sort("claimed", descending=True)
    for where, condition in (("holdings of 0", ~rated), ("a median rate of 0", rated)):
        if len(some := beyond.filter(condition)):
            most = ", ".join(map(_name_month, some.head(_MAX_NAMED).to_dicts()))
            notes += [f"Crosses at the edge: {len(some):,} claimed on {where}.", f"Most: {most}."]
    unmeasured = missing.filter(pl.col("within_tolerance").is_null())
    reasons = {
        "no rate, since no holdings are known, or none and no claims": unmeasured.filter(~rated),
        "no median, since the asset or the ledger is unknown": unmeasured.filter(rated),
        "a rate of 0, as the median is": missing.filter("within_tolerance"),
    }
    notes += fill_notes(
        {f"Not drawn: {{}} with {why}.": len(some) for why, some in reasons.items()}
    )
    if len(beyond) > _MAX_CROSSES:
        notes.append(f"Shows {_MAX_CROSSES:,} crosses, those with the most claimed.")
    return beyond.head(_MAX_CROSSES)


def _name_month(row: dict[str, Any]) -> str:
    name = "" if row["group_name"] is None else f"{row['group_name']}, "
    return f"{frames.shorten_label(name + row['group'])} in {str(row['month'])[:7]}"


def _far(deviation: float) -> str:
    return f"{deviation:+.0%}" if deviation < _TIMES else f"{1 + deviation:,.3g} times the median"


_MAX_MONTHS = 36


def cohort(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the share of each month's groups that still claim, by months since the first."""
    if frame["asset"].n_unique() > 1:
        notes.append("A group that claims several assets counts once for each.")
    counted = frame.group_by("month", "age_months", maintain_order=True).agg(pl.col("groups").sum())
    months = counted["month"].unique().sort()
    is_recent = pl.col("month") >= months.tail(_MAX_MONTHS).min()
    shown = counted.filter(is_recent, pl.col("age_months") < _MAX_MONTHS)
    if len(months) > _MAX_MONTHS:
        notes.append(f"Shows the latest {_MAX_MONTHS} of {len(months)} months.")
    elif len(shown) < len(counted):
        notes.append(f"Shows the first {_MAX_MONTHS} months of each.")
    first = pl.col("groups").filter(pl.col("age_months") == 0).first().over("month")
    row = pl.format("{} ({})", pl.col("month").dt.strftime("%Y-%m"), first)
    cells = shown.select(column="age_months", row=row, value=pl.col("groups") / first)
    x = alt.X("column:O", title="months since the first claim", axis=alt.Axis(labelAngle=0))
    y = alt.Y("row:O", title="first claim")
    scale = alt.Scale(scheme="cividis", domain=[0, 1])
    label = "datum.value > 0 && datum.value < 0.01 ? '<1%' : format(datum.value, '.0%')"
    return marks.heat(cells, x, y, scale, "groups that claim", label, label)


_MAX_POINTS = 2_000
_MEASURES = {"claims": "claims of all statuses", "amount": "confirmed amount"}


def anomalies(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the days outside the band by their distance from the median.

    If there are many, draws those with the largest scores, and up to a quarter without a score;
    more days without one fill the limit if there are few with one.
    """
    named = with_series(frame, [key for key in report.keys if key != "day"])
    has_score = pl.col("score").is_not_null()
    scored = named.filter(has_score).sort(pl.col("score").abs(), descending=True)
    unscored = named.filter(~has_score).head(max(_MAX_POINTS // 4, _MAX_POINTS - len(scored)))
    shown = pl.concat([scored.head(_MAX_POINTS - len(unscored)), unscored])
    notes.append(
        "How far a day is from the median of its series, in multiples of the usual distance."
    )
    notes.append("Grey: the band. The usual distance is the median of all distances.")
    left = len(frame) - len(shown)
    notes += fill_notes(
        {f"Shows the furthest {_MAX_POINTS:,} days; {{}} others are not drawn.": left}
    )
    crosses = "Crosses: {} days without a score, as their series hardly vary."
    notes += fill_notes({crosses: len(unscored)})
    edge = float(report.given.get("band", 0))
    furthest = max(scored["score"].abs(), default=0) or edge or 1
    side = pl.when(pl.col("value") < pl.col("median")).then(-furthest).otherwise(furthest)
    placed = shown.with_columns(pl.col("score").fill_null(side), known=has_score)
    days, x = marks.with_times(placed, pl.col("day"), "1d", f"day ({report.zone})")
    title = f"{_MEASURES[report.given['measure']]}: distance from the median"
    scaled = marks.quantity([*days["score"], -edge, edge], title)
    y = alt.Y("score:Q", **scaled)
    shapes = alt.Scale(domain=[True, False], range=["circle", "cross"])
    shape = alt.Shape("known:N", legend=None, scale=shapes)
    mark = alt.MarkDef("point", filled=True, size=45, opacity=0.9)
    points = draw_marks(days, mark, x=x, y=y, color=marks.colour_of(days), shape=shape)
    return alt.layer(marks.band(edge, y=alt.Y("low:Q", **scaled), y2="high:Q"), points)


_MAX_ASSETS = 10


#: Labels of cells: counts, from 10,000 on with three digits.
_COUNT = (
    "datum.value < 10000 ? format(datum.value, 'd') "
    ": replace(replace(format(datum.value, '.3~s'), 'G', 'bn'), 'T', 'tn')"
)


def orchestration_flow(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the number of orchestrations, and of failed ones, for each pair of assets."""
    failed = frame.filter(pl.col("status").is_in(["FAILED", "REJECTED"]))
    total, bad = (int(each["orchestrations"].sum()) for each in (frame, failed))
    notes.append(f"{total:,} orchestrations, {bad:,} of them FAILED or REJECTED.")
    for key, column in (("source_asset", "row"), ("destination_asset", "column")):
        frame = with_series(frame, [key], "orchestrations", _MAX_ASSETS, column)
    cells = frame.group_by("row", "column", maintain_order=True).agg(
        value=pl.col("orchestrations").sum()
    )
    slanted = alt.Axis(labelAngle=-40, labelLimit=110, labelOverlap=False)
    x, y = alt.X("column", title="to", axis=slanted), alt.Y("row", title="from")
    scale = alt.Scale(type="linear", scheme="cividis", domainMin=0)
    if marks.is_skewed(cells["value"].to_list()):
        scale["type"] = "symlog"
    return marks.heat(cells, x, y, scale, "orchestrations", marks.LABEL, _COUNT)


def history(frame: pl.DataFrame, report: ReportRows, notes: list[str]) -> Picture:
    """Draws the times of events, in a strip for each kind of event."""
    named = with_series(frame.drop_nulls("at"), ["record", "event"], most=MAX_BARS)
    events, when = marks.with_times(named, pl.col("at"), "1d", "time (UTC)")
    return draw_marks(events, alt.MarkDef("tick", size=14, color=BLUE), x=when, y=ROWS)
