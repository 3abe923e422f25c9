"""uvicorn's protocol, guarded against slow, oversized and ambiguous requests, and deaf readers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

from uvicorn import Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from comptroller.errors import make
from comptroller.http import problems
from comptroller.http.exchange import PIECEWISE
from comptroller.routes import METHOD_OVERRIDE

LARGEST_HEAD = 16 << 10  # bytes of the request line and all headers; of trailers too
MOST_HEADERS = 64
MOST_CONNECTIONS = 1000

_MOST_GATHERED = 64 << 10  # bytes
_LONG = (
    f"the request line and the fields may have {LARGEST_HEAD:,} bytes, and there may be"
    f" {MOST_HEADERS} fields; send long filters as a form, by POST with {METHOD_OVERRIDE}: GET"
)
_REASONS = {
    400: ("Bad Request", "Host must be given exactly once"),
    408: ("Request Timeout", "the request did not arrive whole in time"),
    414: ("URI Too Long", _LONG),
    431: ("Request Header Fields Too Large", _LONG),
}
_log = logging.getLogger(__name__)

#: What is used of uvicorn that it does not document. Its version is bounded for this.
UNDOCUMENTED: dict[str, frozenset[str]] = {
    "server": frozenset({"capture_signals", "started", "should_exit", "force_exit", "config"}),
    "protocol": frozenset(
        {"connections", "cycle", "flow", "headers", "loop", "parser", "scope", "transport", "url"}
    ),
    "callbacks": frozenset(
        {"on_message_begin", "on_header", "on_headers_complete", "on_body", "on_message_complete"}
    ),
    "cycle": frozenset({"response_started", "response_complete"}),
    "flow": frozenset({"read_paused"}),
}


class GuardedServer(Server):
    """uvicorn's server, which leaves signals to its caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Does nothing: uvicorn would raise the signals again when it has stopped."""
        yield


class Outgoing:
    """A transport that sends all writes of one turn of the loop in one system call.

    It closes the connection of a client that takes nothing of an answer for too long.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, taken_within_s: float
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._taken_within_s = taken_within_s
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._sent_bytes = 0
        self._taken_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether nothing can be written any more."""
        return self._transport.is_closing()

    def write(self, data: bytes) -> None:
        """Sends at the end of this turn of the loop, with everything else that it writes."""
        if not self._gathered:
            self._loop.call_soon(self.flush)
        self._gathered.append(data)
        self._gathered_bytes += len(data)
        if self._gathered_bytes > _MOST_GATHERED:
            self.flush()

    def flush(self) -> None:
        """Sends what was written."""
        if not self._gathered:
            return
        if not self._transport.is_closing():
            self._transport.writelines(self._gathered)
            self._sent_bytes += self._gathered_bytes
            self._expect_reader()
        self._gathered = []
        self._gathered_bytes = 0

    def close(self) -> None:
        """Sends what was written, and closes the connection."""
        self.flush()
        self._transport.close()

    def forget(self) -> None:
        """Stops waiting: the connection is closed."""
        if self._deadline is not None:
            self._deadline.cancel()

    def _expect_reader(self) -> None:
        waiting = self._transport.get_write_buffer_size()
        if waiting and self._deadline is None:
            self._taken_bytes = self._sent_bytes - waiting
            self._deadline = self._loop.call_later(self._taken_within_s, self._look)

    def _look(self) -> None:
        self._deadline = None
        waiting = self._transport.get_write_buffer_size()
        if waiting and self._sent_bytes - waiting == self._taken_bytes:
            _log.warning("a connection was cut: nobody took its answer")
            self._transport.abort()
        else:
            self._expect_reader()


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with deadlines for receiving and for being read, and caps on the head.

    What is refused here never reaches the application: it is answered with a problem document, and
    its connection is closed. One connection too many is closed without an answer.
    """

    transport: Outgoing  # type: ignore[assignment]

    def __init__(self, *, receive_within_s: float, **named: Any) -> None:
        super().__init__(**named)
        self._receive_within_s = receive_within_s
        self._deadline: asyncio.TimerHandle | None = None
        self._is_in_head = True
        self._bytes_beside_body = 0
        self._field_bytes = 0
        self.url = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the deadline of the first request."""
        outgoing: Any = Outgoing(transport, self.loop, self._receive_within_s)
        super().connection_made(outgoing)
        if len(self.connections) > MOST_CONNECTIONS:
            _log.warning("a connection was refused: there are %d already", MOST_CONNECTIONS)
            transport.close()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops every deadline."""
        self._expect_nothing()
        self.transport.forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes a piece of a request; its deadline is of the piece where the answer says so."""
        self._bytes_beside_body += len(data)
        # What is answered already, such as what was refused, has no more time.
        if not self._is_in_head and PIECEWISE in self.scope and not self.cycle.response_complete:
            self._expect()
        super().data_received(data)
        if self._bytes_beside_body > LARGEST_HEAD:
            self._reject_head()
        elif self._deadline is None and self._is_idle():
            self._expect()  # of line ends alone, which begin nothing

    def on_message_begin(self) -> None:
        """Starts the deadline of a request, unless it runs since the connection began."""
        super().on_message_begin()
        self._field_bytes = 0
        if self._deadline is None:
            self._expect()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes one field of the head, as long as they are not too many; trailers are dropped."""
        self._field_bytes += len(name) + len(value) + len(": \r\n")
        if self._is_in_head and len(self.headers) <= MOST_HEADERS:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Passes the request on, unless its head is too large or does not name one host."""
        self._is_in_head = False
        self._bytes_beside_body = 0
        if self.transport.is_closing():
            return
        hosts = sum(name == b"host" for name, _ in self.headers)
        if len(self.headers) > MOST_HEADERS or len(self.url) + self._field_bytes > LARGEST_HEAD:
            self._reject_head()
        elif hosts > 1 or (hosts == 0 and self.parser.get_http_version() != "1.0"):
            self._reject(400)
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Passes a piece of the body on; what follows a rejected head is ignored."""
        self._bytes_beside_body = 0
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Stops the deadline: the request has arrived whole."""
        self._expect_nothing()
        self._is_in_head = True
        self._bytes_beside_body = 0
        if not self.transport.is_closing():
            super().on_message_complete()

    def _is_idle(self) -> bool:
        is_answered = self.cycle is None or self.cycle.response_complete
        return self._is_in_head and is_answered and not self.transport.is_closing()

    def _expect(self) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(self._receive_within_s, self._overdue)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _overdue(self) -> None:
        if self.flow.read_paused:  # the server has stopped reading
            self._expect()
        else:
            self._reject(408)

    def _reject_head(self) -> None:
        self._reject(414 if len(self.url) > self._field_bytes else 431)

    def _reject(self, status: int) -> None:
        self._expect_nothing()
        if self.transport.is_closing():
            return
        reason, detail = _REASONS[status]
        _log.warning("a request was refused: %d %s", status, reason)
        cycle = self.cycle
        is_pending = cycle is not None and not cycle.response_complete
        # A refusal must not be written into another answer, or in place of one.
        if not is_pending or not (self._is_in_head or cycle.response_started):
            is_head = self.url != b"" and self.parser.get_method() == b"HEAD"
            self.transport.write(_refusal(status, reason, detail, is_head=is_head))
        self.transport.close()


def _refusal(status: int, reason: str, detail: str, *, is_head: bool) -> bytes:
    request_id = token_hex(16)
    body = problems.document(make("invalid-request", status, detail), request_id)
    fields = {
        "content-type": problems.CONTENT_TYPE.decode(),
        "content-length": len(body),
        "x-request-id": request_id,
        "connection": "close",
    }
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {it}" for name, it in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if is_head else body)
