"""Serving of an application over HTTP/1.1, until a signal."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

import uvloop

from comptroller.errors import Unusable, unusable
from comptroller.http.app import App
from comptroller.http.server.certificate import Certificate
from comptroller.http.server.connection import MAX_CONNECTIONS, Connection
from comptroller.http.server.forwarding import Forwarding
from comptroller.http.server.server import RECEIVE_WITHIN_S, Server
from comptroller.http.server.short_operations import ShortOperations
from comptroller.http.server.signals import (
    ignore_more_signals,
    on_signals,
    on_worker_signals,
)
from comptroller.http.server.tls_listener import MAX_HANDSHAKES, TlsListener
from comptroller.open_files import allow_open_files
from comptroller.webhooks.shares import MAX_REQUESTS

_ACCEPTED_AT_ONCE = 8
_BACKLOG = 2048


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
    stop_beside: Callable[[], None] = lambda: None,
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
        stop_beside: begins the end of what runs beside the server, so that both end together.
    """
    certificate = Certificate(tls_cert, tls_key, app.metrics) if tls_cert and tls_key else None

    def reload_all() -> None:
        if certificate is not None:
            certificate.reload()
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
            stop_beside()
            app.stop()
            server.stop(is_waiting=is_waiting)

        if is_worker:
            on_worker_signals(stop, partial(stop, is_waiting=False), reload_all)
        else:
            on_signals(lambda: stop(is_waiting=not server.is_stopping), reload_all, stopping)
        beside = [server.loop.create_task(task) for task in tasks]
        context = None if certificate is None else certificate.context
        listeners = await _listen(server, bound, context)
        started()
        await ending.wait()
        for listener in listeners:
            listener.close()
        await server.wait()
        for task in beside:
            task.cancel()

    # Otherwise connections without a token could take the descriptors that a write needs.
    allow_open_files(MAX_CONNECTIONS + MAX_HANDSHAKES + MAX_REQUESTS)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
    if is_worker:
        ignore_more_signals()


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
