"""A call of the ASGI application for one request of a connection."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from comptroller.http.exchange import Message, Scope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from comptroller.http.server.connection import Connection
    from comptroller.http.server.request import Request

_MAX_RECEIVED = 64 << 10  # bytes of a body that wait for the application
_log = logging.getLogger(__name__)


class AsgiCall:
    """Carries one request to an application, and its response to the connection.

    Attributes:
        scope: of the application.
        has_started: whether the head of the response was sent.
    """

    def __init__(self, connection: Connection, request: Request, scope: Scope) -> None:
        self.scope = scope
        self.has_started = False
        self._connection = connection
        self._request = request
        self._received = bytearray(request.body)
        self._changed = asyncio.Event()
        self._is_received = False  # the application has all of the body
        self._is_disconnected = False
        self._is_chunked = False
        self._expects_continue = request.version != "1.0" and any(
            name == b"expect" and value.lower() == b"100-continue"
            for name, value in request.headers
        )

    @property
    def is_full(self) -> bool:
        """Whether the application has to receive before more may arrive."""
        return len(self._received) > _MAX_RECEIVED

    def feed(self, body: bytes) -> None:
        """Adds a piece of the body."""
        self._received += body
        self._changed.set()
        if self.is_full:
            self._connection.update_reading()

    def complete(self) -> None:
        """Ends the body."""
        self._changed.set()

    def disconnect(self) -> None:
        """Tells the application that the client has disconnected."""
        self._is_disconnected = True
        self._changed.set()

    async def run(self, app: Callable[..., Awaitable[None]]) -> None:
        """Runs the application. A response that it does not complete ends the connection."""
        try:
            await app(self.scope, self._receive, self._send)
        except asyncio.CancelledError:
            pass  # the request was answered
        except Exception:
            _log.exception("the application failed")
        if self._connection.is_answering(self._request):
            self._connection.out.abort()

    async def _receive(self) -> Message:
        if self._expects_continue and not (self.has_started or self._request.is_complete):
            self._expects_continue = False
            self._connection.out.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not self._is_disconnected and (
            self._is_received or not (self._received or self._request.is_complete)
        ):
            self._changed.clear()
            await self._changed.wait()
        if self._is_disconnected:
            return {"type": "http.disconnect"}
        body = bytes(self._received)
        self._received.clear()
        self._is_received = self._request.is_complete
        self._connection.update_reading()
        return {"type": "http.request", "body": body, "more_body": not self._is_received}

    async def _send(self, message: Message) -> None:
        connection, request = self._connection, self._request
        if not connection.is_answering(request):
            return
        if message["type"] == "http.response.start":
            headers = list(message["headers"])
            has_length = any(name == b"content-length" for name, _ in headers)
            self._is_chunked = not has_length and request.version != "1.0"
            if self._is_chunked:
                headers.append((b"transfer-encoding", b"chunked"))
            request.is_announced = True
            if not connection.keeps_alive(request):
                headers.append((b"connection", b"close"))
            self.has_started = True
            connection.start(message["status"], headers)
            return
        more = message.get("more_body", False)
        self._write(message.get("body", b""), is_last=not more)
        if more:
            await connection.drain()
        else:
            self.disconnect()
            connection.end()

    def _write(self, body: bytes, *, is_last: bool) -> None:
        if self._request.method == b"HEAD":
            return
        write = self._connection.out.write
        if not self._is_chunked:
            write(body)
            return
        if body:
            write(b"%x\r\n" % len(body))
            write(body)
            write(b"\r\n")
        if is_last:
            write(b"0\r\n\r\n")
