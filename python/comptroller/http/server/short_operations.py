"""Operations that the core answers from a parsed request, without the ASGI application."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from comptroller import _core, routes
from comptroller.errors import Error
from comptroller.http.app import COMPRESSED_FROM, App
from comptroller.http.exchange import CALLER, OUTCOME, RATED, lines_of
from comptroller.http.log import Log
from comptroller.http.metrics import SECONDS
from comptroller.http.oauth.tokens import Verified
from comptroller.http.writes import LARGE_BODY, Outcome

if TYPE_CHECKING:
    from comptroller.http.oauth.bearer import Bearer
    from comptroller.http.oauth.rate import Rate
    from comptroller.http.server.connection import Connection
    from comptroller.http.server.request import Request

_WATCH_EVERY_S = 0.4
_LOADS = b"/operator/load/"
_SCHEME = b"Bearer "
_log = logging.getLogger(__name__)


class _Route(NamedTuple):
    """A route in the form of the core."""

    method: str
    path: str
    operation: str
    is_operators: bool
    envelope: str | None
    items_alias: str | None
    header_lines: bytes


class ShortOperations:
    """Answers requests of known callers by one call of the core, and leaves others to `app`.

    The core finds the caller and the route, decodes the query, calls the operation, and writes the
    response, the log line and the counts. The application gets what the core would not answer with
    status 200, and reads that may take long. Both give equal responses, except for request id, date
    and duration.

    Args:
        app: the application.
        bearer: its authenticator; the core learns the tokens that it accepts.
        log: the log.
    """

    def __init__(self, app: App, bearer: Bearer, log: Log) -> None:
        self._store = app.store
        self._reads_in_threads = app.reads_in_threads
        self._writes = app.writes
        self._bearer = bearer
        self._log = log
        self._generation: object = None
        self._is_iteration_ending = False
        self._core = _core.Responder(
            [_route(app, row) for row in routes.ROWS],
            bounds_s=list(SECONDS),
            large_bytes=COMPRESSED_FROM,
        )
        app.metrics.add(self._counts)
        bearer.on_verified = self._admit

    @staticmethod
    def waits_for_body(request: Request) -> bool:
        """Whether the whole body must arrive before the request is answered."""
        length = b"0"
        for name, value in request.headers:
            if name == b"content-length":
                length = value
            elif name in (b"transfer-encoding", b"expect"):
                return False
        is_short = len(length) < 6 and length.isdigit() and int(length) < LARGE_BODY
        return is_short and not request.target.startswith(_LOADS)

    def answer(self, connection: Connection, request: Request) -> None:
        """Answers a complete request, now or later, or passes it to the application."""
        if self._bearer.rate is not None and not self._is_within(self._bearer.rate, request):
            return connection.pass_on(request)
        if not self._is_iteration_ending:
            self._end_iteration_soon()
        ask = self._read if request.method == b"GET" else self._submit
        try:
            is_answered = ask(connection, request)
        except Error:  # the store is closed; the application sends the error
            is_answered = False
        if not is_answered:
            connection.pass_on(request, {RATED: True})
        return None

    def _is_within(self, rate: Rate, request: Request) -> bool:
        """Counts a request of a known client, at a route of an operation."""
        parts = (request.method, request.target, request.fields)
        client = self._core.client_of(*parts, self._bearer.verifier.clock())
        return client != b"" and rate.wait_s(msgspec.json.decode(client)) == 0

    def _read(self, connection: Connection, request: Request) -> bool:
        if request.body or self._reads_in_threads:
            return False
        parts = (request.target, request.fields, request.keep_alive)
        answer = self._core.read(self._store, *parts, self._bearer.verifier.clock())
        # uvloop also passes decrypted data on when it runs callbacks. Only right after it polled,
        # the requests that follow had begun to arrive before this one.
        if connection.is_secure:
            self._core.end_reads()
        if isinstance(answer, bytes):
            connection.respond(answer)
        elif answer is None:
            return False
        else:
            self._respond(connection, request, answer)
        return True

    def _submit(self, connection: Connection, request: Request) -> bool:
        writes = self._writes.current()
        parts = (request.method, request.target, request.fields, request.body)
        keeps_alive = connection.keeps_alive(request)
        now_s = self._bearer.verifier.clock()
        ticket = self._core.submit(self._store, writes.deferred, *parts, keeps_alive, now_s)
        if ticket is None:
            return False
        request.is_announced = True
        writes.expect(ticket, partial(self._finish, connection, request, ticket))
        return True

    def _finish(
        self, connection: Connection, request: Request, ticket: int, outcome: Outcome
    ) -> None:
        # Reads that follow the write on its connection must see it. The loop may receive more
        # requests before _end_iteration runs: they must not share a snapshot begun here.
        self._core.end_reads()
        if isinstance(outcome, Error):
            self._core.discard(ticket)
            self._respond(connection, request, outcome)
        else:
            if not self._is_iteration_ending:
                self._end_iteration_soon()
            self._respond(connection, request, self._core.finish(ticket, *outcome))
        self._core.end_reads()

    def _respond(self, connection: Connection, request: Request, answer: bytes | Outcome) -> None:
        """Sends a response; passes a request with another outcome to the application."""
        if not connection.is_answering(request):
            _log.warning("the response to a write was not sent: the connection was closed")
        elif isinstance(answer, bytes):
            connection.respond(answer)
        else:
            caller = self._bearer.verifier.last_caller(_token(request))
            connection.pass_on(request, {OUTCOME: answer, CALLER: caller})

    def set_date(self, line: bytes) -> None:
        """Sets the header line with the date."""
        self._core.set_date(line)

    def forget(self) -> None:
        """Forgets all callers, until the application accepts their tokens again."""
        self._core.forget()
        self._generation = None

    async def watch(self) -> None:
        """Forgets all callers whenever a key or a client changes. Runs until it is cancelled."""
        while True:
            try:
                generation = await self._bearer.verifier.generation()
            except Exception as error:
                if not isinstance(error, Error):  # continue even after a defect
                    _log.exception("the keys and clients could not be watched")
                generation = None
            if generation is None or generation != self._generation:
                self.forget()
                self._generation = generation
            await asyncio.sleep(_WATCH_EVERY_S)

    def _admit(self, token: bytes, verified: Verified) -> None:
        if verified.generation != self._generation:  # one of the two is outdated
            return self.forget()
        caller = verified.caller
        self._core.admit(
            token,
            caller.principal,
            msgspec.json.encode(caller.client_id),
            msgspec.json.encode(caller.customer),
            verified.until,
        )
        return None

    def _end_iteration_soon(self) -> None:
        """Ends the shared snapshot and writes the log lines when this loop iteration ends."""
        self._is_iteration_ending = True
        asyncio.get_running_loop().call_soon(self._end_iteration)

    def _end_iteration(self) -> None:
        self._is_iteration_ending = False
        self._core.end_reads()
        lines, count = self._core.take_log()
        if count:
            self._log.write(lines, count)

    def _counts(self) -> list[tuple[str, str, list[int], float]]:
        return [
            (row.path, row.method, by_duration, seconds)
            for row, (by_duration, seconds) in zip(routes.ROWS, self._core.counts(), strict=True)
        ]


def _token(request: Request) -> bytes:
    """Returns the token of a request that the core has answered."""
    return dict(request.headers)[b"authorization"].removeprefix(_SCHEME)


def _route(app: App, row: routes.Row) -> _Route:
    items_alias, extra = app.extras(row)
    names = (row.method, row.path, row.operation, row.is_operators, row.envelope, items_alias)
    return _Route(*names, lines_of(extra))
