"""A connection to a client: HTTP/1.1 by llhttp, with limits, deadlines and an orderly end."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from math import inf
from secrets import token_hex
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING

import httptools

from comptroller.errors import make
from comptroller.http import problems
from comptroller.http.asgi import AsgiCall
from comptroller.http.exchange import PIECEWISE, STOPPING, lines_of
from comptroller.http.outgoing import Outgoing
from comptroller.routes import METHOD_OVERRIDE

if TYPE_CHECKING:
    from comptroller.http.server import Server

LARGEST_HEAD = 16 << 10  # bytes of the request line and all headers, or of trailers
MAX_HEADERS = 64
MAX_CONNECTIONS = 1000
#: How long a connection may be idle between two requests, in seconds.
IDLE_S = 5.0

_MAX_BUFFERED = 16 << 10  # bytes received after a request that is not answered yet
_HEAD_END = b"\r\n\r\n"
_LONG = (
    f"the head of the request is too long; at most {LARGEST_HEAD:,} bytes and {MAX_HEADERS} fields;"
    f" send long filters as a form, by POST with {METHOD_OVERRIDE}: GET"
)
_DETAILS = {
    400: "Host is missing or repeated; send it exactly once",
    408: "the request did not arrive in time",
    414: _LONG,
    431: _LONG,
    501: "Transfer-Encoding must be chunked; send other codings not at all",
    503: STOPPING,
    505: "send HTTP/1.1",
}
_REASONS = {
    **{each.value: each.phrase for each in HTTPStatus},
    413: "Content Too Large",
    414: "URI Too Long",
    422: "Unprocessable Content",
}
_STATUS_LINES = {
    status: f"HTTP/1.1 {status} {reason}\r\n".encode() for status, reason in _REASONS.items()
}
# Headers, and options of Connection, that ask for another protocol.
_UPGRADING = frozenset({b"upgrade", b"http2-settings"})
# Headers of a request with a body, or that expects an answer before it.
_OF_BODY = frozenset({b"content-length", b"transfer-encoding", b"expect"})
_log = logging.getLogger(__name__)


class Request:
    """A request as it was received.

    Attributes:
        began: when its head began, by `time.perf_counter`.
        target: percent-encoded.
        headers: the names in lower case.
        hosts: the number of Host headers.
        has_body: whether its headers describe a body.
        body: what has arrived of the body, and was not passed on.
        is_complete: whether all of it has arrived.
        keep_alive: whether the connection may have further requests.
    """

    method = b""
    target = b""
    version = ""
    hosts = 0
    has_body = False
    body = b""
    is_complete = False
    keep_alive = False

    def __init__(self) -> None:
        self.began = perf_counter()
        self.headers: list[tuple[bytes, bytes]] = []

    def split_target(self) -> tuple[bytes, bytes]:
        """Returns the path and the query. Raises ValueError if the target is not a URL."""
        if not self.target.isascii() or b"#" in self.target:
            raise ValueError("the target is not a URL without a fragment")
        if self.target.startswith(b"/"):
            path, _, query = self.target.partition(b"?")
            return path, query
        url = httptools.parse_url(self.target)
        return url.path or b"/", url.query or b""


class Connection(asyncio.Protocol):
    """Receives the requests of a client, and sends their responses in order, one at a time.

    A request that is rejected here gets a problem document, reaches neither the core nor the
    application, and its connection is closed. A connection beyond the limit is closed without a
    response. While a request is answered or the client does not read, at most 16 KiB wait; then
    nothing more is received.

    The server must call `sweep` about once a second to enforce the deadlines.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self._loop = server.loop
        self._answer = server.answer
        self._parser = httptools.HttpRequestParser(self)
        self._request: Request | None = None  # being received
        self._active: Request | None = None  # being answered
        self._call: AsgiCall | None = None  # of the application, for the active request
        self._waiting: deque[Request] = deque()  # received behind it, in the same piece
        self._buffered = bytearray()  # received behind it, and not parsed
        self._deadline = inf  # of the request that is being received
        self._idle_until = inf
        self._is_parsing = False
        self._is_in_head = True
        self._is_upgrade = False  # the head is parsed again without it
        self._is_reading_paused = False
        self._drained: asyncio.Future[None] | None = None  # while the client has to read
        self._is_stopping = False
        self._has_ended = False  # the client sends no more
        self._bytes_beside_body = 0
        self._field_bytes = 0

    # -- callbacks of the transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the deadline of the first request."""
        self.out = Outgoing(transport, self._loop, self.server.receive_within_s)
        self.is_secure = transport.get_extra_info("sslcontext") is not None
        self.peer: tuple[str, int] | None = transport.get_extra_info("peername")
        connections = self.server.connections
        connections.add(self)
        if len(connections) > MAX_CONNECTIONS:
            _log.warning("a connection was refused: the limit is %d", MAX_CONNECTIONS)
            self.out.close()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancels every deadline, and tells the application."""
        self.server.connections.discard(self)
        self._expect_nothing()
        self.out.forget()
        self._active = None
        self._waiting.clear()
        self.resume_writing()
        if self._call is not None:
            self._call.disconnect()

    def pause_writing(self) -> None:
        """Holds back further responses until the client has read."""
        self._drained = self._loop.create_future()

    def resume_writing(self) -> None:
        """Continues when the client has read."""
        drained, self._drained = self._drained, None
        if drained is not None:
            drained.set_result(None)
            self._continue()

    def data_received(self, data: bytes) -> None:
        """Receives data; requests are answered one at a time, so that only bytes wait."""
        if self.out.is_closing:
            return self.out.discard(data)
        if not self._buffered and not self._is_busy():
            end = data.find(_HEAD_END) + len(_HEAD_END)
            if end in (len(data), len(_HEAD_END) - 1):  # at most one request head, and no more
                data = data[self._parse(data) :]
                if not data:
                    return None
        self._buffered += data
        return self._receive_buffered()

    def eof_received(self) -> bool:
        """Keeps a connection open until its complete requests are answered; not over TLS."""
        self._has_ended = True
        self.out.flush()  # a response that is complete
        return self._is_busy() and not self.is_secure

    # -- receiving

    def _is_busy(self) -> bool:
        """Whether what follows must wait, for an answer or for the client to read."""
        if self._drained is not None or self._waiting:
            return True
        return self._active is not None and self._active.is_complete

    def _receive_buffered(self) -> None:
        """Parses the buffered data until a complete request must be answered."""
        buffered = self._buffered
        while buffered and not self._is_busy() and not self.out.is_closing:
            found = buffered.find(_HEAD_END)
            end = len(buffered) if found < 0 else found + len(_HEAD_END)
            piece = bytes(buffered[:end])
            del buffered[: self._parse(piece)]
        if self.out.is_closing:
            buffered.clear()
        self.update_reading()

    def _parse(self, data: bytes) -> int:
        """Parses data, at most one request head; returns the number of parsed bytes."""
        self._bytes_beside_body += len(data)
        # With PIECEWISE each piece has its own deadline, until the request is answered.
        if self._call is not None and PIECEWISE in self._call.scope and not self._is_in_head:
            self._expect()
        parsed = len(data)
        self._idle_until = inf
        self._is_parsing = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            parsed = upgrade.args[0] or parsed
            self._ignore_upgrade()
        except httptools.HttpParserError as error:
            self._reject(400, _malformed(error))
        finally:
            self._is_parsing = False
        if self._bytes_beside_body > LARGEST_HEAD:
            self._reject_head()
        elif self._deadline == inf and self._active is None and self._idle_until == inf:
            self._expect()  # after empty lines, which do not start a request
        return parsed

    def _ignore_upgrade(self) -> None:
        """Parses the head again without its upgrade (RFC 9110 section 7.8).

        llhttp takes what follows the head of an upgrade as another protocol, not as its body.
        """
        request = self._request
        if request is None or self.out.is_closing:
            return
        kept = []
        for name, value in request.headers:
            options = [each.strip() for each in value.split(b",")]
            if name == b"connection":
                value = b", ".join(each for each in options if each.lower() not in _UPGRADING)
            if name not in _UPGRADING and (value or name != b"connection"):
                kept.append((name, value))
        line = b"%b %b HTTP/%b\r\n" % (request.method, request.target, request.version.encode())
        self._is_upgrade = False
        self._is_in_head = True
        self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(line + lines_of(kept) + b"\r\n")
        except httptools.HttpParserError as error:
            self._reject(400, _malformed(error))

    def on_message_begin(self) -> None:
        """Starts the deadline of a request, unless it started with the connection."""
        self._request = Request()
        self._field_bytes = 0
        self.out.is_receiving = not self._is_stopping
        if self._deadline == inf:
            self._expect()

    def on_url(self, url: bytes) -> None:
        """Adds a piece of the target."""
        assert self._request
        self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Adds a header up to the limit; ignores trailers."""
        self._field_bytes += len(name) + len(value) + len(": \r\n")
        request = self._request
        if request is None or not self._is_in_head or len(request.headers) > MAX_HEADERS:
            return
        name = name.lower()
        request.headers.append((name, value.strip(b" \t")))
        if name == b"host":
            request.hosts += 1
        elif name in _OF_BODY:
            request.has_body = True

    def on_headers_complete(self) -> None:
        """Passes a request on whose body may be long, unless its head is rejected."""
        self._is_in_head = False
        self._bytes_beside_body = 0
        request = self._request
        assert request
        if self.out.is_closing:
            return None
        headers = request.headers
        request.version = self._parser.get_http_version()
        if len(headers) > MAX_HEADERS or len(request.target) + self._field_bytes > LARGEST_HEAD:
            return self._reject_head()
        if request.version not in ("1.0", "1.1"):
            return self._reject(505)
        if request.hosts != 1 and (request.hosts > 1 or request.version != "1.0"):
            return self._reject(400)
        if request.has_body and not _is_coding_known(headers):
            return self._reject(501)
        request.method = self._parser.get_method()
        if request.method == b"CONNECT":
            return self._reject(400, "this is not a proxy; CONNECT is not accepted")
        if self._parser.should_upgrade():
            self._is_upgrade = True
            return None
        request.keep_alive = request.version != "1.0" and self._parser.should_keep_alive()
        request.split_target()
        if request.has_body and not self.server.waits_for_body(request):
            self._begin(request)
        return None

    def on_body(self, body: bytes) -> None:
        """Passes a piece of the body on, or keeps it until the body is complete."""
        self._bytes_beside_body = 0
        if self.out.is_closing:
            return
        request = self._request
        assert request
        if request is self._active and self._call is not None:
            self._call.feed(body)
        else:
            request.body += body

    def on_message_complete(self) -> None:
        """Passes the request on, unless that was done when its head was complete."""
        if self._is_upgrade:
            return
        self._expect_nothing()
        self._is_in_head = True
        self._bytes_beside_body = 0
        self.out.is_receiving = False
        request, self._request = self._request, None
        assert request
        request.is_complete = True
        if self.out.is_closing or request in self._waiting:
            return
        if request is not self._active:
            self._begin(request)
        elif self._call is not None:
            self._call.complete()

    def update_reading(self) -> None:
        """Receives nothing more while too much waits."""
        is_full = len(self._buffered) > _MAX_BUFFERED or (
            self._call is not None and self._call.is_full
        )
        if is_full != self._is_reading_paused and not self.out.is_closing:
            self._is_reading_paused = is_full
            if is_full:
                self.out.pause_reading()
            else:
                self.out.resume_reading()

    # -- answering

    def _begin(self, request: Request) -> None:
        if self._active is not None or self._drained is not None:
            self._waiting.append(request)
            return
        self._active = request
        if request.is_complete:
            self._answer(self, request)
        else:
            self.pass_on(request)

    def pass_on(self, request: Request, more: Mapping[str, object] = MappingProxyType({})) -> None:
        """Passes a request to the application; `more` are members of its scope."""
        self._call = AsgiCall(self, request, {**self.server.scope(self, request), **more})
        self.server.run(self._call)

    def is_answering(self, request: Request) -> bool:
        """Whether the response to a request can still be sent."""
        return self._active is request and not self.out.is_closing

    def respond(self, response: bytes) -> None:
        """Sends a complete response."""
        self.out.write_now(response)
        self.end()

    def start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Sends the head of a response."""
        lines = lines_of(headers)
        self.out.write(b"%b%b%b\r\n" % (_STATUS_LINES[status], self.server.date, lines))

    def keeps_alive(self, request: Request) -> bool:
        """Whether another request may follow; decided when the response begins.

        A response that starts before the end of the body announces that it is the last.
        """
        request.keep_alive &= request.is_complete and not self._is_stopping
        return request.keep_alive

    async def drain(self) -> None:
        """Returns when the client has read most of what was sent."""
        if self._drained is not None:
            await asyncio.shield(self._drained)

    def end(self) -> None:
        """Ends a response, and continues with the next request of the connection."""
        request, self._active = self._active, None
        self._call = None
        if request is None or self.out.is_closing:
            return None
        if not request.keep_alive or self._is_stopping:
            self.out.is_receiving |= len(self._buffered) > 0  # what is not read would reset it
            return self.out.close()
        if self._request is None:
            self._idle_until = self._loop.time() + IDLE_S
        if not self._is_parsing:
            self._continue()
        return None

    def _continue(self) -> None:
        while self._waiting and self._active is None and self._drained is None:
            self._begin(self._waiting.popleft())
        if self._buffered:
            self._receive_buffered()
        self.update_reading()
        if self._has_ended and not self._is_busy():
            self.out.end()

    # -- the end of requests and connections

    def stop(self) -> None:
        """Closes the connection, after the response to the active request."""
        self._is_stopping = True
        self.out.is_receiving = False
        if self.out.is_lingering:
            self.out.end()
        elif self._active is None:
            self.out.close()

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to send; the client may still have to confirm the end."""
        return self.out.is_closing and not self.out.is_lingering and self.out.is_drained()

    def give_up(self) -> None:
        """Rejects a pending request, because the server stops."""
        if self._active is not None and self._call is None:
            self._active = None
            self._reject(503)

    def _expect(self) -> None:
        self._idle_until = inf
        self._deadline = self._loop.time() + self.server.receive_within_s

    def _expect_nothing(self) -> None:
        self._deadline = self._idle_until = inf

    def sweep(self, now: float) -> None:
        """Closes or rejects if a deadline has passed; `now` is a time of the loop."""
        if now >= self._deadline:
            if self._is_reading_paused or self._is_busy():
                self._expect()  # the server delays the request, not the client
            else:
                self._reject(408)
        elif now >= self._idle_until:
            self.out.close()

    def _reject_head(self) -> None:
        target = b"" if self._request is None else self._request.target
        self._reject(414 if len(target) > self._field_bytes else 431)

    def _reject(self, status: int, why: str = "") -> None:
        self._expect_nothing()
        if self.out.is_closing:
            return
        detail = why or _DETAILS[status]
        _log.warning("a request was refused: %d %s: %s", status, _REASONS[status], detail)
        # The error must not be written into or instead of another response.
        is_free = self._active is None or (
            self._active is self._request and self._call is not None and not self._call.has_started
        )
        if is_free:
            is_parsed = self._request is not None and self._request.target != b""
            is_head = is_parsed and self._parser.get_method() == b"HEAD"
            self.out.write(self._refusal(status, detail, is_head=is_head))
        if status in (408, 503):
            self.out.end()
        else:
            self.out.close()

    def _refusal(self, status: int, detail: str, *, is_head: bool) -> bytes:
        request_id = token_hex(16)
        code = "unavailable" if status == 503 else "invalid-request"
        body = problems.document(make(code, status, detail), request_id)
        fields = (
            f"content-type: {problems.CONTENT_TYPE.decode()}\r\ncontent-length: {len(body)}\r\n"
            f"x-request-id: {request_id}\r\nconnection: close\r\n\r\n"
        )
        head = _STATUS_LINES[status] + self.server.date + fields.encode()
        return head + (b"" if is_head else body)


def _is_coding_known(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether the body has no coding but chunked (RFC 9112 section 6.1)."""
    codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    # llhttp refuses a body whose last coding is another one.
    return codings in ([], [b"chunked"]) or not codings[-1].endswith(b"chunked")


def _malformed(error: httptools.HttpParserError) -> str:
    is_ours = isinstance(error, httptools.HttpParserCallbackError)
    return f"malformed HTTP: {'the target is not a URL' if is_ours else error}"
