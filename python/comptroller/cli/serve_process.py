"""The processes of `serve`: one server, or a supervisor and its workers."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import UTC
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, NamedTuple, cast

import click
import msgspec

import comptroller
from comptroller import _core
from comptroller.cli.serve_options import ServeOptions

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from comptroller.http.app import App
    from comptroller.http.log import Log
    from comptroller.http.oauth.authority import Authority
    from comptroller.http.server.deliveries import Deliveries
    from comptroller.http.server.short_operations import ShortOperations
    from comptroller.local import LocalHost

_AUTH = {
    "local": "tokens of this server (comptroller clients add)",
    "jwks": "tokens of another issuer",
    "off": "none",
}


class Assignment(msgspec.Struct, frozen=True):
    """What the supervisor assigns to a worker.

    Attributes:
        path: the path of the store.
        address: the URL of the server.
        folder: see _Share.
        number: see _Share.
        descriptor: the descriptor of the socket to listen on.
        options: the options of the command.
    """

    path: str
    address: str
    folder: str
    number: int
    descriptor: int
    options: ServeOptions


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

    def __init__(self, log: Log, path: str, address: str, options: ServeOptions) -> None:
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
            workers=self._options.workers,
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


def serve(options: ServeOptions) -> int:
    """Serves until a signal; returns the exit code."""
    _core.limit_free_memory()
    with _store(options) as path:
        if options.workers > 1:
            return _supervise(path, options)
        from comptroller.http.server import serving

        with (
            comptroller.open(path, state=options.state) as service,
            serving.listen(options.host, options.port) as bound,
        ):
            address = _address(bound, options)
            life = _Life(_log(None), path, address, options)
            _serve(service, path, address, bound, options, life)
    return 0


def work(assignment: Assignment) -> None:
    """Serves as one of several workers."""
    from comptroller.http.server import workers

    _core.limit_free_memory()
    workers.end_with_supervisor()
    share = _Share(Path(assignment.folder), assignment.number)
    path, address = assignment.path, assignment.address
    try:
        with (
            socket.socket(fileno=assignment.descriptor) as bound,
            comptroller.open(path, state=assignment.options.state) as service,
        ):
            _serve(service, path, address, bound, assignment.options, share=share)
    finally:
        if workers.has_supervisor_ended():
            rmtree(share.folder, ignore_errors=True)


def _supervise(path: str, options: ServeOptions) -> int:
    """Serves with worker processes; returns the exit code."""
    from tempfile import TemporaryDirectory

    from comptroller.http.server import workers

    with ExitStack() as closing:
        folder = closing.enter_context(TemporaryDirectory(prefix="comptroller-workers-"))
        sockets = workers.listen_for_workers(options.host, options.port, options.workers)
        for bound in sockets:
            closing.enter_context(bound)
        address = _address(sockets[0], options)
        life = _Life(_log(_Share(Path(folder), 0)), path, address, options)
        commands = []
        for number, bound in enumerate(sockets):
            given = Assignment(path, address, folder, number, bound.fileno(), options)
            commands.append(("comptroller", "worker", msgspec.json.encode(given).decode()))
        with life:
            return workers.supervise(commands, sockets, life.start, life.note_signal)


def _serve(
    service: comptroller.Service,
    path: str,
    address: str,
    bound: socket.socket,
    options: ServeOptions,
    life: _Life | None = None,
    share: _Share | None = None,
) -> None:
    """Serves in this process, which is a worker if `share` is given instead of `life`."""
    from comptroller.http.server import serving, workers
    from comptroller.http.server.deliveries import Deliveries
    from comptroller.http.server.free_memory import return_free_memory
    from comptroller.http.server.log_growth import LogGrowth
    from comptroller.journal.shared_keys import are_shared
    from comptroller.webhooks.delivering import delivering
    from comptroller.webhooks.endpoint import Counts

    host = cast("LocalHost", service.host)
    if host.is_database:
        are_shared(host)  # or raises: a server with a wrong state folder makes no file in it
    authority = None if options.auth == "off" else _authority(service, address, options)
    log = life.log if life else _log(share)
    counts = Counts()
    app = _app(service, authority, log, options, Deliveries(service, counts))
    # One of several workers delivers for all of them.
    delivers = options.webhooks and not (share and share.number)
    # One of several workers warns for all of them.
    growth = [] if share and share.number else [LogGrowth(app.store).watch]
    metrics = app.metrics.share(*share).publishing() if share else nullcontext()
    webhooks = delivering(app.store, counts) if delivers else nullcontext(lambda: None)
    with metrics, life or nullcontext(), webhooks as stop_webhooks:
        serving.serve(
            app,
            bound,
            operations=_operations(app, authority, log),
            is_worker=share is not None,
            tls_cert=options.tls_cert,
            tls_key=options.tls_key,
            behind_proxy=options.behind_proxy,
            started=life.start if life else workers.report_ready,
            stopping=life.note_signal if life else lambda _signal: None,
            reload=authority.reload if authority else lambda: None,
            watches=[*growth, return_free_memory],
            stop_beside=stop_webhooks,
        )


def _address(bound: socket.socket, options: ServeOptions) -> str:
    scheme = "https" if options.tls_cert else "http"
    host, port = bound.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


@contextmanager
def _store(options: ServeOptions) -> Iterator[str]:
    """Yields the path of the store to serve; removes a temporary store at the end."""
    if not options.is_temporary:
        yield options.db
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="comptroller-") as folder:
        path = str(Path(folder) / "temporary.db")
        if options.sample is not None:
            made = Path(folder) / "sample"
            comptroller.sample("all", options.sample, out=made)
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
    service: comptroller.Service,
    authority: Authority | None,
    log: Log,
    options: ServeOptions,
    deliveries: Deliveries,
) -> App:
    from comptroller.http import EveryoneIsOperator, app
    from comptroller.http.server.backups import Backups

    collectors: list[Collector] = [log, deliveries]
    if options.backups:
        collectors.append(Backups(Path(options.backups)))
    sunset = options.sunset
    return app(
        service,
        authenticator=authority.authenticator if authority else EveryoneIsOperator(),
        drop_deprecated=options.drop_deprecated,
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


def _authority(service: comptroller.Service, address: str, options: ServeOptions) -> Authority:
    from comptroller.http.oauth import authority

    if options.auth == "local":
        return authority.local_authority(
            service,
            issuer=options.issuer or address,
            audience=options.audience,
            rate=options.rate,
            leeway_s=options.leeway,
        )
    # require_sense refuses the command without them.
    assert options.issuer
    assert options.audience
    assert options.jwks
    return authority.external_authority(
        issuer=options.issuer,
        audience=options.audience,
        jwks=options.jwks,
        customer_claim=options.customer_claim,
        operator_claim=options.operator_claim,
        scope_claim=options.scope_claim,
        token_type=options.token_type,
        rate=options.rate,
        leeway_s=options.leeway,
        algorithms=options.algorithm or authority.EXTERNAL_ALGORITHMS,
    )


def _announce(path: str, address: str, options: ServeOptions) -> None:
    store = "a temporary store" if options.is_temporary else path
    click.echo(f"comptroller {comptroller.__version__} serves {store} at {address}")
    click.echo(f"auth: {_AUTH[options.auth]}; documentation: {address}/docs")
    if options.auth == "local" and options.is_temporary:
        from comptroller.http.oauth import clients

        client, secret = clients.add(clients.file_of(path), "temporary", None, None)
        click.echo(f"client_id: {client.client_id}\nclient_secret: {secret}")
    if options.auth == "off":
        click.echo(f"warning: everyone who reaches {address} acts as the operator", err=True)
    sys.stdout.flush()
