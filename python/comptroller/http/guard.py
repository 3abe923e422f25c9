"""uvicorn's protocol with limits for slow, oversized and ambiguous requests and slow readers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from secrets import token_hex
from typing import TYPE_CHECKING, Any, cast

import httptools
from uvicorn import Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from comptroller.errors import make
from comptroller.http import problems
from comptroller.http.exchange import BEGAN, OUTCOME, PIECEWISE, STOPPING
from comptroller.http.outgoing import Outgoing
from comptroller.routes import METHOD_OVERRIDE

if TYPE_CHECKING:
    from comptroller.http.lane import Lane
    from comptroller.http.writes import Outcome

LARGEST_HEAD = 16 << 10  # bytes of the request line and all headers, or of trailers
MAX_HEADERS = 64
MAX_CONNECTIONS = 1000

_MAX_BUFFERED = 16 << 10  # bytes received after a request that is not answered yet
_HEAD_END = b"\r\n\r\n"
_LONG = (
    f"the head of the request is too long; at most {LARGEST_HEAD:,} bytes and {MAX_HEADERS} fields;"
    f" send long filters as a form, by POST with {METHOD_OVERRIDE}: GET"
)
_REASONS = {
    400: ("Bad Request", "Host is missing or repeated; send it exactly once"),
    408: ("Request Timeout", "the request did not arrive in time"),
    414: ("URI Too Long", _LONG),
    431: ("Request Header Fields Too Large", _LONG),
    501: ("Not Implemented", "Transfer-Encoding must be chunked; send other codings not at all"),
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
        | {"on_response_complete"}
    ),
    "cycle": frozenset({"response_started", "response_complete", "keep_alive"}),
    "flow": frozenset({"read_paused", "pause_reading", "resume_reading"}),
}


class GuardedServer(Server):
    """uvicorn's server without its own signal handling."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Does nothing; uvicorn would raise the captured signals again after it has stopped."""
        yield


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
        self._buffered = bytearray()  # data received while a request is answered
        self._keeps_alive = False  # whether the request permits another one after it
        self._outcome: Outcome | None = None  # of the request in `receive_again`
        self._began = 0.0  # when that request was first received
        self._is_stopping = False
        self._has_ended = False  # the client sends no more
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
        """Receives data; requests are answered one at a time, so that only bytes wait."""
        if not (self._buffered or self._is_answer_awaited) and self._offer(data):
            return
        if self.transport.is_closing():
            self.transport.discard(data)
        elif self._is_answering():
            self._buffer(data)
        else:
            self._receive(data)

    def _offer(self, data: bytes) -> bool:
        """Offers data to the lane; returns whether it answers."""
        if self._lane is None or not self._is_free():
            return False
        # uvloop also passes decrypted data on when it runs callbacks.
        return self._lane.take(self, data, may_share_snapshot=self.scheme == "http")

    def _receive(self, data: bytes) -> None:
        """Parses data up to the end of the next request head, and the rest later or in turn."""
        end = data.find(_HEAD_END) + len(_HEAD_END)
        if end in (len(data), len(_HEAD_END) - 1):
            self._parse(data)
        else:
            self._buffered += data
            self._receive_buffered()

    def _receive_buffered(self) -> None:
        """Parses the buffered data until a complete request must be answered."""
        buffered = self._buffered
        while buffered and not self._is_answering() and not self.transport.is_closing():
            found = buffered.find(_HEAD_END)
            end = len(buffered) if found < 0 else found + len(_HEAD_END)
            piece = bytes(buffered[:end])
            del buffered[: self._parse(piece)]
        if self.transport.is_closing():
            buffered.clear()
        elif len(buffered) > _MAX_BUFFERED:
            self.flow.pause_reading()

    def _parse(self, data: bytes) -> int:
        """Parses data, at most one request head; returns the number of parsed bytes."""
        self._bytes_beside_body += len(data)
        # With PIECEWISE each piece has its own deadline, until the request is answered.
        if not self._is_in_head and PIECEWISE in self.scope and not self.cycle.response_complete:
            self._expect()
        parsed = len(data)
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:  # which is ignored (RFC 9110 section 7.8)
            parsed = upgrade.args[0] or parsed
        except httptools.HttpParserError as error:
            self._reject(400, _malformed(error))
        if self._bytes_beside_body > LARGEST_HEAD:
            self._reject_head()
        elif self._deadline == inf and self._is_idle():
            self._expect()  # after empty lines, which do not start a request
        return parsed

    def _is_free(self) -> bool:
        is_between = not self._is_message_begun and self._bytes_beside_body == 0
        return is_between and self._is_idle() and self.transport.is_drained()

    def on_message_begin(self) -> None:
        """Starts the deadline of a request, unless it started with the connection."""
        super().on_message_begin()
        self._is_message_begun = True
        self.transport.is_receiving = not self._is_stopping
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
        elif not self._is_coding_known():
            self._reject(501)
        else:
            super().on_headers_complete()
            # A response that starts before the end of the body announces that it is the last.
            self._keeps_alive, self.cycle.keep_alive = self.cycle.keep_alive, False
            if self._outcome is not None:
                scope = cast("dict[str, Any]", self.scope)
                scope[OUTCOME], scope[BEGAN] = self._outcome, self._began
                self._outcome = None

    def _is_coding_known(self) -> bool:
        """Whether the body has no coding but chunked (RFC 9112 section 6.1)."""
        codings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
        # llhttp refuses a body whose last coding is another one.
        return codings in ([], [b"chunked"]) or not codings[-1].endswith(b"chunked")

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
        self.transport.is_receiving = False
        if not self.transport.is_closing():
            if not self.cycle.response_started:
                self.cycle.keep_alive = self._keeps_alive and not self._is_stopping
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Continues with the next request of the connection."""
        super().on_response_complete()
        self._receive_buffered()
        self._close_if_ended()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keeps a connection open until its complete requests are answered; not over TLS."""
        self._has_ended = True
        self.transport.flush()  # a response that is complete
        return self._is_answering() and self.scheme == "http"

    def _close_if_ended(self) -> None:
        if self._has_ended and not self._is_answering():
            self.transport.end()

    def _is_answering(self) -> bool:
        """Whether a complete request is not answered yet."""
        if self._is_answer_awaited:
            return True
        return self._is_in_head and self.cycle is not None and not self.cycle.response_complete

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
        if self._buffered and not self._is_answering() and not self.transport.is_closing():
            buffered = bytes(self._buffered)
            self._buffered.clear()
            self.flow.resume_reading()
            if not self._offer(buffered):
                self._receive(buffered)
        self._close_if_ended()

    def shutdown(self) -> None:
        """Closes the connection, after a pending answer of the lane."""
        self._is_stopping = True
        self.transport.is_receiving = False
        if self.transport.is_lingering:
            self.transport.end()
        elif not self._is_answer_awaited:
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
        # The server delays the request, not the client.
        if self.flow.read_paused or self._is_answering():
            self._expect()
        else:
            self._reject(408)

    def _reject_head(self) -> None:
        self._reject(414 if len(self.url) > self._field_bytes else 431)

    def _reject(self, status: int, why: str = "") -> None:
        self._expect_nothing()
        if self.transport.is_closing():
            return
        reason, detail = _REASONS[status]
        detail = why or detail
        _log.warning("a request was refused: %d %s: %s", status, reason, detail)
        cycle = self.cycle
        is_pending = cycle is not None and not cycle.response_complete
        # The error must not be written into or instead of another response.
        if not is_pending or not (self._is_in_head or cycle.response_started):
            is_parsed = self.url != b"" and not self._is_answer_awaited
            is_head = is_parsed and self.parser.get_method() == b"HEAD"
            self.transport.write(_refusal(status, reason, detail, is_head=is_head))
        if status in (408, 503):
            self.transport.end()
        else:
            self.transport.close()


def _malformed(error: httptools.HttpParserError) -> str:
    is_ours = isinstance(error, httptools.HttpParserCallbackError)
    return f"malformed HTTP: {'the target is not a URL' if is_ours else error}"


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
