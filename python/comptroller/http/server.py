"""Serving an application with uvicorn, until a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import uvicorn
import uvloop

from comptroller.errors import unavailable
from comptroller.http.app import App
from comptroller.http.exchange import Receive, Scope, Send
from comptroller.http.guard import GuardedProtocol

#: How long a request may take to arrive whole, a load between two pieces; how long an answer, or
#: the beginning and the end of TLS, may stand still.
RECEIVE_WITHIN_S = 10.0
#: How long what is in flight has to end after a signal.
END_WITHIN_S = 8


class _Loop(uvloop.Loop):
    """Waits no longer for TLS than for a request."""

    def __init__(self, within_s: float) -> None:
        super().__init__()
        self._within_s = within_s

    async def create_server(self, *args: Any, **named: Any) -> asyncio.AbstractServer:  # type: ignore[override]
        if named.get("ssl"):
            named["ssl_handshake_timeout"] = named["ssl_shutdown_timeout"] = self._within_s
        return await super().create_server(*args, **named)


class Server(uvicorn.Server):
    """uvicorn's server, stopped by the signals that `serve` hears."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals alone: uvicorn would raise them again when it has stopped."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to an address. Raises Unavailable where that cannot be had."""
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
        raise unavailable(f"cannot listen on {host} port {port}: {error.strerror}") from error
    return bound


def serve(
    app: App,
    bound: socket.socket,
    *,
    tls_cert: str | None = None,
    tls_key: str | None = None,
    behind_proxy: bool = False,
    receive_within_s: float = RECEIVE_WITHIN_S,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Serves until SIGTERM or SIGINT, and then until what is in flight is answered.

    A second signal ends the wait for that. `behind_proxy` takes the address of a client from
    X-Forwarded-For, if the peer is this machine or in FORWARDED_ALLOW_IPS. Calls `started` when
    requests are taken. On the main thread.
    """

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        # It is answered; uvicorn would take it for a defect.
        with suppress(asyncio.CancelledError):
            await app(scope, receive, send)

    config = uvicorn.Config(
        served,
        http=partial(GuardedProtocol, receive_within_s=receive_within_s),  # type: ignore[arg-type]
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
    server = Server(config)
    with asyncio.Runner(loop_factory=partial(_Loop, receive_within_s)) as runner:
        runner.run(_serve(server, app, bound, started))


async def _serve(
    server: Server, app: App, bound: socket.socket, started: Callable[[], None]
) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True
        app.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    serving = loop.create_task(server.serve(sockets=[bound]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.001)
    if server.started:
        started()
    await serving
