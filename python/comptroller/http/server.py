"""Serving of an application over HTTP/1.1, until a signal."""

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
from email.utils import formatdate
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import uvloop

from comptroller import _core
from comptroller.bulk.files import refuse_open_store
from comptroller.errors import Error, Unusable, unusable
from comptroller.http.app import App
from comptroller.http.asgi import AsgiCall
from comptroller.http.connection import MAX_CONNECTIONS, Connection, Request
from comptroller.http.exchange import BEGAN
from comptroller.http.forwarding import Forwarding
from comptroller.http.short_operations import ShortOperations
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
_BACKLOG = 2048
_OPEN_FILES = MAX_CONNECTIONS + MAX_HANDSHAKES + 1024


class Server:
    """The connections of a server, and what they share. For the thread of the event loop.

    Attributes:
        connections: all open ones.
        answer: answers a complete request of a connection, now or later.
        date: the header line of all responses.
        receive_within_s: see RECEIVE_WITHIN_S.
    """

    def __init__(
        self,
        app: App,
        operations: ShortOperations | None,
        forwarding: Forwarding | None,
        receive_within_s: float,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.connections: set[Connection] = set()
        self.receive_within_s = receive_within_s
        self.is_stopping = False
        self.answer = Connection.pass_on if operations is None else operations.answer
        self._app = app
        self._operations = operations
        self._forwarding = forwarding
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_ended = asyncio.Event()
        self._set_date()

    def waits_for_body(self, request: Request) -> bool:
        """Whether the whole body must arrive before the request is answered."""
        return self._operations is not None and self._operations.waits_for_body(request)

    def run(self, call: AsgiCall) -> None:
        """Runs the application for a request."""
        task = self.loop.create_task(call.run(self._app))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def scope(self, connection: Connection, request: Request) -> dict[str, Any]:
        """Returns the ASGI scope of a request."""
        path, query = request.split_target()
        client = connection.peer
        if self._forwarding is not None:
            client = self._forwarding.client(client, request.headers)
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": request.version,
            "client": client,
            "scheme": "https" if connection.is_secure else "http",
            "method": request.method.decode("ascii"),
            "root_path": "",
            "path": unquote(path.decode("ascii")),
            "raw_path": path,
            "query_string": query,
            "headers": request.headers,
            BEGAN: request.began,
        }

    def _set_date(self) -> None:
        self.date = b"date: " + formatdate(usegmt=True).encode() + b"\r\n"
        if self._operations is not None:
            self._operations.set_date(self.date)

    async def sweep(self) -> None:
        """Enforces the deadlines of all connections. Runs until it is cancelled."""
        while True:
            await asyncio.sleep(min(1.0, self.receive_within_s / 8))
            self._set_date()
            now = self.loop.time()
            for connection in list(self.connections):
                try:
                    connection.sweep(now)
                except Exception:  # continue with the other connections
                    _log.exception("the deadline of a connection could not be enforced")

    def stop(self, *, is_waiting: bool) -> None:
        """Begins the end; without waiting for requests in flight unless `is_waiting`."""
        self.is_stopping = True
        if not is_waiting:
            self._is_ended.set()
        for connection in list(self.connections):
            connection.stop()

    def _is_open(self) -> bool:
        return bool(self._tasks) or not all(each.has_ended for each in self.connections)

    async def wait(self) -> None:
        """Waits until all requests are answered, or END_WITHIN_S has passed; ends all others."""
        ends = self.loop.time() + END_WITHIN_S
        while self._is_open() and self.loop.time() < ends:
            if self._is_ended.is_set():
                break
            await asyncio.sleep(0.02)
        for connection in list(self.connections):
            connection.give_up()
        for task in self._tasks:
            task.cancel()
        if self._tasks:  # they refuse their requests
            await asyncio.wait(self._tasks, timeout=1)


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
    operations: ShortOperations | None = None,
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
        operations: answers the short operations of `app`.
        is_worker: handles SIGTERM (may repeat), SIGQUIT (stops without waiting) and SIGHUP of a
            supervisor.
        receive_within_s: see RECEIVE_WITHIN_S.
        started: called when the server accepts requests.
        reload: called by SIGHUP to reload further files.
        watches: coroutine functions that run until they are cancelled.
        stopping: called with the name of each signal that stops the server; not in a worker.
    """
    context = None
    if tls_cert and tls_key:
        _refuse_open_stores(tls_cert, tls_key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls_cert, tls_key)
        _show_expiry(app, tls_cert)

    def reload_all() -> None:
        if context is not None and tls_cert and tls_key:
            _reload_certificate(app, context, tls_cert, tls_key)
        reload()
        if operations is not None:
            operations.forget()

    async def run() -> None:
        forwarding = Forwarding(os.environ.get("FORWARDED_ALLOW_IPS")) if behind_proxy else None
        server = Server(app, operations, forwarding, receive_within_s)
        tasks = [server.sweep(), *(watch() for watch in watches)]
        if operations is not None:
            tasks.append(operations.watch())
        ending = asyncio.Event()

        def stop(*, is_waiting: bool = True) -> None:
            ending.set()
            app.stop()
            server.stop(is_waiting=is_waiting)

        _react(stop, lambda: server.is_stopping, reload_all, stopping, is_worker=is_worker)
        beside = [server.loop.create_task(task) for task in tasks]
        listeners = await _listen(server, bound, context)
        started()
        await ending.wait()
        for listener in listeners:
            listener.close()
        await server.wait()
        for task in beside:
            task.cancel()

    _allow_files()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


async def _listen(
    server: Server, bound: socket.socket, context: ssl.SSLContext | None
) -> list[TlsListener | asyncio.AbstractServer]:
    """Accepts connections of a socket until the returned listeners are closed."""
    # uvloop accepts one connection of a socket in each loop iteration; several descriptors of the
    # socket shorten the wait of a burst.
    sockets = [bound, *(bound.dup() for _ in range(_ACCEPTED_AT_ONCE - 1))]
    factory = partial(Connection, server)
    if context is None:
        return [
            await server.loop.create_server(factory, sock=each, backlog=_BACKLOG)
            for each in sockets
        ]
    handshakes: set[asyncio.Task[None]] = set()
    within_s = server.receive_within_s
    for each in sockets:
        each.listen(_BACKLOG)
    return [
        TlsListener(server.loop, factory, each, context, within_s, handshakes) for each in sockets
    ]


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


def _react(
    stop: Callable[..., None],
    is_stopping: Callable[[], bool],
    reload: Callable[[], None],
    stopping: Callable[[str], None],
    *,
    is_worker: bool,
) -> None:
    """Reacts to the signals of a server, or of a worker, in the running event loop."""
    if not is_worker:
        on_signals(lambda: stop(is_waiting=not is_stopping()), reload, stopping)
        return
    # SIGTERM may arrive twice: from a service manager and from the supervisor.
    stop_now = partial(stop, is_waiting=False)
    _receive(
        {
            signal.SIGTERM: _Reaction(stop, END_AT_LATEST_S),
            signal.SIGQUIT: _Reaction(stop_now, END_NOW_WITHIN_S, END_NOW_WITHIN_S),
            signal.SIGHUP: _Reaction(reload),
        }
    )
