"""Serving of an application with uvicorn, until a signal."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import uvicorn
import uvloop

from comptroller import _core
from comptroller.bulk.files import refuse_open_store
from comptroller.errors import Error, Unusable, unusable
from comptroller.http.app import App
from comptroller.http.exchange import Receive, Scope, Send
from comptroller.http.guard import MAX_CONNECTIONS, GuardedProtocol, GuardedServer
from comptroller.http.lane import Lane
from comptroller.http.tls_listener import MAX_HANDSHAKES, TlsListener

_log = logging.getLogger(__name__)

#: The time limit for receiving a request (of a load, for each piece), for the client to read part
#: of a response, and for the TLS handshake and shutdown.
RECEIVE_WITHIN_S = 10.0
#: The time limit for requests in flight after a signal.
END_WITHIN_S = 8
#: The time limits for the end of the process after the first and after a second signal, whatever it
#: does.
END_AT_LATEST_S = 10
END_NOW_WITHIN_S = 2


_ACCEPTED_AT_ONCE = 8
_OPEN_FILES = MAX_CONNECTIONS + MAX_HANDSHAKES + 1024


class _Loop(uvloop.Loop):
    """An event loop with limits for TLS handshakes and shutdowns."""

    def __init__(self, within_s: float) -> None:
        super().__init__()
        self._within_s = within_s
        self._handshakes: set[asyncio.Task[None]] = set()

    async def create_server(self, *args: Any, **named: Any) -> asyncio.AbstractServer:  # type: ignore[override]
        context, bound = named.get("ssl"), named.get("sock")
        if context is None or bound is None:
            return await super().create_server(*args, **named)
        bound.listen(named["backlog"])
        listener = TlsListener(self, args[0], bound, context, self._within_s, self._handshakes)
        return cast("asyncio.AbstractServer", listener)


def listen(host: str, port: int) -> socket.socket:
    """Returns a socket bound to an address. Raises Unusable if that fails."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise cannot_listen(host, port, error) from error
    return bound


def cannot_listen(host: str, port: int, error: OSError) -> Unusable:
    """Returns the error of an address that cannot be bound."""
    return unusable(f"cannot listen on {host} port {port}: {error.strerror}")


def serve(
    app: App,
    bound: socket.socket,
    *,
    tls_cert: str | None = None,
    tls_key: str | None = None,
    behind_proxy: bool = False,
    lane: Lane | None = None,
    is_worker: bool = False,
    receive_within_s: float = RECEIVE_WITHIN_S,
    started: Callable[[], None] = lambda: None,
    reload: Callable[[], None] = lambda: None,
    watches: Iterable[Callable[[], Coroutine[Any, Any, None]]] = (),
    stopping: Callable[[str], None] = lambda _signal: None,
) -> None:
    """Serves until SIGTERM or SIGINT, then answers the requests in flight. On the main thread.

    A second signal stops the server without waiting. SIGHUP reloads the certificate and calls
    `reload`; if the terminal was closed, it stops the server.

    The caller ends the process when this returns. Otherwise it ends with exit code 1, when
    END_AT_LATEST_S after the first signal or END_NOW_WITHIN_S after the second have passed.

    Args:
        app: the application.
        bound: the socket to listen on.
        tls_cert: the path of a certificate chain, to serve HTTPS.
        tls_key: the path of its private key.
        behind_proxy: reads the address of a client from X-Forwarded-For, if the peer is this
            machine or in FORWARDED_ALLOW_IPS.
        lane: the fast path for requests to `app`.
        is_worker: handles SIGTERM (may repeat), SIGQUIT (stops without waiting) and SIGHUP of a
            supervisor.
        receive_within_s: see RECEIVE_WITHIN_S.
        started: called when the server accepts requests.
        reload: called by SIGHUP to reload further files.
        watches: coroutine functions that run until they are cancelled.
        stopping: called with the name of each signal that stops the server; not in a worker.
    """

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        # The request was answered, but uvicorn would log the exception as a defect.
        with suppress(asyncio.CancelledError):
            await app(scope, receive, send)

    if tls_cert and tls_key:
        _refuse_open_stores(tls_cert, tls_key)
    config = uvicorn.Config(
        served,
        http=partial(GuardedProtocol, receive_within_s=receive_within_s, lane=lane),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=behind_proxy,
        forwarded_allow_ips=os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1,::1"),
        timeout_graceful_shutdown=END_WITHIN_S,
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
    )

    if tls_cert:
        _show_expiry(app, tls_cert)

    def reload_all() -> None:
        if config.ssl is not None and tls_cert and tls_key:
            _reload_certificate(app, config.ssl, tls_cert, tls_key)
        reload()
        if lane is not None:
            lane.forget()

    _allow_files()
    server = GuardedServer(config)
    with asyncio.Runner(loop_factory=partial(_Loop, receive_within_s)) as runner:
        tasks: list[Callable[[], Coroutine[Any, Any, None]]] = [*watches]
        tasks.append(partial(_sweep, server, min(1.0, receive_within_s / 8)))
        if lane is not None:
            lane.begin(server.server_state)
            tasks.append(lane.watch)
        runner.run(
            _serve(server, app, bound, started, reload_all, stopping, tasks, is_worker=is_worker)
        )


def _allow_files() -> None:
    """Raises the limit of open files as far as the system permits, for connections and the store.

    Otherwise connections without a token could take the descriptors that a write needs.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def require_certificate(certificate: str, key: str) -> None:
    """Raises Unusable unless the files are a certificate chain and its private key."""
    _refuse_open_stores(certificate, key)
    try:
        # An empty password, so that an encrypted key fails instead of prompting on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except OSError as error:
        raise unusable(
            f"--tls-cert {certificate} and --tls-key {key} cannot be used ({error.strerror}); they "
            "must be a certificate chain and its private key without a password, in PEM"
        ) from error


def _refuse_open_stores(certificate: str, key: str) -> None:
    refuse_open_store("--tls-cert", certificate)
    refuse_open_store("--tls-key", key)


def _reload_certificate(app: App, context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Loads a new certificate for new connections; logs an error if it cannot be used."""
    try:
        # Checked first, because loading a mismatched pair would leave the context without a key.
        require_certificate(certificate, key)
        context.load_cert_chain(certificate, key, password="")
    except (Error, OSError) as error:
        _log.error("the certificate was not reloaded: %s", error)
    else:
        _show_expiry(app, certificate)


def _show_expiry(app: App, certificate: str) -> None:
    """Shows at /metrics when a certificate chain expires; logs an error if it cannot be read."""
    from cryptography import x509

    try:
        chain = x509.load_pem_x509_certificates(Path(certificate).read_bytes())
        app.metrics.certificate_expires(min(each.not_valid_after_utc.timestamp() for each in chain))
    except (ValueError, OSError) as error:
        _log.error("the expiry of the certificate is not shown: %s", error)


def on_signals(
    stop: Callable[[], None],
    reload: Callable[[], None],
    stopping: Callable[[str], None],
    end_now_within_s: int = END_NOW_WITHIN_S,
) -> None:
    """Calls `stop` for SIGTERM and SIGINT, `reload` for SIGHUP. In the running event loop.

    SIGHUP stops a process whose terminal was closed. `stopping` is called before `stop`, with the
    name of the signal. The process ends at the latest when a limit after the first or the second
    signal has passed, even after the event loop ended.
    """
    # Under nohup, SIGHUP is ignored, and the process continues after its terminal was closed.
    is_of_terminal = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN and _has_terminal()

    def end(number: signal.Signals) -> None:
        stopping(number.name)
        stop()

    def hang_up() -> None:
        if is_of_terminal and not _has_terminal():  # the terminal was closed
            stopping(signal.SIGHUP.name)
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            reload()

    # asyncio.Runner restores its own handler of SIGINT, unless it was replaced in Python.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reactions: dict[int, _Reaction] = {
        number: _Reaction(partial(end, number), END_AT_LATEST_S, end_now_within_s)
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    _receive(reactions | {signal.SIGHUP: _Reaction(hang_up)})


class _Reaction(NamedTuple):
    """What a signal calls, and the limits in seconds for the end of the process.

    Attributes:
        call: the function to call.
        first_s: the limit if the signal is the first; 0 is none.
        repeated_s: the limit if it is a further one; 0 is none.
    """

    call: Callable[[], None]
    first_s: int = 0
    repeated_s: int = 0


def _receive(reactions: dict[int, _Reaction]) -> None:
    """Calls functions for signals, in the running event loop."""
    descriptor = _core.receive_signals(
        {number: (each.first_s, each.repeated_s) for number, each in reactions.items()}
    )

    def deliver() -> None:
        with suppress(BlockingIOError):
            for number in os.read(descriptor, 64):
                reactions[number].call()

    asyncio.get_running_loop().add_reader(descriptor, deliver)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


async def _serve(
    server: GuardedServer,
    app: App,
    bound: socket.socket,
    started: Callable[[], None],
    reload: Callable[[], None],
    stopping: Callable[[str], None],
    tasks: Iterable[Callable[[], Coroutine[Any, Any, None]]],
    *,
    is_worker: bool,
) -> None:
    loop = asyncio.get_running_loop()

    def stop(*, is_waiting: bool = True) -> None:
        server.force_exit |= not is_waiting
        server.should_exit = True
        app.stop()

    if is_worker:
        # SIGTERM may arrive twice: from a service manager and from the supervisor.
        stop_now = partial(stop, is_waiting=False)
        _receive(
            {
                signal.SIGTERM: _Reaction(stop, END_AT_LATEST_S),
                signal.SIGQUIT: _Reaction(stop_now, END_NOW_WITHIN_S, END_NOW_WITHIN_S),
                signal.SIGHUP: _Reaction(reload),
            }
        )
    else:
        on_signals(lambda: stop(is_waiting=not server.should_exit), reload, stopping)
    beside = [loop.create_task(task()) for task in tasks]
    # uvloop accepts one connection of a socket in each loop iteration; several descriptors of the
    # socket shorten the wait of a burst.
    sockets = [bound, *(bound.dup() for _ in range(_ACCEPTED_AT_ONCE - 1))]
    serving = loop.create_task(server.serve(sockets=sockets))
    while not server.started and not serving.done():
        await asyncio.sleep(0.001)
    if server.started:
        started()
    await serving
    for connection in _connections(server):
        connection.give_up()
    for task in beside:
        task.cancel()


def _connections(server: GuardedServer) -> list[GuardedProtocol]:
    return cast("list[GuardedProtocol]", list(server.server_state.connections))


async def _sweep(server: GuardedServer, every_s: float) -> None:
    """Enforces the deadlines of all connections. Runs until it is cancelled."""
    while True:
        await asyncio.sleep(every_s)
        now = asyncio.get_running_loop().time()
        for connection in _connections(server):
            try:
                connection.sweep(now)
            except Exception:  # continue with the other connections
                _log.exception("the deadline of a connection could not be enforced")
