"""uvicorn's protocol with limits for slow, oversized and ambiguous requests and slow readers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from secrets import token_hex
from typing import TYPE_CHECKING, Any, cast

from uvicorn import Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from comptroller.errors import make
from comptroller.http import problems
from comptroller.http.exchange import BEGAN, OUTCOME, PIECEWISE, STOPPING
from comptroller.routes import METHOD_OVERRIDE

if TYPE_CHECKING:
    from comptroller.http.lane import Lane
    from comptroller.http.writes import Outcome

LARGEST_HEAD = 16 << 10  # bytes of the request line and all headers, or of trailers
MAX_HEADERS = 64
MAX_CONNECTIONS = 1000

_MAX_GATHERED = 64 << 10  # bytes
_MAX_BUFFERED = 16 << 10  # bytes received after a request that the lane has not answered yet
_LONG = (
    f"the head of the request is too long; at most {LARGEST_HEAD:,} bytes and {MAX_HEADERS} fields;"
    f" send long filters as a form, by POST with {METHOD_OVERRIDE}: GET"
)
_REASONS = {
    400: ("Bad Request", "Host is missing or repeated; send it exactly once"),
    408: ("Request Timeout", "the request did not arrive in time"),
    414: ("URI Too Long", _LONG),
    431: ("Request Header Fields Too Large", _LONG),
    503: ("Service Unavailable", STOPPING),
}
_log = logging.getLogger(__name__)

#: The undocumented attributes of uvicorn in use; because of them its version has an upper bound.
UNDOCUMENTED: dict[str, frozenset[str]] = {
    "server": frozenset(
        {"capture_signals", "started", "should_exit", "force_exit", "config", "server_state"}
    ),
    "protocol": frozenset(
        {"connections", "cycle", "flow", "headers", "loop", "parser", "scheme", "scope"}
        | {"transport", "url", "timeout_keep_alive", "_unset_keepalive_if_required"}
    ),
    "callbacks": frozenset(
        {"on_message_begin", "on_header", "on_headers_complete", "on_body", "on_message_complete"}
    ),
    "cycle": frozenset({"response_started", "response_complete"}),
    "flow": frozenset({"read_paused", "pause_reading", "resume_reading"}),
}


class GuardedServer(Server):
    """uvicorn's server without its own signal handling."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Does nothing; uvicorn would raise the captured signals again after it has stopped."""
        yield


class Outgoing:
    """A transport that sends all writes of one loop iteration in one system call.

    It closes the connection if the client reads nothing of a response for too long.
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
        """Whether the transport is closed or closing."""
        return self._transport.is_closing()

    def write(self, data: bytes) -> None:
        """Queues data for the end of this loop iteration."""
        if not self._gathered:
            self._loop.call_soon(self.flush)
        self._gathered.append(data)
        self._gathered_bytes += len(data)
        if self._gathered_bytes > _MAX_GATHERED:
            self.flush()

    def flush(self) -> None:
        """Sends the queued data."""
        if not self._gathered:
            return
        if not self._transport.is_closing():
            self._transport.writelines(self._gathered)
            self._sent_bytes += self._gathered_bytes
            self._expect_reader()
        self._gathered = []
        self._gathered_bytes = 0

    def write_now(self, data: bytes) -> None:
        """Sends data without waiting for the end of the loop iteration."""
        self.flush()
        self._transport.write(data)
        self._sent_bytes += len(data)
        self._expect_reader()

    def is_drained(self) -> bool:
        """Whether all written data was passed to the system."""
        return not self._gathered and self._transport.get_write_buffer_size() == 0

    def close(self) -> None:
        """Sends the queued data, and closes the connection."""
        self.flush()
        self._transport.close()

    def forget(self) -> None:
        """Cancels the deadline, after the connection was closed."""
        if self._deadline is not None:
            self._deadline.cancel()

    def _expect_reader(self) -> None:
        waiting = self._transport.get_write_buffer_size()
        if waiting and self._deadline is None:
            self._taken_bytes = self._sent_bytes - waiting
            self._deadline = self._loop.call_later(self._taken_within_s, self._check_reader)

    def _check_reader(self) -> None:
        self._deadline = None
        waiting = self._transport.get_write_buffer_size()
        if waiting and self._sent_bytes - waiting == self._taken_bytes:
            _log.warning("a connection was closed: the client did not read the response")
            self._transport.abort()
        else:
            self._expect_reader()


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with deadlines for requests and readers, and limits on the request head.

    A request that is rejected here gets a problem document, does not reach the application, and
    its connection is closed. A connection beyond the limit is closed without a response.

    The server must call `sweep` about once a second to enforce the deadlines.

    Args:
        receive_within_s: see `comptroller.http.server.serve`.
        lane: gets requests first if the connection is idle.
        named: arguments of uvicorn's protocol.
    """

    transport: Outgoing  # type: ignore[assignment]

    def __init__(self, *, receive_within_s: float, lane: Lane | None, **named: Any) -> None:
        super().__init__(**named)
        self._receive_within_s = receive_within_s
        self._lane = lane
        self._deadline = inf  # of the request that is being received
        self._idle_until = inf  # the keep-alive deadline after an answer of the lane
        self._is_answer_awaited = False  # from the lane
        self._buffered = b""  # data received while an answer of the lane is awaited
        self._outcome: Outcome | None = None  # of the request in `receive_again`
        self._began = 0.0  # when that request was first received
        self._is_stopping = False
        self._is_message_begun = False
        self._is_in_head = True
        self._bytes_beside_body = 0
        self._field_bytes = 0
        self.url = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the deadline of the first request."""
        outgoing: Any = Outgoing(transport, self.loop, self._receive_within_s)
        super().connection_made(outgoing)
        if len(self.connections) > MAX_CONNECTIONS:
            _log.warning("a connection was refused: the limit is %d", MAX_CONNECTIONS)
            transport.close()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancels every deadline."""
        self._expect_nothing()
        self.transport.forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receives a piece of a request, from the lane's buffer or for the parser."""
        if self._lane is not None:
            if self._is_answer_awaited:
                return self._buffer(data)
            # uvloop also passes decrypted data on when it runs callbacks.
            may_share = self.scheme == "http"
            if self._is_free() and self._lane.take(self, data, may_share_snapshot=may_share):
                return None
        return self._receive(data)

    def _receive(self, data: bytes) -> None:
        self._bytes_beside_body += len(data)
        # With PIECEWISE each piece has its own deadline, until the request is answered.
        if not self._is_in_head and PIECEWISE in self.scope and not self.cycle.response_complete:
            self._expect()
        super().data_received(data)
        if self._bytes_beside_body > LARGEST_HEAD:
            self._reject_head()
        elif self._deadline == inf and self._is_idle():
            self._expect()  # after empty lines, which do not start a request

    def _is_free(self) -> bool:
        is_between = not self._is_message_begun and self._bytes_beside_body == 0
        return is_between and self._is_idle() and self.transport.is_drained()

    def on_message_begin(self) -> None:
        """Starts the deadline of a request, unless it started with the connection."""
        super().on_message_begin()
        self._is_message_begun = True
        self._field_bytes = 0
        if self._deadline == inf:
            self._expect()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Adds a header up to the limit; ignores trailers."""
        self._field_bytes += len(name) + len(value) + len(": \r\n")
        if self._is_in_head and len(self.headers) <= MAX_HEADERS:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Passes the request on, unless its head is too large or has no single Host."""
        self._is_in_head = False
        self._bytes_beside_body = 0
        if self.transport.is_closing():
            return
        hosts = sum(name == b"host" for name, _ in self.headers)
        if len(self.headers) > MAX_HEADERS or len(self.url) + self._field_bytes > LARGEST_HEAD:
            self._reject_head()
        elif hosts > 1 or (hosts == 0 and self.parser.get_http_version() != "1.0"):
            self._reject(400)
        else:
            super().on_headers_complete()
            if self._outcome is not None:
                scope = cast("dict[str, Any]", self.scope)
                scope[OUTCOME], scope[BEGAN] = self._outcome, self._began
                self._outcome = None

    def on_body(self, body: bytes) -> None:
        """Passes a piece of the body on, unless the head was rejected."""
        self._bytes_beside_body = 0
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Stops the deadline, because the request is complete."""
        self._expect_nothing()
        self._is_in_head = True
        self._is_message_begun = False
        self._bytes_beside_body = 0
        if not self.transport.is_closing():
            super().on_message_complete()

    def _is_idle(self) -> bool:
        is_answered = self.cycle is None or self.cycle.response_complete
        return self._is_in_head and is_answered and not self.transport.is_closing()

    def await_answer(self) -> None:
        """Buffers received data until the lane answers."""
        self._begin_answer()
        self._is_answer_awaited = True

    def answer(self, data: bytes) -> None:
        """Sends the lane's answer."""
        self._begin_answer()
        if self.transport.is_closing():
            return
        self.transport.write_now(data)
        self._idle_until = self.loop.time() + self.timeout_keep_alive
        self._continue()

    def receive_again(self, request: bytes, outcome: Outcome, began: float) -> None:
        """Passes a request with a known outcome to the application, which answers it."""
        self._begin_answer()
        if self.transport.is_closing():
            _log.warning("the response to a write was not sent: the connection was closed")
            return
        self._outcome, self._began = outcome, began
        self._receive(request)
        self._continue()

    def give_up(self) -> None:
        """Rejects a pending write, because the server stops."""
        if self._is_answer_awaited:
            self._reject(503)

    def _begin_answer(self) -> None:
        self._expect_nothing()
        self._unset_keepalive_if_required()
        self._is_answer_awaited = False

    def _buffer(self, data: bytes) -> None:
        self._buffered += data
        if len(self._buffered) > _MAX_BUFFERED:
            self.flow.pause_reading()

    def _continue(self) -> None:
        if self._is_stopping:
            self.shutdown()
        if self._buffered:
            buffered, self._buffered = self._buffered, b""
            self.flow.resume_reading()
            if not self.transport.is_closing():
                self.data_received(buffered)

    def shutdown(self) -> None:
        """Closes the connection, after a pending answer of the lane."""
        self._is_stopping = True
        if not self._is_answer_awaited:
            super().shutdown()

    def _expect(self) -> None:
        self._idle_until = inf
        self._deadline = self.loop.time() + self._receive_within_s

    def _expect_nothing(self) -> None:
        self._deadline = self._idle_until = inf

    def sweep(self, now: float) -> None:
        """Closes or rejects if a deadline has passed; `now` is a time of the loop."""
        if now >= self._deadline:
            self._overdue()
        elif now >= self._idle_until:
            self.transport.close()

    def _overdue(self) -> None:
        if self.flow.read_paused:  # the server delays the request, not the client
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
        # The error must not be written into or instead of another response.
        if not is_pending or not (self._is_in_head or cycle.response_started):
            is_parsed = self.url != b"" and not self._is_answer_awaited
            is_head = is_parsed and self.parser.get_method() == b"HEAD"
            self.transport.write(_refusal(status, reason, detail, is_head=is_head))
        self.transport.close()


def _refusal(status: int, reason: str, detail: str, *, is_head: bool) -> bytes:
    request_id = token_hex(16)
    code = "unavailable" if status == 503 else "invalid-request"
    body = problems.document(make(code, status, detail), request_id)
    fields = {
        "content-type": problems.CONTENT_TYPE.decode(),
        "content-length": len(body),
        "x-request-id": request_id,
        "connection": "close",
    }
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {it}" for name, it in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if is_head else body)
