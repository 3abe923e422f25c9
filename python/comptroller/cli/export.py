"""The command export, which writes records to files."""

from __future__ import annotations

import errno
import os
from collections import defaultdict
from datetime import datetime, timedelta

import click
import msgspec

from comptroller._core import microseconds
from comptroller.bulk.files import export_format
from comptroller.cli import screen
from comptroller.cli.options import db_option, json_option
from comptroller.cli.parameters import Kind, NamedPath
from comptroller.description import list_filters
from comptroller.display.times import bound
from comptroller.errors import Unusable
from comptroller.values import KINDS

# The names of the filters by creation time; each kind has one pair or none. The end_time of claims
# is included.
_BOUNDS = (("start_time", "end_time"), ("created_at.gte", "created_at.lt"))
_EPOCH = datetime(1970, 1, 1)


@click.command()
@click.argument("kind", type=Kind(KINDS), metavar="KIND")
@click.argument("file", type=NamedPath(allow_dash=True))
@click.option(
    "--format",
    type=click.Choice(["ndjson", "csv", "parquet", "xlsx"]),
    help="File format. Default: by the suffix of FILE, else ndjson; with --partition parquet.",
)
@click.option(
    "--partition",
    metavar="KEYS",
    help="With parquet: write a new folder FILE, Hive-partitioned by these columns.",
)
@click.option("--customer", metavar="ID", help="Only records of this customer; not for balances.")
@click.option(
    "--since",
    metavar="TIME",
    help="Only records created at this time or later; a day is its start in UTC.",
)
@click.option(
    "--until",
    metavar="TIME",
    help="Only records created before this time; a day is its start in UTC, so it is left out.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="NAME=VALUE",
    help="A filter of the kind's list, such as statuses=FAILED; repeatable.",
)
@db_option
@json_option
def export(
    kind: str,
    file: str,
    format: str | None,
    partition: str | None,
    customer: str | None,
    since: str | None,
    until: str | None,
    where: tuple[str, ...],
    db: str,
    as_json: bool,
) -> None:
    """Write records of KIND to FILE; - is standard output.

    Loading exported NDJSON gives an equal store. The size and root of the journal in the exported
    state are printed too.

    \b
    comptroller export claims failed.csv --where statuses=FAILED --since 2026-01-01
    comptroller export claims claims --format parquet --partition month,chain
    """  # noqa: D301
    if file == "-" and as_json:
        raise click.UsageError("--json needs a FILE, because standard output has the records")
    chosen = format or export_format(file, is_partitioned=partition is not None)
    filters = _filters(kind, customer, since, until, where)
    with (
        screen.existing_store(db) as svc,
        screen.naming_bounds(since, until),
        screen.waiting(f"writing {kind}"),
    ):
        keys = None if partition is None else partition.split(",")
        try:
            rows = svc.export(kind, file, chosen, partition=keys, **filters)
        except Unusable as error:
            if file == "-" and error.detail.endswith(os.strerror(errno.EPIPE)):
                # Click ends the command silently, as others whose reader has ended.
                raise BrokenPipeError(errno.EPIPE, error.detail) from error
            raise
    if as_json:
        screen.write_json(
            {
                "kind": kind,
                "file": file,
                "format": chosen,
                "rows": int(rows),
                "journal": msgspec.to_builtins(rows.journal),
            }
        )
    else:
        scope = [f"created from {bound(since)}"] if since is not None else []
        scope += [f"created before {bound(until)}"] if until is not None else []
        what = ", ".join([f"{rows:,} {kind}", *scope]) + ("," if scope else "")
        target = "standard output" if file == "-" else file
        click.echo(f"{what} written to {target}", err=file == "-")
        screen.show_journal(rows.journal, error=file == "-")


def _filters(
    kind: str, customer: str | None, since: str | None, until: str | None, where: tuple[str, ...]
) -> dict[str, list[str]]:
    filters: defaultdict[str, list[str]] = defaultdict(list)
    known = list_filters(kind)
    if customer is not None:
        if "customer_id" not in known:
            raise click.UsageError(f"--customer: {kind} cannot be filtered by customer")
        filters["customer_id"].append(customer)
    bounds = next((pair for pair in _BOUNDS if known.issuperset(pair)), None)
    if bounds is None and (since is not None or until is not None):
        raise click.UsageError(f"--since and --until: {kind} cannot be filtered by time")
    if bounds is not None and since is not None:
        filters[bounds[0]].append(since)
    if bounds is not None and until is not None:
        filters[bounds[1]].append(_last_before(until) if bounds[1] == "end_time" else until)
    for each in where:
        name, equals, value = each.partition("=")
        if not equals:
            raise click.UsageError(f"--where {each}: give NAME=VALUE, such as statuses=FAILED")
        filters[name].append(value)
    return dict(filters)


def _last_before(time: str) -> str:
    """Returns the last microsecond before a time; an invalid time unchanged."""
    since_epoch = microseconds(time)
    try:
        last = _EPOCH + timedelta(microseconds=(since_epoch or 0) - 1)
    except OverflowError:
        return time
    return time if since_epoch is None else f"{last.isoformat(timespec='microseconds')}Z"
