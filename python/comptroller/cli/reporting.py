"""The command report: an overview, each report by its name, or all of them in an HTML file.

The subcommands are made from the registry on demand, so that other commands do not import it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comptroller.cli import screen
from comptroller.cli.options import db_arguments, db_option, json_option
from comptroller.cli.parameters import NamedPath
from comptroller.display import numbers
from comptroller.display.html import printable
from comptroller.errors import Error, Forbidden

if TYPE_CHECKING:
    from comptroller.analysis.overview import Overview
    from comptroller.analysis.parameters import Parameter
    from comptroller.analysis.registry import Definition
    from comptroller.analysis.report import Report
    from comptroller.service import Service

_SHOWN_ROWS = 40
_SUFFIXES = (".csv", ".xlsx", ".parquet", ".html")
_METAVARS = {
    "time": "TIME",
    "zone": "ZONE",
    "month": "YYYY-MM",
    "group": "ID|NAME",
    "share": "SHARE",
    "texts": "TEXT",
}
_TYPES: dict[str, Any] = {"number": float, "count": int}


class By(click.ParamType[tuple[str, ...]]):
    """Keys separated by commas; an empty text is no key."""

    name = "keys"

    def __init__(self, among: Sequence[str]) -> None:
        self._among = among

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Parse the names of the keys."""
        if isinstance(value, str):
            value = value.split(",") if value else ()
        names = tuple(value)
        for name in names:
            if name not in self._among:
                self.fail(f"unknown key {name!r}; one of {', '.join(self._among)}", param, ctx)
            if names.count(name) > 1:
                self.fail(f"duplicate key {name!r}; name each key once", param, ctx)
        return names


class Reports(click.Group):
    """A command for each report of the registry."""

    _common: Sequence[click.Parameter] = ()

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options, with the filters and bounds that every report has."""
        from comptroller.analysis.parameters import COMMON_PARAMETERS

        if not self._common:
            others = (
                "customer",
                "engine",
            )  # an option of `_add_shared_options`; only of single reports
            self._common = [
                _option(name, each)
                for name, each in COMMON_PARAMETERS.items()
                if name not in others
            ]
        return [*self._common, *super().get_params(ctx)]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the reports."""
        from comptroller.analysis.registry import REPORTS

        return [name.replace("_", "-") for name in REPORTS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a report; its name may have dashes or underscores."""
        from comptroller.analysis.registry import REPORTS

        definition = REPORTS.get(cmd_name.replace("-", "_"))
        if definition is not None:
            return _command(definition)
        if ctx.resilient_parsing:  # completion of an unfinished name
            return None
        raise click.NoSuchCommand(cmd_name, possibilities=self.list_commands(ctx), ctx=ctx)


def _command(definition: Definition) -> click.Command:
    command = click.Command(
        definition.name.replace("_", "-"),
        params=[
            _by(each) if each.kind == "keys" else _option(name, each)
            for name, each in definition.takes.items()
            if name != "customer"  # an option of `_add_shared_options`
        ],
        callback=lambda **given: _report(definition, **given),
        help=f"{definition.question}\n\n{definition.formula}",
        short_help=definition.question,
    )
    for add in (
        _add_shared_options,
        click.option("--sql", is_flag=True, help="Print the executed SQL."),
    ):
        command = add(command)
    return command


def _by(keys: Parameter) -> click.Parameter:
    help_text = f"Keys to group by: {', '.join(keys.choices)}; '' for no key."
    return click.Option(
        ["--by"],
        type=By(keys.choices),
        metavar="KEY[,KEY]",
        default=",".join(keys.default),
        show_default=True,
        help=help_text,
    )


def _option(name: str, parameter: Parameter) -> click.Parameter:
    kind, text = parameter.kind, parameter.description
    if kind == "id":
        return click.Argument([name], help=f"{text[0].upper()}{text[1:]}.")
    choices = click.Choice(parameter.choices) if parameter.choices else None
    takes_several = parameter.annotation.startswith("Texts")
    default = {} if parameter.default is None else {"default": parameter.default}
    return click.Option(
        [f"--{name.replace('_', '-')}"],
        type=choices or _TYPES.get(kind, str),
        metavar=_METAVARS.get(kind),
        required=parameter.is_required,
        multiple=takes_several,
        callback=(lambda _ctx, _option, given: given or None) if takes_several else None,
        show_default=bool(default),
        help=f"{text[0].upper()}{text[1:]}.",
        **default,
    )


def _add_shared_options(command: Any) -> Any:
    """Add the options that all reports share."""
    for add in (
        json_option,
        db_option,
        click.option("--html", type=NamedPath(), help="Write an HTML file that opens offline."),
        click.option(
            "--out",
            type=NamedPath(),
            metavar="FILE",
            help="Write all rows to FILE, by its suffix: .csv, .xlsx, .parquet or .html.",
        ),
        click.option(
            "--customer",
            "customers",
            metavar="ID",
            multiple=True,
            help="Only records of this customer; repeatable.",
        ),
    ):
        command = add(command)
    return command


@click.group(cls=Reports, invoke_without_command=True, subcommand_metavar="[NAME] [ARGS]...")
@_add_shared_options
@click.pass_context
def report(ctx: click.Context, /, **given: Any) -> None:
    """Show an overview, or the report NAME.

    The overview has totals, success rates, confirmation times, failures and unusual findings. Each
    finding names the command that shows its details. --html writes all reports to one file.

    \b
    comptroller report --since 2026-01-01 --until 2026-02-01
    comptroller report failures --by asset,month --since 2026-01-01
    comptroller report reconciliation --out reconciliation.xlsx
    comptroller report --html reports.html
    """  # noqa: D301
    if ctx.invoked_subcommand is None:
        _overview(**given)
        return
    named = {name: value for name, value in given.items() if _is_given(ctx, name)}
    ctx.default_map = {ctx.invoked_subcommand: named}


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def _report(
    definition: Definition,
    db: str,
    customers: tuple[str, ...],
    html: str | None,
    out: str | None,
    as_json: bool,
    sql: bool,
    **given: Any,
) -> None:
    if sql and (as_json or html is not None or out is not None):
        raise click.UsageError("--sql prints the SQL alone; leave out --json, --html and --out")
    html, table = _files(html, out)
    if html is not None:
        _require_html()
    with (
        screen.waiting("running the report"),
        _running(definition, db, customers, given) as (svc, ran),
    ):
        if html is not None:
            _write_html([ran], html, f"{ran.title}: {db}", _as_of(svc))
        if table is not None:
            _write_table(ran, table)
    if (file := html or table) is not None:
        _show_written(file, [ran.name], as_json)
    elif sql:
        click.echo(ran.sql)
    elif as_json:
        screen.write_json(members(ran))
    else:
        draw(ran)


@contextmanager
def _running(
    definition: Definition, db: str, customers: tuple[str, ...], given: Mapping[str, Any]
) -> Iterator[tuple[Service, Report]]:
    """Yield an open store, and the report of it.

    The report of one customer is that of its client. The operator runs the reports of several
    customers, those with the key customer, and those that clients may not run.
    """
    if len(customers) == 1 and "customer" not in given.get("by", ()):
        with screen.existing_store(db, *customers) as svc:
            try:
                ran = getattr(svc.reports, definition.name)(**given)
            except Forbidden:
                pass
            else:
                yield svc, ran
                return
    with screen.existing_store(db) as svc:
        yield svc, getattr(svc.reports, definition.name)(**given, customer=customers or None)


def _overview(
    db: str,
    customers: tuple[str, ...],
    html: str | None,
    out: str | None,
    as_json: bool,
    **common: Any,
) -> None:
    html, table = _files(html, out)
    if table is not None:
        raise click.UsageError(f"--out {table}: name a report; a page of all reports is .html")
    if html is not None:
        _require_html()
    client = customers[0] if len(customers) == 1 else None
    if client is None:
        common["customer"] = customers or None
    store = [*([] if client is None else ["--customer", client]), *db_arguments(db)]
    with screen.existing_store(db, client) as svc, screen.waiting("running the reports"):
        if html is None:
            first = svc.reports.overview(**common).with_store(store)
            as_of = _as_of(svc)
        else:
            from comptroller.analysis.overview import Overview

            written: list[str] = []
            left_out: dict[str, str] = {}

            def permitted_reports() -> Iterator[Overview | Report]:
                for name, part in svc.reports.everything(**common):
                    if isinstance(part, Error):
                        left_out[name] = part.detail
                    else:
                        written.append(name)
                        yield part.with_store(store) if isinstance(part, Overview) else part

            _write_html(permitted_reports(), html, f"Reports on {db}", _as_of(svc))
    if html is not None:
        _show_left_out(left_out)
        _show_written(html, written, as_json)
    elif as_json:
        screen.write_json(_plain(first.to_dict()))
    else:
        _draw_overview(first, has_claims=as_of is not None)


def _show_left_out(left_out: Mapping[str, str]) -> None:
    for name, why in left_out.items():
        click.echo(f"left out: {name}, because {printable(why)}", err=True)


def _show_written(html: str, written: Sequence[str], as_json: bool) -> None:
    names = list(dict.fromkeys(written))
    if as_json:
        screen.write_json({"file": html, "reports": names})
    else:
        click.echo(f"{', '.join(names)} written to {html}")


def members(report: Report) -> dict[str, Any]:
    """Return a report as plain values for JSON, with all rows and exact amounts."""
    columns = {each.name: [_plain(value) for value in each] for each in report.to_polars()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {"report": report.name, "title": report.title, "formula": report.formula, "rows": rows}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Decimal):
        return numbers.plain(value)
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, date) else value


def draw(report: Report) -> None:
    """Print a report: title, formula and first rows."""
    from comptroller.analysis.formatting import columns_of

    out = screen.console()
    out.print(f"{report.title}: {printable(report.summary)}")
    out.print(report.formula)
    if not len(report):
        return
    click.echo()
    screen.show(screen.table_of(columns_of(report.head(_SHOWN_ROWS))))
    left = len(report) - _SHOWN_ROWS
    if left > 0:
        click.echo(f"... and {left:,} more; --out FILE writes all")


def _draw_overview(overview: Overview, *, has_claims: bool) -> None:
    """Print an overview: its tables, then the findings with their commands."""
    from comptroller.analysis.formatting import columns_of

    _show_left_out(overview.left_out)
    if not overview.tables and not (overview.left_out and has_claims):
        click.echo("There are no claims.")
    for name, frame in overview.tables.items():
        click.echo(name)
        screen.show(screen.table_of(columns_of(frame)))
        click.echo()
    out = screen.console()
    for finding in overview.findings:
        out.print(printable(finding.text))
        out.print(f"    {printable(finding.command)}", soft_wrap=True)
    if overview.tables and not overview.findings:
        click.echo("Nothing unusual was found.")


def _files(html: str | None, out: str | None) -> tuple[str | None, str | None]:
    """Return the paths of the page and of the table that the options name; one of them is None."""
    if out is None:
        return html, None
    if html is not None:
        raise click.UsageError("--html and --out: give one of them")
    suffix = Path(out).suffix.lower()
    if suffix not in _SUFFIXES:
        accepted = "end it in .csv, .xlsx, .parquet or .html"
        raise click.UsageError(f"--out {out}: unknown suffix; {accepted}")
    return (out, None) if suffix == ".html" else (None, out)


def _write_table(report: Report, path: str) -> None:
    from comptroller.analysis.saving import save
    from comptroller.bulk.files import refuse_store

    refuse_store("--out", path)
    save(report, path)


def _require_html() -> None:
    """Raise MissingExtra, before the reports run, if a page cannot be written."""
    from comptroller.errors import require

    for extra, modules in (
        ("analysis", ("sqlglot", "polars")),
        ("charts", ("altair", "vl_convert")),
    ):
        for module in modules:
            require(module, "--html", extra)


def _as_of(svc: Service) -> datetime | None:
    """Return when the newest claim was created; None if there is none that the caller may read."""
    try:
        newest = svc.claims.list(limit=1).items
    except Forbidden:
        return None
    return newest[0].created_at if newest else None


def _write_html(
    parts: Iterable[Overview | Report], path: str, title: str, as_of: datetime | None
) -> None:
    """Write reports as one HTML file. Raises Unusable if it cannot be written."""
    from comptroller.analysis.presentation import document
    from comptroller.bulk.files import refuse_store, whole_file

    refuse_store("--html", path)
    with whole_file(path) as part:
        part.write_text(document(parts, title, as_of), encoding="utf-8")
