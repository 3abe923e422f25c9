"""The command that copies what a service elsewhere shows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from comptroller.cli import screen
from comptroller.cli.bulk import Kind, account, members, rejections
from comptroller.cli.screen import db_option, json_option
from comptroller.display.html import printable
from comptroller.values import KINDS

if TYPE_CHECKING:
    from comptroller.bulk.loading import LoadResult
    from comptroller.service import Service


@click.command()
@click.argument("kinds", nargs=-1, type=Kind(KINDS), metavar="[KIND]...")
@click.option("--from", "url", required=True, metavar="URL", help="Where the service is.")
@click.option(
    "--client-id", envvar="COMPTROLLER_CLIENT_ID", show_envvar=True, help="Who asks for a token."
)
@click.option(
    "--client-secret",
    envvar="COMPTROLLER_CLIENT_SECRET",
    show_envvar=True,
    help="Its secret; others on the machine can see the words of a command.",
)
@click.option(
    "--client-secret-file",
    type=click.Path(allow_dash=True),
    envvar="COMPTROLLER_CLIENT_SECRET_FILE",
    show_envvar=True,
    help="The file that holds its secret; - is standard input.",
)
@click.option("--token-url", metavar="URL", help="Where tokens are; of the service when left out.")
@click.option(
    "--customer", metavar="ID", help="Whose the records are that name none, if it is not told."
)
@click.option("--all", "afresh", is_flag=True, help="Read everything again, however old.")
@click.option("--allow-http", is_flag=True, help="Send the secret in clear beyond this machine.")
@db_option
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
    """Copy the records of a service elsewhere into the store, as far as the client may read them.

    Again and again: claims and orchestrations are read from the oldest one on that was not final or
    was rejected, or else from the newest. An interrupted pull keeps what it has stored, and goes on
    from there.

    \b
    export COMPTROLLER_CLIENT_ID=... COMPTROLLER_CLIENT_SECRET_FILE=...
    comptroller pull --from https://host claims payout-groups

    A terminal is asked for the secret of a client if it is given in no other way.
    """  # noqa: D301
    import comptroller

    if client_id is not None or client_secret_file is not None:
        client_secret = _secret(client_secret, client_secret_file)
    results: dict[str, LoadResult] = {}
    with comptroller.connect(
        url,
        client_id=client_id,
        client_secret=client_secret,
        token_url=token_url,
        allow_http=allow_http,
    ) as source:
        # Asked before a store is made for a service that is not there.
        with screen.waiting(f"asking {printable(url)}"):
            shown, hidden = _kinds(source, kinds)
            whose = _customer(source, customer)
        with comptroller.open(db) as target:
            ended_by = _pull_all(source, target, shown, whose, afresh, results)
    if as_json:
        loads = {kind: members(result) for kind, result in results.items()}
        screen.write_json(
            {
                "from": url,
                "customer_id": whose,
                "kinds": loads,
                "not_shown": hidden,
                "interrupted": ended_by is not None,
            }
        )
    else:
        _tell(results, hidden)
    if isinstance(ended_by, KeyboardInterrupt):
        click.echo("comptroller: interrupted; what is counted above was kept", err=True)
        return 130
    if ended_by is not None:
        click.echo("comptroller: the pull ended early; what is counted was kept", err=True)
        raise ended_by
    return 1 if any(result.rejected for result in results.values()) else 0


def _secret(given: str | None, file: str | None) -> str | None:
    """Find the secret of a client: of an option, a file or a prompt; None if there is none.

    Raises InvalidRequest if the file cannot be read, UsageError if two places are named.
    """
    from comptroller.errors import invalid

    if file is not None:
        source = click.get_current_context().get_parameter_source("client_secret")
        if source is ParameterSource.COMMANDLINE:
            raise click.UsageError("give --client-secret or --client-secret-file, not both")
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8"
            raise invalid("--client-secret-file", f"{file} cannot be read: {why}") from error
        return text.rstrip("\r\n")
    if given is None and sys.stdin is not None and sys.stdin.isatty():
        return str(click.prompt("Client secret", hide_input=True, err=True))
    return given


def _kinds(source: Service, named: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The kinds to pull, and those that were not named and may not be read."""
    from comptroller.bulk import pulling
    from comptroller.errors import make

    asked = [kind for kind in KINDS if kind in named or not named]
    shown = [kind for kind in asked if named or pulling.is_shown(source, kind)]
    if not shown:
        raise make("insufficient-scope", 403, "this client may read no kind of record there")
    return shown, [kind for kind in asked if kind not in shown and kind != "balances"]


def _customer(source: Service, named: str | None) -> str | None:
    """Whose the records are that name no customer; None for the operator, to whom all do."""
    from comptroller.bulk import pulling
    from comptroller.errors import invalid

    if pulling.is_shown(source, "balances"):
        return None
    whose = named or pulling.customer_of(source)
    if whose is None:
        raise invalid("--customer", "nothing there tells whose the records are; name the customer")
    return whose


def _pull_all(
    source: Service,
    target: Service,
    kinds: list[str],
    customer_id: str | None,
    afresh: bool,
    results: dict[str, LoadResult],
) -> BaseException | None:
    """Pulls kind after kind; gives what ended it early."""
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
            kept: LoadResult | None = getattr(error, "load_result", None)
            if kept is not None:
                results[kind] = kept
            return error
    return None


def _tell(results: dict[str, LoadResult], hidden: list[str]) -> None:
    screen.show(account(results))
    for kind, result in results.items():
        if result.rejections:
            click.echo(f"\n{kind}:")
            screen.show(rejections(result))
    if hidden:
        click.echo(f"\nThe client may not read {', '.join(hidden)}.")
