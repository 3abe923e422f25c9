"""The fast path, which answers short requests of known callers by one call of the core."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import NamedTuple, Protocol

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE
from uvicorn.server import ServerState

from comptroller import _core, routes
from comptroller.errors import Error
from comptroller.http.app import (
    COMPRESSED_FROM,
    JSON,
    LARGE_BODY_HEADERS,
    REPLAY_HEADERS,
    App,
)
from comptroller.http.bearer import Bearer
from comptroller.http.exchange import Headers, head_of
from comptroller.http.log import Log
from comptroller.http.metrics import SECONDS
from comptroller.http.tokens import Verified
from comptroller.http.writes import LARGE_BODY, Outcome

_WATCH_EVERY_S = 0.4
_log = logging.getLogger(__name__)


class Connection(Protocol):
    """A connection whose requests the lane may answer."""

    def await_answer(self) -> None:
        """Buffers received data until the request is answered."""

    def answer(self, data: bytes) -> None:
        """Sends the response to the request."""

    def receive_again(self, request: bytes, outcome: Outcome, began: float) -> None:
        """Passes a request with a known outcome to the application, which answers it."""


class _Route(NamedTuple):
    """A route in the form of the core."""

    method: str
    path: str
    operation: str
    is_operators: bool
    envelope: str | None
    items_alias: str | None
    head: bytes
    log_line: bytes


class Lane:
    """Answers short requests of one server, and leaves all others to its application.

    The core parses the request, calls the operation, and writes the response, the log line and the
    counts. It uses the routes, headers and envelopes of the application, so both give equal
    responses, except for request id, date and duration.

    Args:
        app: the application.
        bearer: its authenticator, without a rate limit; the lane learns the tokens that it accepts.
        log: the log.
    """

    def __init__(self, app: App, bearer: Bearer, log: Log) -> None:
        self._store = app.store
        self._writes = app.writes
        self._bearer = bearer
        self._log = log
        self._mark: object = None
        self._is_iteration_ending = False
        self._server_state = ServerState()
        self._headers: Headers = ()
        self._lane = _core.Lane(
            [_route(app, log, row) for row in routes.ROWS],
            bounds_s=list(SECONDS),
            large_bytes=COMPRESSED_FROM,
            large_body_header=_lines(LARGE_BODY_HEADERS),
            replay_header=_lines(REPLAY_HEADERS),
        )
        app.metrics.add(self._counts)
        bearer.on_verified = self._admit

    def take(self, connection: Connection, data: bytes, *, may_share_snapshot: bool) -> bool:
        """Answers a request, now or later; returns False to leave it to the application.

        `may_share_snapshot`: the loop calls this only right after it polled, so that the requests
        that follow before `_end_iteration` had begun to arrive before this one.
        """
        if self._headers is not self._server_state.default_headers:  # replaced every second
            self._headers = self._server_state.default_headers
            self._lane.set_default_headers(_lines(self._headers))
        if len(data) > LARGE_BODY:  # the application parses it in a thread
            return False
        began = time.perf_counter()
        self._end_iteration_soon()
        try:
            answer = self._lane.read(self._store, data)
            if not may_share_snapshot:
                self._lane.end_reads()
            if answer is not None:
                self._answer(connection, data, answer, began)
                return True
            if data.startswith(b"GET"):
                return False
            writes = self._writes.current()
            ticket = self._lane.submit(self._store, writes.deferred, data)
        except Error:  # the store is closed; the application sends the error
            return False
        if ticket is None:
            return False
        connection.await_answer()
        writes.expect(
            ticket, lambda outcome: self._finish(connection, data, ticket, outcome, began)
        )
        return True

    def _finish(
        self, connection: Connection, request: bytes, ticket: int, outcome: Outcome, began: float
    ) -> None:
        # Reads that follow the write on its connection must see it. The loop may receive more
        # requests before _end_iteration runs: they must not share a snapshot begun here.
        self._lane.end_reads()
        if isinstance(outcome, Error):
            self._lane.discard(ticket)
            connection.receive_again(request, outcome, began)
        else:
            self._end_iteration_soon()
            self._answer(connection, request, self._lane.finish(ticket, *outcome), began)
        self._lane.end_reads()

    def _answer(
        self,
        connection: Connection,
        request: bytes,
        answer: bytes | tuple[bytes, bool],
        began: float,
    ) -> None:
        if isinstance(answer, bytes):
            connection.answer(answer)
        else:
            connection.receive_again(request, answer, began)

    def begin(self, server_state: ServerState) -> None:
        """Sets the server whose default headers the responses have."""
        self._server_state = server_state

    def forget(self) -> None:
        """Forgets all callers, until the application accepts their tokens again."""
        self._lane.forget()
        self._mark = None

    async def watch(self) -> None:
        """Forgets all callers whenever a key or a client changes. Runs until it is cancelled."""
        while True:
            try:
                mark = await self._bearer.verifier.mark()
            except Exception as error:
                if not isinstance(error, Error):  # continue even after a defect
                    _log.exception("the keys and clients could not be watched")
                mark = None
            if mark is None or mark != self._mark:
                self.forget()
                self._mark = mark
            await asyncio.sleep(_WATCH_EVERY_S)

    def _admit(self, token: bytes, verified: Verified) -> None:
        if verified.mark != self._mark:  # one of the two is outdated
            return self.forget()
        caller = verified.caller
        self._lane.admit(
            token,
            caller.principal,
            msgspec.json.encode(caller.client_id),
            msgspec.json.encode(caller.customer),
            verified.until,
        )
        return None

    def _end_iteration_soon(self) -> None:
        """Ends the shared snapshot and writes the log lines when this loop iteration ends."""
        if not self._is_iteration_ending:
            self._is_iteration_ending = True
            asyncio.get_running_loop().call_soon(self._end_iteration)

    def _end_iteration(self) -> None:
        self._is_iteration_ending = False
        self._lane.end_reads()
        lines = self._lane.take_log()
        if lines:
            self._log.write(lines)

    def _counts(self) -> list[tuple[str, str, list[int], float]]:
        return [
            (row.path, row.method, by_duration, seconds)
            for row, (by_duration, seconds) in zip(routes.ROWS, self._lane.counts(), strict=True)
        ]


def _route(app: App, log: Log, row: routes.Row) -> _Route:
    items_alias, extra = app.extras(row)
    return _Route(
        row.method,
        row.path,
        row.operation,
        row.is_operators,
        row.envelope,
        items_alias,
        _head(extra),
        _log_line(log, row),
    )


def _head(extra: Headers) -> bytes:
    """Returns the template of a response head with status 200, in the form of uvicorn."""
    headers = head_of(JSON, _slot("request_id"), [(b"content-length", _slot("length"))])
    return b"".join(
        [
            STATUS_LINE[200],
            _slot("default_headers"),
            _lines(headers),
            _slot("replay_header"),
            _lines(extra),
            _slot("large_body_header"),
            b"\r\n",
        ]
    )


def _slot(name: str) -> bytes:
    """Returns a placeholder in a template of the core."""
    return b"\0%b\0" % name.encode()


def _lines(headers: Headers) -> bytes:
    return b"".join(b"%b: %b\r\n" % header for header in headers)


def _log_line(log: Log, row: routes.Row) -> bytes:
    """Returns the template of the log line of a response with status 200."""
    slots = {
        b'"<time>"': b'"%b"' % _slot("time"),
        b'"<request_id>"': b'"%b"' % _slot("request_id"),
        b'"<client_id>"': _slot("client"),
        b'"<customer>"': _slot("customer"),
        b"-1.0": _slot("duration"),
    }
    line = log.line(
        time="<time>",
        request_id="<request_id>",
        client_id="<client_id>",
        customer="<customer>",
        operation=row.operation,
        method=row.method,
        route=row.path,
        status=200,
        milliseconds=-1.0,
    )
    for text, slot in slots.items():
        line = line.replace(text, slot)
    return line
