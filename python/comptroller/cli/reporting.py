"""The command report, and how a report is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from comptroller import figures
from comptroller.cli import screen
from comptroller.cli.screen import db_option, json_option

if TYPE_CHECKING:
    from comptroller.counting.totals import TimeToConfirm, Totals
    from comptroller.report import Breakdown, ClaimsReport

_DIMENSIONS = ("status", "chain", "jurisdiction", "day")
# Written out, because importing them would cost every command; a test holds them against the keys.
KEYS = (
    *("status", "chain", "asset", "jurisdiction", "group", "customer", "type"),
    *("hour", "day", "week", "month"),
)
_SHOWN_DAYS = 14
_SHOWN_FAILURES = 20


class By(click.ParamType[tuple[str, ...]]):
    """One dimension, or several joined by commas."""

    name = "dimensions"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Read the dimensions' names."""
        names = tuple(value.split(",")) if isinstance(value, str) else tuple(value)
        for name in names:
            if name not in KEYS:
                self.fail(f"{name!r} is none of {', '.join(KEYS)}", param, ctx)
        if len(set(names)) < len(names):
            self.fail(f"{value!r} names a dimension twice", param, ctx)
        return names


@click.command()
@click.argument("name", required=False)
@click.option("--start", metavar="TIME", help="Created at this time or date (UTC), or later.")
@click.option("--end", metavar="TIME", help="Created at this time or date (UTC), or before.")
@click.option("--customer", metavar="ID", help="Only this customer's.")
@click.option(
    "--by",
    type=By(),
    multiple=True,
    metavar="NAME[,NAME]",
    help="Only this breakdown: status, chain, jurisdiction, day, or a combination; repeatable. "
    "Of NAME also asset, group, customer, type, hour, week, month.",
)
@click.option("--html", type=click.Path(), help="Write NAME, or all reports, to this file.")
@click.option("--since", metavar="TIME", help="Of NAME: created at this time or date, or later.")
@click.option("--until", metavar="TIME", help="Of NAME: created before this time or date.")
@click.option("--group", metavar="ID", help="The group of group_statement.")
@click.option("--month", metavar="YYYY-MM", help="The month of group_statement, reconciliation.")
@click.option("--engine", help="What runs NAME: duckdb, polars or spark.")
@db_option
@json_option
def report(
    name: str | None,
    start: str | None,
    end: str | None,
    customer: str | None,
    by: tuple[tuple[str, ...], ...],
    html: str | None,
    db: str,
    as_json: bool,
    **given: str | None,
) -> None:
    """Report the claims created in a period, or run the report NAME.

    Exact sums per asset, success rate, time to confirm and failures, by status, chain,
    jurisdiction and day. NAME is one of claims_summary, confirmation_times, stuck_claims, failures,
    restrictions, group_statement, reconciliation, cohort, anomalies, orchestration_flow.

    \b
    comptroller report --start 2026-01-01 --end 2026-01-31
    comptroller report --by chain,day --json
    comptroller report failures --by asset,month --since 2026-01-01
    comptroller report --html reports.html
    """  # noqa: D301
    asked = {option: value for option, value in given.items() if value is not None}
    if name is None and html is None:
        if asked:
            raise click.UsageError(f"--{next(iter(asked))} needs the NAME of a report, or --html")
        for each in (key for keys in by for key in keys if key not in _DIMENSIONS):
            told = f"{each!r} is none of {', '.join(_DIMENSIONS)}; with a NAME there are more"
            raise click.BadParameter(told, param_hint="--by")
        _report_figures(start, end, customer, by, db, as_json=as_json)
        return
    if start is not None or end is not None:
        raise click.UsageError("reports by NAME, or with --html, take --since and --until")
    if len(by) > 1:
        raise click.UsageError(f"{name or 'a report'} takes one --by, such as --by chain,day")
    _report_named(name, asked | ({"by": by[0]} if by else {}), customer, html, db, as_json=as_json)


def _report_figures(
    start: str | None,
    end: str | None,
    customer: str | None,
    by: tuple[tuple[str, ...], ...],
    db: str,
    *,
    as_json: bool,
) -> None:
    from comptroller.report import claims_report, day_bounds

    first, last = day_bounds(start, end)
    breakdowns = by or tuple((name,) for name in _DIMENSIONS)
    with (
        screen.existing_store(db) as svc,
        screen.naming_bounds(start, end),
        screen.waiting("counting claims"),
    ):
        answer = claims_report(svc, start=first, end=last, customer_id=customer, by=breakdowns)
    if as_json:
        screen.write_json(as_members(answer))
    else:
        draw(answer, all_days=bool(by))


def _report_named(
    name: str | None,
    given: dict[str, Any],
    customer: str | None,
    html: str | None,
    db: str,
    *,
    as_json: bool,
) -> None:
    from comptroller.cli import named

    if html is not None:
        named.require_html()
    with screen.existing_store(db, customer) as svc, screen.waiting("running the reports"):
        reports, withheld = named.run(svc, name, given)
        if html is not None:
            named.write_html(reports, html, f"Reports on {db}")
    if withheld:
        click.echo(f"left out, since only the operator may: {', '.join(withheld)}", err=True)
    if html is not None:
        told = [each.name for each in reports]
        if as_json:
            screen.write_json({"file": html, "reports": told})
        else:
            click.echo(f"{', '.join(told)} written to {html}")
    elif as_json:
        screen.write_json(named.members(reports[0]))
    else:
        named.draw(reports[0])


def as_members(report: ClaimsReport) -> dict[str, Any]:
    """Give a report as JSON: each breakdown under its dimensions, each row with its own."""
    return {
        "start": report.start,
        "end": report.end,
        "customer_id": report.customer_id,
        **_members(report.total, ()),
        "by": {
            ",".join(breakdown.by): [_members(row, breakdown.by) for row in breakdown.rows]
            for breakdown in report.breakdowns
        },
        "failures": [screen.fields_of(failure) for failure in report.failures],
    }


def _members(totals: Totals, by: tuple[str, ...]) -> dict[str, Any]:
    return {
        **dict(zip(by, totals.key, strict=True)),
        "claims": totals.claims,
        "confirmed": totals.confirmed,
        "failed": totals.failed,
        "waiting": totals.waiting,
        "success_rate": totals.success_rate,
        "time_to_confirm": _times(totals.time_to_confirm),
        "assets": [screen.fields_of(asset) for asset in totals.assets],
    }


def _times(times: TimeToConfirm | None) -> dict[str, Any] | None:
    return None if times is None else screen.fields_of(times)


def draw(report: ClaimsReport, *, all_days: bool = True) -> None:
    """Draw a report on standard output, the latest days only unless all are wanted."""
    _draw_summary(report)
    if not report.total.claims:
        return
    for breakdown in report.breakdowns:
        _draw_breakdown(breakdown, all_days)
    _draw_failures(report)


def _draw_summary(report: ClaimsReport) -> None:
    of = "all customers" if report.customer_id is None else f"customer {report.customer_id}"
    total = report.total
    click.echo(f"{total.claims:,} claims of {screen.printable(of)}{_period(report)}")
    if not total.claims:
        return
    click.echo(
        f"success rate     {figures.percent(total.success_rate)}"
        f"  ({total.confirmed:,} CONFIRMED, {total.failed:,} FAILED)"
    )
    times = total.time_to_confirm
    if times is not None:
        p50, p90, p99 = (figures.duration(us) for us in (times.p50_us, times.p90_us, times.p99_us))
        click.echo(f"time to confirm  p50 {p50}, p90 {p90}, p99 {p99}")
        click.echo(f"                 (confirmed_at - submitted_at of {times.claims:,} claims)")
    if total.waiting:
        click.echo(f"                 {total.waiting:,} still waiting (SUBMITTED) are not counted")


def _period(report: ClaimsReport) -> str:
    if report.start is None and report.end is None:
        return ""
    start = "" if report.start is None else f" from {report.start}"
    end = "" if report.end is None else f" to {report.end}"
    return f", created{start}{end}"


def _draw_breakdown(breakdown: Breakdown, all_days: bool) -> None:
    rows = breakdown.rows
    left = 0 if all_days or breakdown.by != ("day",) else max(len(rows) - _SHOWN_DAYS, 0)
    shown = rows[left:]
    title = "By " + " and ".join(breakdown.by)
    counts = screen.table(
        *breakdown.by, ">claims", ">success", ">p50", ">p90", ">p99", title=f"{title}: claims"
    )
    for row in shown:
        times = row.time_to_confirm
        spans = (
            ["-"] * 3
            if times is None
            else [figures.duration(us) for us in (times.p50_us, times.p90_us, times.p99_us)]
        )
        success = "-" if "status" in breakdown.by else figures.percent(row.success_rate)
        counts.add_row(*screen.cells([*row.key, row.claims]), success, *spans)
    amounts = screen.table(*breakdown.by, "asset", ">claims", ">amount", title=f"{title}: amounts")
    sums = figures.aligned([asset.amount for row in shown for asset in row.assets])
    texts = iter(sums)
    for row in shown:
        for place, asset in enumerate(row.assets):
            key = row.key if place == 0 else ("",) * len(row.key)
            amounts.add_row(*screen.cells([*key, asset.asset, asset.claims]), next(texts))
    click.echo()
    screen.show(counts, amounts)
    if left:
        click.echo(f"... and {left:,} earlier days: comptroller report --by day")


def _draw_failures(report: ClaimsReport) -> None:
    if not report.failures:
        return
    failures = screen.table(">claims", "~message", title="Failures by message")
    for failure in report.failures[:_SHOWN_FAILURES]:
        failures.add_row(*screen.cells([failure.claims, failure.message]))
    click.echo()
    screen.show(failures)
    left = len(report.failures) - _SHOWN_FAILURES
    if left > 0:
        click.echo(f"... and {left:,} more messages; --json lists all")
