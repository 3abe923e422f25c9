"""The command serve, which serves a store over HTTP."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

import comptroller
from comptroller.cli import screen
from comptroller.cli.screen import db_option

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from comptroller.http.app import App
    from comptroller.http.log import Log
    from comptroller.http.oauth.authority import Authority
    from comptroller.http.server.short_operations import ShortOperations

_AUTH = {
    "local": "tokens of this server (comptroller clients add)",
    "jwks": "tokens of another issuer",
    "off": "none",
}
_EXTERNAL_ISSUER_OPTIONS = (
    *("jwks", "algorithm", "token_type", "customer_claim", "operator_claim", "scope_claim"),
)
#: The options that each value of --auth does not accept.
_IGNORED = {
    "local": _EXTERNAL_ISSUER_OPTIONS,
    "jwks": (),
    "off": ("issuer", "audience", "rate", "leeway", *_EXTERNAL_ISSUER_OPTIONS),
}


_MAX_WORKERS = 256


@click.command()
@db_option
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
    _require_sense(options, given)
    screen.require_server()
    _require_safety(options)
    with _store(options) as path:
        if options["workers"] > 1:
            return _supervise(path, options)
        from comptroller.http.server import serving

        with (
            comptroller.open(path) as service,
            serving.listen(options["host"], options["port"]) as bound,
        ):
            address = _address(bound, options)
            life = _Life(_log(None), path, address, options)
            _serve(service, path, address, bound, options, life)
    return 0


@click.command(hidden=True)
@click.argument("assignment")
def worker(assignment: str) -> None:
    """Serve as one of the processes of `serve --workers`, which starts this command."""
    from comptroller.http.server import workers

    workers.end_with_supervisor()
    given = json.loads(assignment)
    options, share = given["options"], _Share(Path(given["folder"]), given["number"])
    if options["sunset"]:
        options["sunset"] = datetime.fromisoformat(options["sunset"])
    path, address = given["path"], given["address"]
    try:
        with (
            socket.socket(fileno=given["descriptor"]) as bound,
            comptroller.open(path) as service,
        ):
            _serve(service, path, address, bound, options, share=share)
    finally:
        if workers.has_supervisor_ended():
            rmtree(share.folder, ignore_errors=True)


class _Share(NamedTuple):
    """The resources that a worker shares with the others.

    Attributes:
        folder: a private folder for their metrics; its lock serializes the lines of the log.
        number: the number of the worker, from 0.
    """

    folder: Path
    number: int


class _Life:
    """Announces a server, and logs its start and its stop, with the signal that stopped it."""

    def __init__(self, log: Log, path: str, address: str, options: dict[str, Any]) -> None:
        self.log = log
        self._path = path
        self._address = address
        self._options = options
        self._signal: str | None = None
        self._began = time.monotonic()
        self._is_started = False

    def start(self) -> None:
        """Announces that the server accepts requests."""
        self._is_started = True
        self.log.event(
            "server started",
            version=comptroller.__version__,
            pid=os.getpid(),
            address=self._address,
            workers=self._options["workers"],
            store=self._path,
        )
        _announce(self._path, self._address, self._options)

    def note_signal(self, name: str) -> None:
        """Notes the first signal that stops the server."""
        self._signal = self._signal or name

    def __enter__(self) -> None: ...

    def __exit__(self, *_error: object) -> None:
        if self._is_started:
            seconds = round(time.monotonic() - self._began, 3)
            self.log.event("server stopped", pid=os.getpid(), signal=self._signal, seconds=seconds)
            self.log.flush()


def _supervise(path: str, options: dict[str, Any]) -> int:
    """Serves with worker processes; returns the exit code."""
    from tempfile import TemporaryDirectory

    from comptroller.http.server import workers

    with ExitStack() as closing:
        folder = closing.enter_context(TemporaryDirectory(prefix="comptroller-workers-"))
        sockets = workers.listen_for_workers(options["host"], options["port"], options["workers"])
        for bound in sockets:
            closing.enter_context(bound)
        address = _address(sockets[0], options)
        life = _Life(_log(_Share(Path(folder), 0)), path, address, options)
        sunset = options["sunset"]
        assignment = {
            "path": path,
            "address": address,
            "folder": folder,
            "options": {**options, "sunset": sunset and sunset.isoformat()},
        }
        commands = [
            (
                *("comptroller", "worker"),
                json.dumps({**assignment, "number": number, "descriptor": bound.fileno()}),
            )
            for number, bound in enumerate(sockets)
        ]
        with life:
            return workers.supervise(commands, sockets, life.start, life.note_signal)


def _serve(
    service: comptroller.Service,
    path: str,
    address: str,
    bound: socket.socket,
    options: dict[str, Any],
    life: _Life | None = None,
    share: _Share | None = None,
) -> None:
    """Serves in this process, which is a worker if `share` is given instead of `life`."""
    from comptroller.http.server import serving, workers
    from comptroller.http.server.log_growth import LogGrowth

    authority = None if options["auth"] == "off" else _authority(path, address, options)
    log = life.log if life else _log(share)
    app = _app(service, authority, log, options)
    # One of several workers warns for all of them.
    growth = [] if share and share.number else [LogGrowth(app.store).watch]
    metrics = app.metrics.share(*share).publishing() if share else nullcontext()
    with metrics, life or nullcontext():
        serving.serve(
            app,
            bound,
            operations=_operations(app, authority, log),
            is_worker=share is not None,
            tls_cert=options["tls_cert"],
            tls_key=options["tls_key"],
            behind_proxy=options["behind_proxy"],
            started=life.start if life else workers.report_ready,
            stopping=life.note_signal if life else lambda _signal: None,
            reload=authority.reload if authority else lambda: None,
            watches=growth,
        )


def _require_sense(options: dict[str, Any], given: set[str]) -> None:
    """Raises UsageError for options that conflict, are incomplete, or have no effect."""
    if ("db" in given) + options["empty"] + (options["sample"] is not None) > 1:
        raise click.UsageError("give one of --db, --empty and --sample")
    if (options["tls_cert"] is None) != (options["tls_key"] is None):
        raise click.UsageError("give both --tls-cert and --tls-key, or neither")
    is_temporary = options["empty"] or options["sample"] is not None
    if options["workers"] > 1 and options["db"] == ":memory:" and not is_temporary:
        raise click.UsageError("--workers needs a store in a file; --empty makes a temporary one")
    if options["drop_deprecated"] and options["sunset"]:
        raise click.UsageError("--sunset and --drop-deprecated exclude each other")
    auth = options["auth"]
    ignored = [_option(name) for name in _IGNORED[auth] if name in given]
    if ignored:
        raise click.UsageError(f"--auth {auth} does not accept {', '.join(ignored)}")
    missing = [_option(name) for name in ("issuer", "audience", "jwks") if not options[name]]
    if auth == "jwks" and missing:
        raise click.UsageError(f"--auth jwks also needs {', '.join(missing)}")


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _require_safety(options: dict[str, Any]) -> None:
    """Raises InvalidRequest if tokens would be sent unencrypted, or `--issuer` is missing."""
    from comptroller.errors import invalid
    from comptroller.loopback import is_loopback

    if options["tls_cert"]:
        from comptroller.http.server.certificate import require_certificate

        require_certificate(options["tls_cert"], options["tls_key"])
    if is_loopback(options["host"]) and not options["behind_proxy"]:
        return
    if options["auth"] == "off":
        raise invalid("--auth", "off is only for this machine; listen on 127.0.0.1")
    if not (options["tls_cert"] or options["behind_proxy"]):
        raise invalid(
            "--host",
            f"other machines can reach {options['host']}, and would send tokens unencrypted; give"
            " --tls-cert and --tls-key, or --behind-proxy if a proxy handles TLS",
        )
    if not options["issuer"]:
        raise invalid(
            "--issuer",
            "missing; give the URL at which clients on other machines reach this server, such as "
            "https://books.example",
        )


def _address(bound: socket.socket, options: dict[str, Any]) -> str:
    scheme = "https" if options["tls_cert"] else "http"
    host, port = bound.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


@contextmanager
def _store(options: dict[str, Any]) -> Iterator[str]:
    """Yields the path of the store to serve; removes a temporary store at the end."""
    if not options["empty"] and options["sample"] is None:
        yield options["db"]
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="comptroller-") as folder:
        path = str(Path(folder) / "temporary.db")
        if options["sample"] is not None:
            made = Path(folder) / "sample"
            comptroller.sample("all", options["sample"], out=made)
            with comptroller.open(path) as service:
                service.load_all(made)
        yield path


def _log(share: _Share | None) -> Log:
    """Returns the log of this process, and sends the records of Python's logging to it."""
    import logging

    from comptroller.http.log import Log

    log = Log(lock=share.folder if share else None)
    logging.basicConfig(handlers=[log.handler()], level=logging.WARNING)
    return log


def _app(
    service: comptroller.Service, authority: Authority | None, log: Log, options: dict[str, Any]
) -> App:
    from comptroller.http import EveryoneIsOperator, app
    from comptroller.http.server.backups import Backups

    collectors: list[Collector] = [log]
    if options["backups"]:
        collectors.append(Backups(Path(options["backups"])))
    sunset = options["sunset"]
    return app(
        service,
        authenticator=authority.authenticator if authority else EveryoneIsOperator(),
        drop_deprecated=options["drop_deprecated"],
        sunset=sunset and sunset.replace(tzinfo=UTC),
        observers=(log,),
        collectors=collectors,
        resources=authority.resources if authority else None,
    )


def _operations(app: App, authority: Authority | None, log: Log) -> ShortOperations | None:
    """Returns what answers short operations; None without tokens, to serve this machine only."""
    from comptroller.http.oauth.bearer import Bearer
    from comptroller.http.server.short_operations import ShortOperations

    if authority is None:
        return None
    assert isinstance(authority.authenticator, Bearer)
    return ShortOperations(app, authority.authenticator, log)


def _authority(path: str, address: str, options: dict[str, Any]) -> Authority:
    from comptroller.http.oauth import authority

    if options["auth"] == "local":
        return authority.local_authority(
            path,
            issuer=options["issuer"] or address,
            audience=options["audience"],
            rate=options["rate"],
            leeway_s=options["leeway"],
        )
    return authority.external_authority(
        issuer=options["issuer"],
        audience=options["audience"],
        jwks=options["jwks"],
        customer_claim=options["customer_claim"],
        operator_claim=options["operator_claim"],
        scope_claim=options["scope_claim"],
        token_type=options["token_type"],
        rate=options["rate"],
        leeway_s=options["leeway"],
        algorithms=options["algorithm"] or authority.EXTERNAL_ALGORITHMS,
    )


def _announce(path: str, address: str, options: dict[str, Any]) -> None:
    is_temporary = options["empty"] or options["sample"] is not None
    store = "a temporary store" if is_temporary else path
    click.echo(f"comptroller {comptroller.__version__} serves {store} at {address}")
    click.echo(f"auth: {_AUTH[options['auth']]}; documentation: {address}/docs")
    if options["auth"] == "local" and is_temporary:
        from comptroller.http.oauth import clients

        client, secret = clients.add(clients.file_of(path), "temporary", None, None)
        click.echo(f"client_id: {client.client_id}\nclient_secret: {secret}")
    if options["auth"] == "off":
        click.echo(f"warning: everyone who reaches {address} acts as the operator", err=True)
    sys.stdout.flush()
