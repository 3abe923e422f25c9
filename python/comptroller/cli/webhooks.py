"""The commands of webhooks, and the process that delivers their events."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click
import msgspec

from comptroller.cli import screen
from comptroller.cli.options import (
    actor_option,
    db_and_state_options,
    db_option,
    json_option,
    state_of,
)

if TYPE_CHECKING:
    from comptroller.records import Webhook
    from comptroller.service import Service

_LOOK_AT_SIGNALS_EVERY_S = 0.5
_types_option = click.option(
    "--type",
    "event_types",
    multiple=True,
    metavar="TYPE",
    help="A type of its events, such as claim.created or claim.*; repeatable.",
)


@click.group()
def webhooks() -> None:
    """Manage the endpoints that get a signed request for each change.

    \b
    comptroller webhooks create https://example.com/hooks --customer acme
    comptroller webhooks secret ID
    """  # noqa: D301


@webhooks.command()
@click.argument("url")
@click.option("--customer", metavar="ID", help="Only events of this customer.")
@_types_option
@click.option("--description", help="A text for people.")
@actor_option
@db_and_state_options
@json_option
def create(
    url: str,
    customer: str | None,
    event_types: tuple[str, ...],
    description: str | None,
    db: str,
    actor: str | None,
    as_json: bool,
) -> None:
    """Create a webhook, which gets the events from now on. Default: all types."""
    with _writing(db, actor) as svc:
        made = svc.webhooks.create(
            url=url,
            event_types=event_types or None,
            description=description,
            customer_id=customer,
        )
    _show(made, as_json)


@webhooks.command("list")
@click.option("--customer", metavar="ID", help="Only webhooks of this customer.")
@db_option
@json_option
def list_(customer: str | None, db: str, as_json: bool) -> None:
    """List the webhooks."""
    with screen.existing_store(db) as svc:
        found = svc.webhooks.list(customer_id=customer)
    if as_json:
        screen.write_json({"items": msgspec.to_builtins(found)})
        return
    rows = screen.table("id", "customer", "status", "~url", "~events", "~status_reason")
    for each in found:
        cells = [
            each.id,
            each.customer_id or "(all)",
            each.status,
            each.url,
            " ".join(each.event_types),
            each.status_reason,
        ]
        rows.add_row(*screen.format_cells(cells))
    screen.show(rows)


@webhooks.command()
@click.argument("id")
@click.option("--url", help="The new URL.")
@_types_option
@click.option("--description", help="A text for people.")
@click.option("--pause", "status", flag_value="PAUSED", help="Deliver no events to it.")
@click.option("--resume", "status", flag_value="ACTIVE", help="Continue after its last event.")
@actor_option
@db_option
@json_option
def update(
    id: str,
    url: str | None,
    event_types: tuple[str, ...],
    description: str | None,
    status: Any,
    db: str,
    actor: str | None,
    as_json: bool,
) -> None:
    """Change a webhook, pause it, or resume it."""
    if (url, description, status) == (None, None, None) and not event_types:
        raise click.UsageError("nothing to change; give at least one option")
    with _writing(db, actor) as svc:
        changed = svc.webhooks.update(
            id,
            url=url,
            event_types=event_types or None,
            description=description,
            status=status,
        )
    _show(changed, as_json)


@webhooks.command()
@click.argument("id")
@actor_option
@db_option
def delete(id: str, db: str, actor: str | None) -> None:
    """Delete a webhook and its undelivered events."""
    with _writing(db, actor) as svc:
        svc.webhooks.delete(id)
    click.echo(f"webhook {id} is deleted")


@webhooks.command()
@click.argument("id")
@db_and_state_options
@json_option
def secret(id: str, db: str, as_json: bool) -> None:
    """Show the secret and the public key with which a receiver verifies requests."""
    with screen.store_with_keys(db) as svc:
        _show(svc.webhooks.secret(id), as_json)


@webhooks.command()
@click.argument("id")
@actor_option
@db_and_state_options
@json_option
def rotate(id: str, db: str, actor: str | None, as_json: bool) -> None:
    """Give a webhook a new secret, and show it.

    For 24 hours requests also have signatures of the secret before.
    """
    with _writing(db, actor) as svc:
        screen.share_keys(svc)  # first, so that a wrong state folder changes nothing
        svc.webhooks.rotate(id)
        _show(svc.webhooks.secret(id), as_json)


@webhooks.command()
@click.argument("id")
@actor_option
@db_and_state_options
@json_option
def test(id: str, db: str, actor: str | None, as_json: bool) -> None:
    """Have the process that delivers send a test event, once; `deliveries` shows its outcome."""
    with _writing(db, actor) as svc:
        screen.share_keys(svc)
        _show(svc.webhooks.test(id), as_json)


@webhooks.command()
@click.argument("id")
@db_option
@json_option
def deliveries(id: str, db: str, as_json: bool) -> None:
    """List the events that were not delivered yet, and the last test."""
    with screen.existing_store(db) as svc:
        found = svc.webhooks.deliveries(id)
    if as_json:
        screen.write_json({"items": msgspec.to_builtins(found)})
        return
    rows = screen.table("event", "occurred_at", ">attempts", "next_attempt_at", "~last_error")
    for each in found:
        cells = [
            each.event_type,
            each.occurred_at,
            each.attempts,
            each.next_attempt_at,
            each.last_error,
        ]
        rows.add_row(*screen.format_cells(cells))
    screen.show(rows)


@webhooks.command()
@click.argument("id")
@click.option("--since", metavar="TIME", help="Events from this time on.")
@click.option("--after", metavar="CURSOR", help="Events after this cursor of the change feed.")
@actor_option
@db_option
@json_option
def replay(
    id: str, since: str | None, after: str | None, db: str, actor: str | None, as_json: bool
) -> None:
    """Deliver events again: those since a time, or after a place in the change feed."""
    if (since is None) == (after is None):
        raise click.UsageError("give one of --since and --after")
    with _writing(db, actor) as svc:
        _show(svc.webhooks.replay(id, since=since, after=after), as_json)


@click.command()
@db_and_state_options
def deliver(db: str) -> None:
    """Deliver the events of webhooks, until Ctrl-C or SIGTERM.

    `comptroller serve` does this too, unless it has the option --no-webhooks. Of several processes
    one delivers.
    """
    import logging

    from comptroller.errors import require
    from comptroller.local import LocalHost
    from comptroller.open_files import allow_open_files

    require("httpx2", "the delivery of webhooks", "client")
    from comptroller.webhooks.delivering import delivering
    from comptroller.webhooks.endpoint import Counts
    from comptroller.webhooks.shares import MAX_REQUESTS

    allow_open_files(MAX_REQUESTS)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    with _writing(db, None) as svc:
        assert isinstance(svc.host, LocalHost)
        screen.share_keys(svc)
        with delivering(svc.host.store, Counts()):
            click.echo(f"delivering the events of webhooks of {db}")
            while True:
                # Python handles a signal that another thread received, or that arrived just before
                # this call, only after it.
                time.sleep(_LOOK_AT_SIGNALS_EVERY_S)


def _writing(db: str, actor: str | None) -> Service:
    """Opens an existing store to write to it."""
    import comptroller

    screen.require_store(db)
    return comptroller.open(db, actor=actor, state=state_of(db))


def _show(record: Webhook | msgspec.Struct, as_json: bool) -> None:
    members = msgspec.to_builtins(record)
    if as_json:
        screen.write_json(members)
        return
    for name, value in members.items():
        if value is not None:
            shown = " ".join(value) if isinstance(value, list | tuple) else value
            click.echo(f"{name:<18}{shown}")
