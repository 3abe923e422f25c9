"""uvicorn's protocol, guarded against slow, oversized and ambiguous requests, and deaf readers."""

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

LARGEST_HEAD = 16 << 10  # bytes of the request line and all headers; of trailers too
MOST_HEADERS = 64
MOST_CONNECTIONS = 1000

_MOST_GATHERED = 64 << 10  # bytes
_MOST_KEPT = 16 << 10  # bytes behind a request whose answer is awaited
_LONG = (
    f"the request line and the fields may have {LARGEST_HEAD:,} bytes, and there may be"
    f" {MOST_HEADERS} fields; send long filters as a form, by POST with {METHOD_OVERRIDE}: GET"
)
_REASONS = {
    400: ("Bad Request", "Host must be given exactly once"),
    408: ("Request Timeout", "the request did not arrive whole in time"),
    414: ("URI Too Long", _LONG),
    431: ("Request Header Fields Too Large", _LONG),
    503: ("Service Unavailable", STOPPING),
}
_log = logging.getLogger(__name__)

#: What is used of uvicorn that it does not document. Its version is bounded for this.
UNDOCUMENTED: dict[str, frozenset[str]] = {
    "server": frozenset(
        {"capture_signals", "started", "should_exit", "force_exit", "config", "server_state"}
    ),
    "protocol": frozenset(
        {"connections", "cycle", "flow", "headers", "loop", "parser", "scope", "transport", "url"}
        | {"timeout_keep_alive", "_unset_keepalive_if_required"}
    ),
    "callbacks": frozenset(
        {"on_message_begin", "on_header", "on_headers_complete", "on_body", "on_message_complete"}
    ),
    "cycle": frozenset({"response_started", "response_complete"}),
    "flow": frozenset({"read_paused", "pause_reading", "resume_reading"}),
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

    def write_now(self, data: bytes) -> None:
        """Sends without waiting for the end of the turn."""
        self.flush()
        self._transport.write(data)
        self._sent_bytes += len(data)
        self._expect_reader()

    def is_drained(self) -> bool:
        """Whether the system has taken everything that was written."""
        return not self._gathered and self._transport.get_write_buffer_size() == 0

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

    Whoever serves calls `sweep` about once a second: a deadline is looked at then.

    Args:
        receive_within_s: see `comptroller.http.server.serve`.
        lane: is asked first, when nothing else is under way on the connection.
        named: uvicorn's.
    """

    transport: Outgoing  # type: ignore[assignment]

    def __init__(self, *, receive_within_s: float, lane: Lane | None, **named: Any) -> None:
        super().__init__(**named)
        self._receive_within_s = receive_within_s
        self._lane = lane
        self._deadline = inf  # of what is being received
        self._idle_until = inf  # since the lane answered
        self._is_answer_awaited = False  # from the lane
        self._kept = b""  # received meanwhile
        self._outcome: Outcome | None = None  # of the request that is received again
        self._began = 0.0  # when it was received first
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
        if self._lane is not None:
            if self._is_answer_awaited:
                return self._keep(data)
            if self._is_free() and self._lane.take(self, data):
                return None
        return self._receive(data)

    def _receive(self, data: bytes) -> None:
        self._bytes_beside_body += len(data)
        # What is answered already, such as what was refused, has no more time.
        if not self._is_in_head and PIECEWISE in self.scope and not self.cycle.response_complete:
            self._expect()
        super().data_received(data)
        if self._bytes_beside_body > LARGEST_HEAD:
            self._reject_head()
        elif self._deadline == inf and self._is_idle():
            self._expect()  # of line ends alone, which begin nothing

    def _is_free(self) -> bool:
        is_between = not self._is_message_begun and self._bytes_beside_body == 0
        return is_between and self._is_idle() and self.transport.is_drained()

    def on_message_begin(self) -> None:
        """Starts the deadline of a request, unless it runs since the connection began."""
        super().on_message_begin()
        self._is_message_begun = True
        self._field_bytes = 0
        if self._deadline == inf:
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
            if self._outcome is not None:
                scope = cast("dict[str, Any]", self.scope)
                scope[OUTCOME], scope[BEGAN] = self._outcome, self._began
                self._outcome = None

    def on_body(self, body: bytes) -> None:
        """Passes a piece of the body on; what follows a rejected head is ignored."""
        self._bytes_beside_body = 0
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Stops the deadline: the request has arrived whole."""
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
        """Receives nothing until the lane answers."""
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
        """Gives the application a request whose outcome is known, to answer it."""
        self._begin_answer()
        if self.transport.is_closing():
            _log.warning("the answer of a write was not sent: the connection was closed")
            return
        self._outcome, self._began = outcome, began
        self._receive(request)
        self._continue()

    def give_up(self) -> None:
        """Refuses the write whose answer is awaited, if any: the server ends."""
        if self._is_answer_awaited:
            self._reject(503)

    def _begin_answer(self) -> None:
        self._expect_nothing()
        self._unset_keepalive_if_required()
        self._is_answer_awaited = False

    def _keep(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > _MOST_KEPT:
            self.flow.pause_reading()

    def _continue(self) -> None:
        if self._is_stopping:
            self.shutdown()
        if self._kept:
            kept, self._kept = self._kept, b""
            self.flow.resume_reading()
            if not self.transport.is_closing():
                self.data_received(kept)

    def shutdown(self) -> None:
        """Closes the connection, after the answer that is awaited."""
        self._is_stopping = True
        if not self._is_answer_awaited:
            super().shutdown()

    def _expect(self) -> None:
        self._idle_until = inf
        self._deadline = self.loop.time() + self._receive_within_s

    def _expect_nothing(self) -> None:
        self._deadline = self._idle_until = inf

    def sweep(self, now: float) -> None:
        """Ends what is overdue, at a time of the loop."""
        if now >= self._deadline:
            self._overdue()
        elif now >= self._idle_until:
            self.transport.close()

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
