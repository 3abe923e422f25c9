"""Commands about who may ask a service over HTTP: clients, and the keys that sign their tokens."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from comptroller.cli import screen
from comptroller.cli.screen import db_option, json_option

if TYPE_CHECKING:
    from comptroller.http.clients import Client

_ONCE = "The secret is not kept anywhere and not shown again."


@click.group()
def clients() -> None:
    """Register the programs that may use the service over HTTP.

    They are kept in FILE.clients beside the store, their secrets as hashes. A running server sees
    a change within a second.
    """


@clients.command()
@click.argument("name")
@click.option("--customer", metavar="ID", help="The customer that it acts for.")
@click.option("--operator", is_flag=True, help="It acts for the operator, and sees all customers.")
@click.option("--scope", "scopes", multiple=True, help="What it may do; all of its kind without.")
@db_option
@json_option
def add(
    name: str,
    customer: str | None,
    operator: bool,
    scopes: tuple[str, ...],
    db: str,
    as_json: bool,
) -> None:
    """Register a client, and show its secret this once."""
    if operator == (customer is not None):
        raise click.UsageError("say whom it acts for: either --customer ID or --operator")
    _require_server(db)
    from comptroller.http import clients as registry

    file = registry.file_of(db)
    client, secret = registry.add(file, name, customer, scopes or None)
    _show_secret(client, secret, as_json)


@clients.command("list")
@db_option
@json_option
def list_(db: str, as_json: bool) -> None:
    """Show the clients, revoked ones too; with --json their names and scopes as well."""
    _require_server(db)
    from comptroller.http import clients as registry

    known = registry.read(registry.file_of(db)).values()
    if as_json:
        screen.write_json({"clients": [_for_machines(client) for client in known]})
        return
    rows = screen.table("client_id", "customer", ">scopes", "since", "revoked")
    for client in known:
        rows.add_row(
            *screen.formatted([client.client_id, client.customer or "(operator)"]),
            "all" if client.scopes is None else screen.format_value(len(client.scopes)),
            *(_day(moment) for moment in (client.created_at, client.revoked_at)),
        )
    screen.show(rows)


@clients.command()
@click.argument("client_id")
@db_option
@json_option
def rotate(client_id: str, db: str, as_json: bool) -> None:
    """Give a client a new secret; the one before stops.

    Tokens that it already has stay valid for up to an hour; `revoke` ends those too.
    """
    _require_server(db)
    from comptroller.http import clients as registry

    client, secret = registry.rotate(registry.file_of(db), client_id)
    _show_secret(client, secret, as_json)


@clients.command()
@click.argument("client_id")
@db_option
@json_option
def revoke(client_id: str, db: str, as_json: bool) -> None:
    """End a client and the tokens that it has."""
    _require_server(db)
    from comptroller.http import clients as registry

    client = registry.revoke(registry.file_of(db), client_id)
    if as_json:
        screen.write_json(_for_machines(client))
    else:
        click.echo(f"{client.client_id} is revoked, and so are its tokens")


@click.group()
def keys() -> None:
    """Look after the keys that sign tokens, kept in FILE.keys beside the store."""


@keys.command("rotate")
@db_option
@json_option
def rotate_keys(db: str, as_json: bool) -> None:
    """Sign with a new key from now on.

    The one before is kept, to verify alone, until the tokens that it signed have ended.
    """
    _require_server(db)
    from comptroller.http import keys as signing

    made = signing.rotate(signing.file_of(db), time.time())
    retired = [
        {"kid": key.kid, "until": _iso(datetime.fromtimestamp(until, UTC))}
        for key, until in made.retired
    ]
    if as_json:
        screen.write_json({"kid": made.signing.kid, "retired": retired})
        return
    click.echo(f"{made.signing.kid} signs from now on")
    for each in retired:
        click.echo(f"{each['kid']} verifies until {each['until']}")


def _require_server(db: str) -> None:
    screen.require_server()
    screen.existing_store(db).close()  # refuses a file that is not a store


def _show_secret(client: Client, secret: str, as_json: bool) -> None:
    shown: dict[str, Any] = {
        "client_id": client.client_id,
        "client_secret": secret,
        "customer_id": client.customer,
        "scopes": client.allowed(),
    }
    if as_json:
        screen.write_json(shown)
        return
    shown["customer_id"] = client.customer or "(operator)"
    shown["scopes"] = "(all)" if client.scopes is None else " ".join(client.scopes)
    for name, value in shown.items():
        click.echo(f"{name:<15}{value}")
    click.echo(f"\n{_ONCE}")


def _for_machines(client: Client) -> dict[str, Any]:
    return {
        "client_id": client.client_id,
        "name": client.name,
        "customer_id": client.customer,
        "scopes": client.allowed(),
        "created_at": _iso(client.created_at),
        "revoked_at": client.revoked_at and _iso(client.revoked_at),
    }


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _day(moment: datetime | None) -> str:
    return "-" if moment is None else str(moment.date())
