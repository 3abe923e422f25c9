"""The command pull, which copies records of a remote service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from comptroller.cli import screen
from comptroller.cli.load_results import account, members, show_faults
from comptroller.cli.options import db_and_state_options, json_option
from comptroller.cli.parameters import Kind
from comptroller.display.html import printable
from comptroller.errors import invalid
from comptroller.values import KINDS

if TYPE_CHECKING:
    from comptroller.bulk.loading import LoadResult
    from comptroller.service import Service

#: The options of the arguments of `connect` that may be invalid.
_OPTIONS = {"base_url": "--from", "token_url": "--token-url"}
_CREDENTIALS = (
    "give --client-id and --client-secret-file, or set COMPTROLLER_CLIENT_ID and one of "
    "COMPTROLLER_CLIENT_SECRET and COMPTROLLER_CLIENT_SECRET_FILE"
)


@click.command()
@click.argument("kinds", nargs=-1, type=Kind(KINDS), metavar="[KIND]...")
@click.option("--from", "url", required=True, metavar="URL", help="URL of the remote service.")
@click.option(
    "--client-id", envvar="COMPTROLLER_CLIENT_ID", show_envvar=True, help="Client id for tokens."
)
@click.option(
    "--client-secret",
    envvar="COMPTROLLER_CLIENT_SECRET",
    show_envvar=True,
    help="Client secret; other users of the machine can see command lines.",
)
@click.option(
    "--client-secret-file",
    type=click.Path(allow_dash=True),
    envvar="COMPTROLLER_CLIENT_SECRET_FILE",
    show_envvar=True,
    help="File with the client secret; - is standard input.",
)
@click.option(
    "--token-url", metavar="URL", help="Token endpoint. Default: /oauth2/token of the service."
)
@click.option(
    "--customer",
    metavar="ID",
    help="Customer of records that name none. Default: the client's, if the service shows it.",
)
@click.option("--afresh", is_flag=True, help="Read all records again.")
@click.option(
    "--allow-http", is_flag=True, help="Send the secret over plain HTTP to another machine."
)
@db_and_state_options
@json_option
def pull(
    kinds: tuple[str, ...],
    url: str,
    client_id: str | None,
    client_secret: str | None,
    client_secret_file: str | None,
    token_url: str | None,
    customer: str | None,
    afresh: bool,
    allow_http: bool,
    db: str,
    as_json: bool,
) -> int:
    """Copy the records of a remote service that the client may read into the store.

    Run it again to update the copy. It then reads only the records that changed, if the client has
    the scope changes:read; --afresh reads all of them. An interrupted pull keeps the stored
    records; the next one continues there.

    \b
    export COMPTROLLER_CLIENT_ID=... COMPTROLLER_CLIENT_SECRET_FILE=...
    comptroller pull --from https://host claims payout-groups

    Without a secret, the command prompts for it on a terminal.
    """  # noqa: D301
    import comptroller

    if client_id is not None or client_secret_file is not None:
        client_secret = _secret(client_secret, client_secret_file)
    if (client_id is None) != (client_secret is None):
        missing = "id" if client_id is None else "secret"
        raise click.UsageError(f"the client {missing} is missing; {_CREDENTIALS}")
    results: dict[str, LoadResult] = {}
    try:
        connected = comptroller.connect(
            url,
            client_id=client_id,
            client_secret=client_secret,
            token_url=token_url,
            allow_http=allow_http,
        )
    except comptroller.InvalidRequest as error:
        [(argument, why)] = error.errors
        raise invalid(_OPTIONS.get(argument, argument), why) from error
    with connected as source:
        # Contact the service before creating a store.
        with screen.waiting(f"connecting to {printable(url)}"):
            try:
                readable, hidden = _kinds(source, url, kinds)
            except comptroller.Unauthenticated as refusal:
                if client_id is not None:
                    raise
                raise click.UsageError(f"the service needs a client; {_CREDENTIALS}") from refusal
            customer_id = _customer(source, url, customer)
        with screen.open_for_writing(db) as target:
            ended_by = _pull_all(source, target, readable, customer_id, afresh, results)
    if as_json:
        loads = {kind: members(result) for kind, result in results.items()}
        screen.write_json(
            {
                "from": url,
                "customer_id": customer_id,
                "kinds": loads,
                "not_shown": hidden,
                "interrupted": ended_by is not None,
            }
        )
    else:
        _show(results, hidden)
    if isinstance(ended_by, KeyboardInterrupt):
        click.echo("comptroller: interrupted; the lines counted above were stored", err=True)
        return 130
    if ended_by is not None:
        click.echo("comptroller: the pull ended early; the counted lines were stored", err=True)
        raise ended_by
    return 1 if any(result.rejected for result in results.values()) else 0


def _secret(given: str | None, file: str | None) -> str | None:
    """Return the client secret from an option, a file or a prompt; None if there is none.

    Raises InvalidRequest if the file cannot be read, UsageError if both options are given.
    """
    if file is not None:
        source = click.get_current_context().get_parameter_source("client_secret")
        if source is ParameterSource.COMMANDLINE:
            raise click.UsageError("give --client-secret or --client-secret-file, not both")
        if file != "-":
            from comptroller.bulk.files import refuse_open_store

            refuse_open_store("--client-secret-file", file)
        try:
            data = (
                screen.standard_input("--client-secret-file").read()
                if file == "-"
                else Path(file).read_bytes()
            )
            text = data.decode()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8"
            raise invalid("--client-secret-file", f"{file} cannot be read: {why}") from error
        return text.rstrip("\r\n")
    if given is None and sys.stdin is not None and sys.stdin.isatty():
        return str(click.prompt("Client secret", hide_input=True, err=True))
    return given


def _kinds(source: Service, url: str, named: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the kinds to pull, and the kinds skipped because the client may not read them."""
    from comptroller.bulk import pulling
    from comptroller.errors import error_for

    wanted = [kind for kind in KINDS if kind in named or not named]
    readable = [kind for kind in wanted if named or pulling.is_shown(source, kind)]
    if not readable:
        pulling.require_service(source, url)
        raise error_for("insufficient-scope", 403, "the client may not read any kind of record")
    return readable, [kind for kind in wanted if kind not in readable and kind != "balances"]


def _customer(source: Service, url: str, named: str | None) -> str | None:
    """Return the customer of records that name none; None for an operator, who sees all names."""
    from comptroller.bulk import pulling

    if pulling.is_shown(source, "balances"):
        return None
    customer_id = named or pulling.customer_of(source)
    if customer_id is None:
        pulling.require_service(source, url)
        raise invalid("--customer", "the service does not show the client's customer; name it")
    return customer_id


def _pull_all(
    source: Service,
    target: Service,
    kinds: list[str],
    customer_id: str | None,
    afresh: bool,
    results: dict[str, LoadResult],
) -> BaseException | None:
    """Pull kind after kind; return the exception that ended it early, if any."""
    from comptroller.bulk import pulling

    for kind in kinds:
        try:
            with screen.progress(f"pulling {kind}") as advance:
                results[kind] = pulling.pull(
                    source,
                    target,
                    kind,
                    customer_id=customer_id,
                    afresh=afresh,
                    progress=advance,
                )
        except BaseException as error:
            committed: LoadResult | None = getattr(error, "load_result", None)
            if committed is not None:
                results[kind] = committed
            return error
    return None


def _show(results: dict[str, LoadResult], hidden: list[str]) -> None:
    screen.show(account(results))
    for kind, result in results.items():
        if result.rejections or result.unknown_members:
            click.echo(f"\n{kind}:")
            show_faults(result, "with --json, pull lists up to 1,000")
    if hidden:
        click.echo(f"\nThe client may not read {', '.join(hidden)}.")
