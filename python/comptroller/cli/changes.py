"""The command changes, which writes the change feed."""

from __future__ import annotations

import sys
from typing import get_args

import click

from comptroller.cli import screen
from comptroller.cli.options import db_option
from comptroller.values import ChangedResource


@click.command()
@click.option(
    "--after", metavar="CURSOR", help="Only changes after this cursor; end: only new ones."
)
@click.option(
    "--resource",
    "resources",
    multiple=True,
    type=click.Choice(get_args(ChangedResource)),
    help="Only changes of these records; repeatable.",
)
@click.option("--customer", metavar="ID", help="Only changes of this customer's records.")
@click.option("--follow", is_flag=True, help="Wait for new changes, until interrupted.")
@db_option
def changes(
    after: str | None,
    resources: tuple[ChangedResource, ...],
    customer: str | None,
    follow: bool,
    db: str,
) -> None:
    """Write the changes of all records as NDJSON, in order of commit.

    Each record that a load inserted is a change. The member cursor of the last line that you
    processed is the value of --after for the next run.

    \b
    comptroller changes --resource claims > changes.ndjson
    comptroller changes --after end --follow
    """  # noqa: D301
    from comptroller import arguments

    with screen.existing_store(db) as svc:
        feed = svc.changes.follow if follow else svc.changes.iter
        for change in feed(after=after, resources=resources or None, customer_id=customer):
            sys.stdout.buffer.write(arguments.record(change) + b"\n")
            if follow:
                sys.stdout.buffer.flush()
    sys.stdout.buffer.flush()
