"""A connection to a client: HTTP/1.1 by llhttp, with limits, deadlines and an orderly end."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Mapping
from math import inf
from secrets import token_hex
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import httptools

from comptroller._core import collect_fields, find_head_end
from comptroller.http.exchange import PIECEWISE, STOPPING_DURING_WRITE, lines_of
from comptroller.http.server import forwarding
from comptroller.http.server.asgi import AsgiCall
from comptroller.http.server.outgoing import Outgoing
from comptroller.http.server.refusals import STATUS_LINES, malformed, refusal
from comptroller.http.server.request import (
    LARGEST_HEAD,
    TOO_LONG,
    Request,
    long_head,
)

if TYPE_CHECKING:
    from comptroller.http.server.server import Server

MAX_CONNECTIONS = 1000
#: How long a connection may be idle between two requests, in seconds.
IDLE_S = 5.0
#: The time limit after a signal for the client to read part of a response, in seconds.
READ_WITHIN_S = 3

_MAX_BUFFERED = 16 << 10  # bytes received after a request that is not answered yet
_HEAD_END = b"\r\n\r\n"
# Headers, and options of Connection, that ask for another protocol.
_UPGRADING = frozenset({b"upgrade", b"http2-settings"})
_log = logging.getLogger(__name__)


class _Rejection(NamedTuple):
    status: int
    detail: str
    is_head: bool


class Connection(asyncio.Protocol):
    """Receives the requests of a client, and sends their responses in order, one at a time.

    A request that is rejected here gets a problem document after the responses to the requests
    before it, reaches neither the core nor the application, and its connection is closed. A
    connection beyond the limit is closed without a response. While a request is answered or the
    client does not read, at most 16 KiB wait; then nothing more is received.

    The server must call `sweep` about once a second to enforce the deadlines.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self._loop = server.loop
        self._answer = server.answer
        self.on_header, self._take_fields = collect_fields()  # headers and trailers
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
        self._has_rejected = False  # a request, after which nothing is parsed
        self._rejection: _Rejection | None = None  # to send after the pending responses
        self._is_reading_paused = False
        self._drained: asyncio.Future[None] | None = None  # while the client has to read
        self._is_stopping = False
        self._has_ended = False  # the client sends no more
        self._bytes_beside_body = 0

    # -- callbacks of the transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the deadline of the first request, unless the server is stopping."""
        self.out = Outgoing(transport, self._loop, self.server.receive_within_s)
        self.is_secure = transport.get_extra_info("sslcontext") is not None
        self.peer = forwarding.plain(transport.get_extra_info("peername"))
        connections = self.server.connections
        connections.add(self)
        if len(connections) > MAX_CONNECTIONS:
            _log.warning("a connection was refused: the limit is %d", MAX_CONNECTIONS)
            self.out.close()
        self._expect()
        if self.server.is_stopping:  # it was accepted after `Server.stop`
            self.stop()

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
            end = find_head_end(data)
            if end in (len(data), -1):  # at most one request head, and no more
                parsed = self._parse(data)
                if parsed == len(data):
                    return None
                data = data[parsed:]
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

    def _is_over(self) -> bool:
        """Whether no request is received any more."""
        return self._has_rejected or self.out.is_closing

    def _receive_buffered(self) -> None:
        """Parses the buffered data until a complete request must be answered."""
        buffered = self._buffered
        while buffered and not self._is_busy() and not self._is_over():
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
            self._reject(400, malformed(error))
        finally:
            self._is_parsing = False
        if self._bytes_beside_body > LARGEST_HEAD:
            target = self._request.target if self._request and self._is_in_head else b""
            field_bytes = self._take_fields()[2]
            self._reject(long_head(len(target), field_bytes), TOO_LONG)
        elif self._deadline == inf and (
            self._request is not None or (self._active is None and self._idle_until == inf)
        ):
            self._expect()  # the rest of a request; or empty lines, which do not start one
        return parsed

    def _ignore_upgrade(self) -> None:
        """Parses the head again without its upgrade (RFC 9110 section 7.8).

        llhttp takes what follows the head of an upgrade as another protocol, not as its body.
        """
        request = self._request
        if request is None or self._is_over():
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
            self._reject(400, malformed(error))

    def on_message_begin(self) -> None:
        """Starts a request."""
        self._request = request = Request()
        request.began = perf_counter()
        self.out.is_receiving = not self._is_stopping

    def on_url(self, url: bytes) -> None:
        """Adds a piece of the target."""
        assert self._request
        self._request.target += url

    def on_headers_complete(self) -> None:
        """Passes a request on whose body may be long, unless its head is rejected."""
        self._is_in_head = False
        self._bytes_beside_body = 0
        request = self._request
        assert request
        if self._is_over():
            return None
        parser = self._parser
        request.method = parser.get_method()
        request.fields, count, field_bytes, hosts, request.has_body, is_asked = self._take_fields()
        is_kept = parser.should_keep_alive()
        # Only HTTP/1.1 keeps a connection that no header asks for. The parser formats the version.
        request.version = "1.1" if is_kept and not is_asked else parser.get_http_version()
        fault = request.fault(count, field_bytes, hosts)
        if fault is not None:
            return self._reject(*fault)
        if parser.should_upgrade():
            self._is_upgrade = True
            return None
        request.keep_alive = request.version != "1.0" and is_kept
        request.require_url()
        if request.has_body and not self.server.waits_for_body(request):
            self._begin(request)
        return None

    def on_body(self, body: bytes) -> None:
        """Passes a piece of the body on, or keeps it until the body is complete."""
        self._bytes_beside_body = 0
        if self._is_over():
            return
        request = self._request
        assert request
        if request is self._active and self._call is not None:
            self._call.feed(body)
        else:
            request.body += body

    def on_message_complete(self) -> None:
        """Passes the request on, unless that was done when its head was complete."""
        if self._is_upgrade or self._is_over():
            return None
        request = self._request
        assert request
        if request.has_body:  # it may have trailers, which are ignored
            field_bytes = self._take_fields()[2]
            if field_bytes > LARGEST_HEAD:
                return self._reject(431, TOO_LONG)
        self._request = None
        self._deadline = self._idle_until = inf
        self._is_in_head = True
        self._bytes_beside_body = 0
        self.out.is_receiving = False
        request.is_complete = True
        if self._waiting and request in self._waiting:
            return None
        if request is not self._active:
            self._begin(request)
        elif self._call is not None:
            self._call.complete()
        return None

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
        self.out.write(b"%b%b%b\r\n" % (STATUS_LINES[status], self.server.date, lines))

    def keeps_alive(self, request: Request) -> bool:
        """Whether another request may follow; decided when the response begins.

        A response that starts before the end of the body announces that it is the last.
        """
        request.keep_alive &= request.is_complete and not self._is_stopping
        return request.keep_alive

    async def drain(self) -> None:
        """Returns when the client has read most of what was sent; other requests come first."""
        if self._drained is None:
            await asyncio.sleep(0)
        else:
            await asyncio.shield(self._drained)

    def end(self) -> None:
        """Ends a response, and continues with the next request of the connection."""
        request, self._active = self._active, None
        self._call = None
        if request is None or self.out.is_closing:
            return None
        if self._rejection is not None and not self._waiting:
            return self._refuse(self._rejection)
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
        """Closes the connection, after the response to the active request.

        The client must then read part of the response every READ_WITHIN_S seconds.
        """
        self._is_stopping = True
        self.out.expect_reader(READ_WITHIN_S)
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
        """Answers a write that the core executes, without its outcome: the server stops.

        The application answers all other pending requests.
        """
        if self._active is not None and self._call is None:
            self._active = None
            self._refuse(_Rejection(504, STOPPING_DURING_WRITE, is_head=False))

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
                self._reject(408, "the request did not arrive in time")
        elif now >= self._idle_until:
            if self._is_busy():  # with a request that waited, or the client has to read
                self._idle_until = now + IDLE_S
            else:
                self.out.close()

    def _reject(self, status: int, detail: str) -> None:
        """Rejects the request that is being received, and parses no more."""
        self._expect_nothing()
        if self._is_over():
            return
        self._has_rejected = True
        request = self._request
        is_parsed = request is not None and request.target != b""
        is_head = is_parsed and self._parser.get_method() == b"HEAD"
        rejection = _Rejection(status, detail, is_head)
        if self._waiting and self._waiting[-1] is request:
            self._waiting.pop()
        before = self._waiting[-1] if self._waiting else self._active
        if before is None or before is request:
            self._refuse(rejection)
        elif before.keep_alive:
            before.keep_alive = False
            # A client that was told that the connection stays open would take the rejection for
            # its next response.
            if not before.is_announced:
                self._rejection = rejection

    def _refuse(self, rejection: _Rejection) -> None:
        """Sends the response to a rejected request, and closes the connection."""
        self._expect_nothing()
        if self.out.is_closing:
            return
        status, detail, is_head = rejection
        # It must not be written into the response to the same request.
        if self._call is not None and self._call.has_started:
            _log.warning("a connection was closed during a response: %s", detail)
        else:
            request_id = token_hex(16)
            self.server.count_refusal(status)
            _log.warning("request %s was answered with %d: %s", request_id, status, detail)
            head, body = refusal(status, detail, request_id, self.server.date)
            self.out.write(head if is_head else head + body)
        if status in (408, 504):
            self.out.end()
        else:
            self.out.close()
