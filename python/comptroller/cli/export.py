"""The command export, which writes records to files."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta

import click

from comptroller.bulk.files import export_format
from comptroller.cli import screen
from comptroller.cli.bulk import Kind
from comptroller.cli.screen import db_option, json_option
from comptroller.description import list_filters
from comptroller.values import KINDS

# The names of the filters for the first and last creation time; each kind has one pair or none.
_BOUNDS = (("start_time", "end_time"), ("created_at.gte", "created_at.lte"))


@click.command()
@click.argument("kind", type=Kind(KINDS), metavar="KIND")
@click.argument("file", type=click.Path(allow_dash=True))
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
@click.option("--customer", metavar="ID", help="Only records of this customer.")
@click.option("--start", metavar="TIME", help="Only records created at or after this time or date.")
@click.option("--end", metavar="TIME", help="Only records created at or before this time or date.")
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
    start: str | None,
    end: str | None,
    where: tuple[str, ...],
    db: str,
    as_json: bool,
) -> None:
    """Write records of KIND to FILE; - is standard output.

    Loading exported NDJSON gives an equal store.

    \b
    comptroller export claims failed.csv --where statuses=FAILED --start 2026-01-01
    comptroller export claims claims --format parquet --partition month,chain
    """  # noqa: D301
    if file == "-" and as_json:
        raise click.UsageError("--json needs a FILE, because standard output has the records")
    chosen = format or export_format(file, is_partitioned=partition is not None)
    filters = _filters(kind, customer, start, end, where)
    with (
        screen.existing_store(db) as svc,
        screen.naming_bounds(start, end),
        screen.waiting(f"writing {kind}"),
    ):
        keys = None if partition is None else partition.split(",")
        rows = svc.export(kind, file, chosen, partition=keys, **filters)
    if as_json:
        screen.write_json({"kind": kind, "file": file, "format": chosen, "rows": rows})
    else:
        click.echo(
            f"{rows:,} {kind} written to {'standard output' if file == '-' else file}",
            err=file == "-",
        )


def _filters(
    kind: str, customer: str | None, start: str | None, end: str | None, where: tuple[str, ...]
) -> dict[str, list[str]]:
    filters: defaultdict[str, list[str]] = defaultdict(list)
    if customer is not None:
        filters["customer_id"].append(customer)
    known = list_filters(kind)
    bounds = next((pair for pair in _BOUNDS if known.issuperset(pair)), None)
    for index, time in enumerate(_day_bounds(start, end)):
        if time is None:
            continue
        if bounds is None:
            raise click.UsageError(f"--start and --end: {kind} cannot be filtered by time")
        filters[bounds[index]].append(time)
    for each in where:
        name, equals, value = each.partition("=")
        if not equals:
            raise click.UsageError(f"--where {each}: give NAME=VALUE, such as statuses=FAILED")
        filters[name].append(value)
    return dict(filters)


def _day_bounds(start: str | None, end: str | None) -> tuple[str | None, str | None]:
    """Replace dates by the UTC times at which they begin and end; keep other text."""
    return _time_of(start, timedelta(0)), _time_of(end, timedelta(days=1, microseconds=-1))


def _time_of(given: str | None, into_the_day: timedelta) -> str | None:
    if given is None or len(given) != len("2026-01-31"):
        return given
    try:
        day = datetime.strptime(given, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return given
    return (day + into_the_day).isoformat().replace("+00:00", "Z")
