"""Serving an application with uvicorn, guarded against slow, oversized and ambiguous requests."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from comptroller.errors import unavailable
from comptroller.http.app import App

#: How long a request may take to arrive whole; a load, between two pieces.
RECEIVE_WITHIN_S = 10.0
#: How long what is in flight has to end after a signal.
END_WITHIN_S = 8
LARGEST_HEAD = 16 << 10  # bytes of the request line and all headers
MOST_HEADERS = 64
MOST_CONNECTIONS = 1000

_REASONS = {
    400: "Bad Request",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
}


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with a deadline for receiving a request and caps on its head.

    What is refused here never becomes a request: it gets a bare status, and its connection is
    closed. One connection too many is closed without a word.
    """

    def __init__(self, *, receive_within_s: float, **named: Any) -> None:
        super().__init__(**named)
        self._receive_within_s = receive_within_s
        self._deadline: asyncio.TimerHandle | None = None
        self._is_in_head = True
        self._head_bytes = 0
        self._field_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.close()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits for nothing any more."""
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes a piece of a request; a load has its time anew with every piece."""
        if self._is_in_head:
            self._head_bytes += len(data)
        elif self._is_load():
            self._expect()
        super().data_received(data)
        if self._is_in_head and self._head_bytes > LARGEST_HEAD:
            self._reject(431)

    def on_message_begin(self) -> None:
        """A request begins, and its time, unless that began with the connection."""
        super().on_message_begin()
        self._field_bytes = 0
        if self._deadline is None:
            self._expect()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes one field, as long as they are not too many."""
        self._field_bytes += len(name) + len(value) + len(": \r\n")
        if len(self.headers) <= MOST_HEADERS:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hands the request on, unless its head is too large or names no host, or two."""
        self._is_in_head = False
        self._head_bytes = 0
        if self.transport.is_closing():
            return
        hosts = sum(name == b"host" for name, _ in self.headers)
        if len(self.headers) > MOST_HEADERS or len(self.url) + self._field_bytes > LARGEST_HEAD:
            self._reject(431)
        elif hosts > 1 or (hosts == 0 and self.parser.get_http_version() != "1.0"):
            self._reject(400)
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Hands a piece of the body on; what follows a rejected head is passed over."""
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is here whole."""
        self._expect_nothing()
        self._is_in_head = True
        if not self.transport.is_closing():
            super().on_message_complete()

    def _is_load(self) -> bool:
        # What is answered already, such as a refused one, need not be heard to its end.
        is_load = self.scope["path"].startswith("/operator/load/")
        return is_load and not self.cycle.response_complete

    def _expect(self) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(self._receive_within_s, self._overdue)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _overdue(self) -> None:
        if self.flow.read_paused:  # it is we who do not listen
            self._expect()
        else:
            self._reject(408)

    def _reject(self, status: int) -> None:
        self._expect_nothing()
        if self.transport.is_closing():
            return
        cycle = self.cycle
        is_pending = cycle is not None and not cycle.response_complete
        # Nothing may stand inside another answer, or in the place of one.
        if not is_pending or not (self._is_in_head or cycle.response_started):
            head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nconnection: close\r\n"
            self.transport.write(f"{head}content-length: 0\r\n\r\n".encode())
        self.transport.close()


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
    receive_within_s: float = RECEIVE_WITHIN_S,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Serves until SIGTERM or SIGINT, and then until what is in flight is answered.

    A second signal ends the wait for that. Calls `started` when requests are taken. On the main
    thread.
    """
    config = uvicorn.Config(
        app,
        http=partial(GuardedProtocol, receive_within_s=receive_within_s),  # type: ignore[arg-type]
        loop="uvloop",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=END_WITHIN_S,
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
    )
    server = Server(config)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
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
