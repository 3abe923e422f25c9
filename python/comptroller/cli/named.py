"""The reports of `svc.reports` at the command line: in the terminal, as JSON, in an HTML file."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from comptroller import figures
from comptroller.cli import screen
from comptroller.errors import Error, Forbidden, make

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from comptroller.analysis.report import Report
    from comptroller.service import Service

_SHOWN_ROWS = 40
#: How claims are also summed up where all reports are asked for.
_ALSO_BY = ("status", "day")


class Ran(NamedTuple):
    """Reports, and the names of those that this caller may not have."""

    reports: list[Report]
    withheld: list[str]


def run(svc: Service, name: str | None, given: Mapping[str, Any]) -> Ran:
    """The report of a name, or all that can be run with what was given, and each with its part.

    Raises UsageError for an unknown name, and for what a report does not take or lacks.
    """
    known = _reports_of(svc)
    if name is not None:
        named = name.replace("-", "_")
        if named not in known:
            raise click.UsageError(f"there is no report {name!r}; there are {', '.join(known)}")
        return Ran([_one(named, known[named], given)], [])
    if "by" in given:
        raise click.UsageError("--by needs the NAME of a report")
    chosen = []
    for each, method in known.items():
        taken = signature(method).parameters
        fitting = {option: value for option, value in given.items() if option in taken}
        missing = _missing(method, fitting)
        if missing and "group" in fitting:  # the month alone is for others too
            raise click.UsageError(f"{each} needs {_options(missing)} too")
        if not missing:
            chosen.append((method, fitting))
        if each == "claims_summary":
            chosen.append((method, {**fitting, "by": _ALSO_BY}))
    ran = Ran([], [])
    for method, fitting in chosen:
        try:
            ran.reports.append(method(**fitting))
        except Forbidden:
            ran.withheld.append(method.__name__)
        except Error as error:
            detail = f"{method.__name__}: {error.detail}"
            raise make(error.code, error.status, detail, error.errors) from error
    return ran


def _reports_of(svc: Service) -> dict[str, Callable[..., Report]]:
    reports = svc.reports
    return {name: getattr(reports, name) for name in vars(type(reports)) if name[0] != "_"}


def _one(name: str, method: Callable[..., Report], given: Mapping[str, Any]) -> Report:
    taken = signature(method).parameters
    for option in given:
        if option not in taken:
            raise click.UsageError(f"{name} takes no --{option}")
    if missing := _missing(method, given):
        raise click.UsageError(f"{name} needs {_options(missing)}")
    return method(**given)


def _missing(method: Callable[..., Report], given: Mapping[str, Any]) -> list[str]:
    return [
        name
        for name, parameter in signature(method).parameters.items()
        if parameter.default is Parameter.empty and name not in given
    ]


def _options(names: Sequence[str]) -> str:
    return " and ".join(f"--{name}" for name in names)


def members(report: Report) -> dict[str, Any]:
    """A report for machines: all its rows, amounts exact."""
    rows = [{name: _plain(value) for name, value in row.items()} for row in report.to_dicts()]
    return {"report": report.name, "title": report.title, "formula": report.formula, "rows": rows}


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return figures.shortest(value)
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value


def draw(report: Report) -> None:
    """Draws a report on standard output: what it says, how it comes about, the first rows."""
    from comptroller.analysis.cells import columns_of

    out = screen.console()
    out.print(f"{report.title}: {screen.printable(report.over)}")
    out.print(report.formula)
    if not len(report):
        return
    columns = columns_of(report.head(_SHOWN_ROWS))
    click.echo()
    screen.show(screen.table_of(columns))
    left = len(report) - _SHOWN_ROWS
    if left > 0:
        click.echo(f"... and {left:,} more; --json lists all")


def require_html() -> None:
    """Raises Unavailable where a page could not be written in the end."""
    from comptroller.streams import require

    for module in ("narwhals", "polars", "altair", "vl_convert"):
        require(module, "--html", "comptroller[analysis]")


def write_html(reports: Sequence[Report], path: str, title: str) -> None:
    """Writes reports as one HTML file. Raises Unavailable where it cannot be written."""
    from comptroller.analysis.document import document
    from comptroller.files import refuse_store, whole_file

    refuse_store("--html", path)
    with whole_file(path) as part:
        part.write_text(document(reports, title), encoding="utf-8")
