"""Short requests of known callers, answered by one call of the core."""

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
    JSON,
    LARGE_BODY_HEADERS,
    REPLAY_HEADERS,
    WORTH_PACKING,
    App,
)
from comptroller.http.bearer import Bearer
from comptroller.http.exchange import Headers, head_of
from comptroller.http.log import Log
from comptroller.http.metrics import SECONDS
from comptroller.http.tokens import Taken
from comptroller.http.writes import LARGE_BODY, Outcome

_WATCH_EVERY_S = 0.4
_log = logging.getLogger(__name__)


class Connection(Protocol):
    """A connection whose requests the lane may answer."""

    def await_answer(self) -> None:
        """Receives nothing until its request is answered."""

    def answer(self, data: bytes) -> None:
        """Sends the answer of its request."""

    def receive_again(self, request: bytes, outcome: Outcome, began: float) -> None:
        """Has the application answer a request whose outcome is known."""


class _Route(NamedTuple):
    """A route as the core takes it."""

    method: str
    path: str
    operation: str
    is_operators: bool
    envelope: str | None
    items_alias: str | None
    head: bytes
    log_line: bytes


class Lane:
    """Answers what it can of the requests of one server, and leaves the rest to its application.

    The core reads the request, calls the operation and writes the answer, the line of the log and
    the counts. It uses the routes, headers and envelopes of the application: their answers are
    equal but for request id, date and duration.

    Args:
        app: the application.
        bearer: its authenticator, without a rate. A token that it takes is known from then on.
        log: gets the lines.
    """

    def __init__(self, app: App, bearer: Bearer, log: Log) -> None:
        self._store = app.store
        self._writes = app.writes
        self._bearer = bearer
        self._log = log
        self._mark: object = None
        self._is_turn_ending = False
        self._server_state = ServerState()
        self._headers: Headers = ()
        self._lane = _core.Lane(
            [_route(app, log, row) for row in routes.ROWS],
            bounds_s=list(SECONDS),
            large_bytes=WORTH_PACKING,
            large_body_header=_lines(LARGE_BODY_HEADERS),
            replay_header=_lines(REPLAY_HEADERS),
        )
        app.metrics.add(self._counts)
        bearer.on_taken = self._admit

    def take(self, connection: Connection, data: bytes) -> bool:
        """Answers the bytes that a connection received, now or later; False: not its to answer."""
        if self._headers is not self._server_state.default_headers:  # renewed each second
            self._headers = self._server_state.default_headers
            self._lane.set_default_headers(_lines(self._headers))
        if len(data) > LARGE_BODY:  # the application reads it beside the event loop
            return False
        began = time.perf_counter()
        try:
            answer = self._lane.read(self._store, data)
            if answer is not None:
                self._end_turn_soon()
                self._answer(connection, data, answer, began)
                return True
            if data.startswith(b"GET"):
                return False
            writes = self._writes.current()
            ticket = self._lane.submit(self._store, writes.deferred, data)
        except Error:  # the store is closed: the application says so
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
        # A read that waits behind the write on its connection sees it. A turn may begin before the
        # reads of this callback end: the next ones begin a snapshot of their own.
        self._lane.end_reads()
        if isinstance(outcome, Error):
            self._lane.discard(ticket)
            connection.receive_again(request, outcome, began)
        else:
            self._end_turn_soon()
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
        """Uses the headers of a server for its answers."""
        self._server_state = server_state

    def forget(self) -> None:
        """Forgets all callers. They are known again once the application takes their tokens."""
        self._lane.forget()
        self._mark = None

    async def watch(self) -> None:
        """Forgets all callers when a key or a client changed; to be cancelled."""
        while True:
            try:
                mark = await self._bearer.verifier.mark()
            except Exception as error:
                if not isinstance(error, Error):  # a defect must not end the watch
                    _log.exception("the keys and clients could not be watched")
                mark = None
            if mark is None or mark != self._mark:
                self.forget()
                self._mark = mark
            await asyncio.sleep(_WATCH_EVERY_S)

    def _admit(self, token: bytes, taken: Taken) -> None:
        if taken.mark != self._mark:  # one of the two is not the present state
            return self.forget()
        caller = taken.caller
        self._lane.admit(
            token,
            caller.principal,
            msgspec.json.encode(caller.client_id),
            msgspec.json.encode(caller.customer),
            taken.until,
        )
        return None

    def _end_turn_soon(self) -> None:
        """Ends the reads of this turn of the loop before the next, and writes all log lines."""
        if not self._is_turn_ending:
            self._is_turn_ending = True
            asyncio.get_running_loop().call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._is_turn_ending = False
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
    """The head of an answer with status 200, as uvicorn writes it."""
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
    """A slot of a template of the core."""
    return b"\0%b\0" % name.encode()


def _lines(headers: Headers) -> bytes:
    return b"".join(b"%b: %b\r\n" % header for header in headers)


def _log_line(log: Log, row: routes.Row) -> bytes:
    """The line of an answer with status 200."""
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
