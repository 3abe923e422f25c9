"""Commands that manage access over HTTP: clients, and the keys that sign their tokens."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, cast

import click

from comptroller.cli import screen
from comptroller.cli.options import db_and_state_options, db_arguments, db_option, json_option
from comptroller.errors import InvalidRequest, from_os_error, invalid
from comptroller.postgresql import is_address

if TYPE_CHECKING:
    from comptroller.http.oauth.clients import Client
    from comptroller.http.oauth.stored_documents import DatabaseDocument, SecretDocument
    from comptroller.local import LocalHost
    from comptroller.secret_file import SecretFile

_ONCE = "Save the secret now: only its hash is stored, and it cannot be shown again."


@click.group()
def clients() -> None:
    """Register the programs that may use the service over HTTP.

    FILE.clients beside the store has the clients and the hashes of their secrets. A database has
    them itself. A running server applies changes within a second.
    """


@clients.command()
@click.argument("name")
@click.option("--customer", metavar="ID", help="Let the client act for this customer.")
@click.option("--operator", is_flag=True, help="Let the client act as the operator.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="Scope to grant; repeatable. Default: every scope that the customer or operator may have.",
)
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
    """Register a client, and show its secret once.

    The id of the client is NAME with a random suffix. Two active clients cannot have the same name.
    """
    if operator == (customer is not None):
        raise click.UsageError("name who the client acts for: either --customer ID or --operator")
    screen.require_server()
    from comptroller.http.oauth import clients as registry

    try:
        with _secret(db, registry) as file:
            client, secret = registry.add(file, name, customer, scopes or None)
    except InvalidRequest as error:
        if error.existing is None:
            raise
        command = shlex.join([error.existing, *db_arguments(db)])
        raise invalid(
            "name",
            f"{error.errors[0].message}, or give that client a new secret: "
            f"comptroller clients rotate {command}",
        ) from None
    _show_secret(client, secret, as_json, db)


@clients.command("list")
@db_option
@json_option
def list_(db: str, as_json: bool) -> None:
    """List the clients, including revoked ones; --json adds their names and scopes."""
    screen.require_server()
    from comptroller.http.oauth import clients as registry

    with _secret(db, registry, is_read=True) as file:
        known = registry.read(file).values()
    if as_json:
        screen.write_json({"clients": [_for_machines(client) for client in known]})
        return
    rows = screen.table("client_id", "customer", ">scopes", "since", "revoked")
    for client in known:
        rows.add_row(
            *screen.format_cells([client.client_id, client.customer or "(operator)"]),
            "all" if client.scopes is None else screen.format_value(len(client.scopes)),
            *(_day(moment) for moment in (client.created_at, client.revoked_at)),
        )
    screen.show(rows)


@clients.command()
@click.argument("client_id")
@db_option
@json_option
def rotate(client_id: str, db: str, as_json: bool) -> None:
    """Give a client a new secret; the old secret stops working.

    Tokens issued before the rotation stay valid until they expire, for up to an hour; if the
    secret leaked, `revoke` the client.
    """
    screen.require_server()
    from comptroller.http.oauth import clients as registry

    with _secret(db, registry) as file:
        client, secret = registry.rotate(file, client_id)
    _show_secret(client, secret, as_json, db)


@clients.command()
@click.argument("client_id")
@db_option
@json_option
def revoke(client_id: str, db: str, as_json: bool) -> None:
    """Revoke a client and its tokens."""
    screen.require_server()
    from comptroller.http.oauth import clients as registry

    with _secret(db, registry) as file:
        client = registry.revoke(file, client_id)
    if as_json:
        screen.write_json(_for_machines(client))
    else:
        click.echo(f"{client.client_id} and its tokens are revoked")


@click.group()
def keys() -> None:
    """Manage the keys that sign tokens, stored in FILE.keys beside the store, or in a database."""


@keys.command("rotate")
@db_and_state_options
@json_option
def rotate_keys(db: str, as_json: bool) -> None:
    """Replace the signing key by a new one.

    The old key only verifies, and is deleted when the tokens that it signed have expired.
    """
    screen.require_server()
    from comptroller.http.oauth import keys as signing

    with _secret(db, signing, is_of_folder=True) as file:
        made = signing.rotate(file, time.time())
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


class _Kind(Protocol):
    """The module of clients, or that of keys."""

    def file_of(self, store: str) -> SecretFile: ...
    def shared_of(self, host: LocalHost) -> DatabaseDocument: ...


@contextmanager
def _secret(
    db: str, kind: _Kind, *, is_read: bool = False, is_of_folder: bool = False
) -> Iterator[SecretDocument]:
    """Yields the clients or the keys of a store.

    Args:
        db: the store.
        kind: the module of clients or that of keys.
        is_read: whether they are only read, as those of a standby may be.
        is_of_folder: whether the state folder of a database must be that of its servers.

    Raises:
        Unusable: the file is not a store; or the state folder has other keys than the database.
    """
    if not is_address(db):
        screen.existing_store(db).close()
        yield kind.file_of(db)
        return
    with screen.existing_store(db) if is_read else screen.open_for_writing(db) as svc:
        document = kind.shared_of(cast("LocalHost", svc.host))
        if is_of_folder:
            document.read()  # or raises, before keys of the folder are registered
            screen.share_keys(svc)
        yield document


def _show_secret(client: Client, secret: str, as_json: bool, db: str) -> None:
    """Prints the secret of a client. Raises Error, which says how to get another one."""
    try:
        _print_secret(client, secret, as_json)
        sys.stdout.flush()
    except OSError as error:
        command = shlex.join([client.client_id, *db_arguments(db)])
        raise from_os_error(
            error,
            f"client {client.client_id} has a new secret, which could not be shown: "
            f"{error.strerror}; give it another one: comptroller clients rotate {command}",
        ) from error


def _print_secret(client: Client, secret: str, as_json: bool) -> None:
    shown: dict[str, Any] = {
        "client_id": client.client_id,
        "client_secret": secret,
        "customer_id": client.customer,
        "scopes": client.granted_scopes(),
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
        "scopes": client.granted_scopes(),
        "created_at": _iso(client.created_at),
        "revoked_at": client.revoked_at and _iso(client.revoked_at),
    }


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _day(moment: datetime | None) -> str:
    return "-" if moment is None else str(moment.date())
