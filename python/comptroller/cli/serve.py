"""The command serve, which serves a store over HTTP."""

from __future__ import annotations

from typing import Any

import click
import msgspec
from click.core import ParameterSource

from comptroller.cli import screen
from comptroller.cli.options import DEFAULT_DB, db_and_state_options, state_of
from comptroller.cli.serve_options import ServeOptions, require_safety, require_sense

_MAX_WORKERS = 256


@click.command()
@db_and_state_options
@click.option("--empty", is_flag=True, help="Serve an empty temporary store.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Serve a temporary store with N sample claims.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="The port to listen on; 0 chooses a free port.",
)
@click.option(
    "--auth",
    type=click.Choice(["local", "jwks", "off"]),
    default="local",
    show_default=True,
    help="Accept tokens of this server, tokens of another issuer, or any caller as the operator.",
)
@click.option(
    "--issuer",
    help="Issuer of the tokens. For local tokens the public URL of this server, required if other "
    "machines can reach it.",
)
@click.option("--audience", help="Audience of the tokens. Default for local tokens: the issuer.")
@click.option("--jwks", help="With --auth jwks: the URL or file of the issuer's keys.")
@click.option(
    "--algorithm",
    multiple=True,
    help="Accepted signature algorithm; repeatable. Default: Ed25519 (also named EdDSA), ES256, "
    "RS256, PS256.",
)
@click.option(
    "--token-type",
    type=click.Choice(["at+jwt", "any"]),
    default="at+jwt",
    show_default=True,
    help="Accepted `typ` in the header of tokens: at+jwt (RFC 9068), or any.",
)
@click.option(
    "--customer-claim",
    default="customer",
    show_default=True,
    help="Token claim that names the customer.",
)
@click.option(
    "--operator-claim",
    default="operator",
    show_default=True,
    help="Token claim that is true for an operator.",
)
@click.option(
    "--scope-claim",
    help="Token claim that holds the scopes, as text or list. Default: scope, else scp.",
)
@click.option(
    "--leeway",
    type=click.FloatRange(0, 60),
    default=10,
    show_default=True,
    help="Seconds by which the issuer's clock may differ.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, _MAX_WORKERS),
    default=1,
    show_default=True,
    help="Number of server processes; reads use that many cores.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    help="Limit of requests per second for each client.",
)
@click.option("--tls-cert", type=click.Path(exists=True), help="TLS certificate chain (PEM).")
@click.option("--tls-key", type=click.Path(exists=True), help="Private key of --tls-cert (PEM).")
@click.option("--behind-proxy", is_flag=True, help="A proxy in front of this server handles TLS.")
@click.option(
    "--backups",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Show the time of the newest backup (file ending in .db) in this folder at /metrics.",
)
@click.option(
    "--webhooks/--no-webhooks",
    default=True,
    show_default=True,
    help="Deliver the events of webhooks, unless `comptroller deliver` does.",
)
@click.option("--drop-deprecated", is_flag=True, help="Omit deprecated members from responses.")
@click.option(
    "--sunset",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Announce this removal date of the deprecated members.",
)
@click.pass_context
def serve(context: click.Context, /, **options: Any) -> int:
    """Serve the store over HTTP, until Ctrl-C or SIGTERM.

    Other machines can reach the server only with TLS, of this server or of a proxy. SIGHUP reloads
    certificates, keys and clients.
    """
    given = {
        name
        for name in options
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    if context.find_root().params.get("db") is not None:
        given.add("db")
    is_temporary = options["empty"] or options["sample"] is not None
    state = state_of(DEFAULT_DB if is_temporary else options["db"])
    chosen = ServeOptions(**options, state=state)
    require_sense(chosen, given)
    screen.require_server()
    require_safety(chosen)
    from comptroller.cli import serve_process

    return serve_process.serve(chosen)


@click.command(hidden=True)
@click.argument("assignment")
def worker(assignment: str) -> None:
    """Serve as one of the processes of `serve --workers`, which starts this command."""
    from comptroller.cli import serve_process
    from comptroller.decoding import NOT_JSON

    try:
        assigned = msgspec.json.decode(assignment, type=serve_process.Assignment)
    except (*NOT_JSON, UnicodeEncodeError):
        raise click.UsageError("`serve --workers` runs this command; run `serve`") from None
    serve_process.work(assigned)
