"""The ASGI application: finds the operation, calls the core, sends the response."""

from __future__ import annotations

import asyncio
import gzip
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

import msgspec
from prometheus_client.registry import Collector

from comptroller import _core, description, routes
from comptroller.errors import Error, invalid, unavailable
from comptroller.http import openapi, pages, problems
from comptroller.http.authentication import Authenticator, Caller, EveryoneIsOperator, require_scope
from comptroller.http.exchange import (
    BEGAN,
    CALLER,
    OUTCOME,
    STOPPING,
    STOPPING_DURING_WRITE,
    Disconnected,
    Exchange,
    Headers,
    Receive,
    Scope,
    Send,
)
from comptroller.http.loads_and_exports import MAX_EXPORTS, LoadsAndExports
from comptroller.http.metrics import Metrics
from comptroller.http.problems import Refusal, problem
from comptroller.http.readiness import Readiness
from comptroller.http.routing import Answers, Router
from comptroller.http.turns import Turns
from comptroller.http.writes import Outcome, WritesByLoop
from comptroller.journal import sign_checkpoint
from comptroller.journal.shared_keys import share_keys
from comptroller.local import LocalHost
from comptroller.routes import Row
from comptroller.service import Service

JSON = b"application/json"

Resources = Mapping[str, Answers]

#: Called after every request, with the exchange and its duration in seconds.
Observer = Callable[[Exchange, float], None]

#: Threads for long reads of a file: one core is left to the event loop, which gives the short
#: answers.
_MAX_FILE_READERS = max(1, min(4, (os.cpu_count() or 1) - 1))
#: Threads for reads of a database, each with a connection; most of their time they wait for it.
_MAX_DATABASE_READERS = 16
#: By how much the priority of long reads and exports is lower than that of the event loop. With 10
#: they would wait long on a machine that has no free core.
_NICENESS = 5
#: The size in bytes from which a response is compressed for clients that accept gzip.
COMPRESSED_FROM = 16 << 10
LARGE_BODY_HEADERS = [(b"vary", b"accept-encoding")]
REPLAY_HEADERS = [(b"idempotent-replayed", b"true")]
# When `orchestrations` was deprecated in favour of `items` (RFC 9745).
_DEPRECATED_AT = datetime(2026, 11, 21, tzinfo=UTC)
_NO_WEIGHT = re.compile(rb"\s*q\s*=\s*0(\.0*)?\s*")
_log = logging.getLogger(__name__)


class App:
    """The HTTP interface of a Service that was opened as its operator.

    Any ASGI server can serve the application, and another application can mount it. The caller
    closes the Service after the server has stopped.

    Args:
        service: a service opened with :func:`comptroller.open`, as its operator. Reads of a
            database run in threads, because they wait for it.
        authenticator: authenticates the caller of a request.
        drop_deprecated: omits the member `orchestrations` of the orchestration list.
        sunset: the removal date of that member, announced in a header.
        observers: called after every request.
        collectors: collectors of prometheus_client, also shown at `/metrics`.
        resources: additional public paths, with a function for each method.
        clock: returns seconds; used to cache `/readyz` and `/metrics` for a second.

    Raises:
        InvalidRequest: the service is remote or was not opened as its operator.
        Unusable: the state folder has other keys than the database.
        Unavailable: the database cannot be reached.
    """

    def __init__(
        self,
        service: Service,
        *,
        authenticator: Authenticator,
        drop_deprecated: bool = False,
        sunset: datetime | None = None,
        observers: tuple[Observer, ...] = (),
        collectors: Iterable[Collector] = (),
        resources: Resources | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not isinstance(service.host, LocalHost) or service.host.principal.customer is not None:
            raise invalid("service", "must be a local store that was opened as its operator")
        if not service.host.is_read_only:
            share_keys(service.host)  # from which the secrets of webhooks follow that it shows
        self._host = service.host
        self.store = service.host.store
        self.reads_in_threads = service.host.is_database
        self.writes = WritesByLoop(self.store)
        self._authenticator = authenticator
        self.metrics = Metrics(service.host, clock, collectors)
        self._readiness = Readiness(service.host, clock)
        self._observers: tuple[Observer, ...] = (self.metrics, *observers)
        max_readers = _MAX_DATABASE_READERS if self.reads_in_threads else _MAX_FILE_READERS
        self._readers = ThreadPoolExecutor(max_readers, "comptroller-read", _give_way)
        self._turns = Turns(max_readers)
        exports = ThreadPoolExecutor(MAX_EXPORTS, "comptroller-export", _give_way)
        self._transfers = LoadsAndExports(service.host, exports, self.metrics.count_loaded)
        self._deprecation = None if drop_deprecated else _deprecation(sunset)
        document = openapi.document(
            _authority_of(authenticator, resources or {}), drop_deprecated=drop_deprecated
        )
        self._router = Router(
            {**self._resources(), **pages.resources(document), **(resources or {})}
        )

    def stop(self) -> None:
        """Rolls back running loads, before the server stops."""
        self._transfers.stop()

    def _resources(self) -> Resources:
        operations = {
            path: {method: partial(self._operate, row) for method, row in rows.items()}
            for path, rows in routes.paths()
        }
        return {
            **operations,
            "/operator/load/{kind}": {"POST": partial(self._in_bulk, "load", self._transfers.load)},
            "/operator/export/{kind}": {
                "GET": partial(self._in_bulk, "export", self._transfers.export)
            },
            routes.CHECKPOINT_PATH: {"GET": self._checkpoint},
            "/healthz": {"GET": _alive},
            "/readyz": {"GET": self._ready},
            **self.metrics.resources(),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] == "lifespan":
            return await self._lifespan(receive, send)
        if scope["type"] == "websocket":
            await receive()
            return await send({"type": "websocket.close"})  # servers answer with 403
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not supported")
        began = scope.get(BEGAN) or time.perf_counter()
        exchange = Exchange(scope, receive, send)
        try:
            await self._answer(exchange)
        finally:
            for observer in self._observers:
                observer(exchange, time.perf_counter() - began)
        return None

    async def _answer(self, exchange: Exchange) -> None:
        try:
            exchange.refuse_ambiguous_headers()
            await self._router.find(exchange, _path(exchange.scope))(exchange)
        except Disconnected:
            pass
        except asyncio.CancelledError:
            if not exchange.status:
                await _refuse(exchange, _stopping(exchange))
            raise
        except Refusal as refusal:
            await _refuse(exchange, refusal.error, refusal.headers)
        except Error as error:
            await _refuse(exchange, error)
        except Exception:
            _log.exception("request %s failed", exchange.request_id)
            if exchange.status:  # the head was sent, so the server must close the connection
                raise
            await _refuse(exchange, problem("internal", "a defect; see the log by the request id"))

    async def _operate(self, row: Row, exchange: Exchange) -> None:
        """Calls the operation of a route, unless the core has executed it; sends its result."""
        outcome: Outcome
        if OUTCOME in exchange.scope:
            # The caller may have been revoked meanwhile, which does not undo a write.
            exchange.may_be_executed = description.operations()[row.operation].is_write
            exchange.operation = row.operation
            if exchange.scope[CALLER] is not None:
                _note(exchange.scope[CALLER], exchange)
            outcome = exchange.scope[OUTCOME]
        else:
            outcome = await self._call(row, exchange)
        if isinstance(outcome, Error):
            raise outcome
        answer, is_replay = outcome
        _, extra = self.extras(row)
        await self._send(exchange, answer, [*(REPLAY_HEADERS if is_replay else []), *extra])

    async def _call(self, row: Row, exchange: Exchange) -> Outcome:
        """Calls the operation of a route; returns its answer in its envelope."""
        operation = description.operations()[row.operation]
        caller = await self._admit(row.operation, exchange)
        require_scope(caller, operation.scope_of(caller.is_operator or row.is_operators))
        parameters = await exchange.parameters()
        if row.names_id:
            parameters.insert(0, ("id", exchange.path_parameter("id")))
        body = await exchange.body()
        request = (
            caller.principal,
            row.operation,
            parameters,
            body or None,
            exchange.idempotency_key(),
            exchange.request_id,
        )
        if operation.is_write:
            exchange.may_be_executed = True
            outcome = await self.writes.current().call(*request)
            if isinstance(outcome, Error):
                return outcome
            answer, is_replay = outcome
        else:
            # A thread would take more time for a short read.
            short = None if self.reads_in_threads else self.store.call_if_short(*request)
            if short is None:
                short = await self._read_in_thread(exchange, partial(self.store.call, *request))
            answer, is_replay = short
        items_alias, _ = self.extras(row)
        if row.envelope or items_alias:
            answer = _core.wrap_answer(answer, row.envelope, items_alias)
        return answer, is_replay

    async def _read_in_thread(
        self, exchange: Exchange, read: Callable[[], tuple[bytes, bool]]
    ) -> tuple[bytes, bool]:
        await self._turns.take(exchange)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, read)
        finally:
            self._turns.give_back()

    async def _in_bulk(
        self, operation: str, answer: Callable[[Exchange, Caller], Any], exchange: Exchange
    ) -> None:
        await answer(exchange, await self._admit(operation, exchange))

    async def _admit(self, operation: str, exchange: Exchange) -> Caller:
        exchange.operation = operation
        caller = await self._authenticator.caller(exchange)
        _note(caller, exchange)
        return caller

    def extras(self, row: Row) -> tuple[str | None, list[tuple[bytes, bytes]]]:
        """Returns the deprecated second name of the items of a list, and its headers."""
        if row.operation == "orchestrations.list" and self._deprecation is not None:
            return "orchestrations", self._deprecation
        return None, []

    async def _send(
        self, exchange: Exchange, answer: bytes, headers: list[tuple[bytes, bytes]]
    ) -> None:
        if len(answer) >= COMPRESSED_FROM:
            headers += LARGE_BODY_HEADERS
            if _takes_gzip(exchange.headers.get(b"accept-encoding", b"")):
                answer = await asyncio.to_thread(gzip.compress, answer, 1, mtime=0)
                headers.append((b"content-encoding", b"gzip"))
        await exchange.answer(200, JSON, answer, headers)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._transfers.start()
            else:
                self.stop()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _checkpoint(self, exchange: Exchange) -> None:
        """Sends a signed checkpoint of the journal, and the key that verifies it."""
        caller = await self._admit("journal.checkpoint", exchange)
        require_scope(caller, "operator:read" if caller.is_operator else "journal:read")
        for name, _ in await exchange.parameters():
            raise invalid(name, "is not known; this operation takes no parameters")
        await exchange.refuse_body()
        exchange.refuse_idempotency_key("is only for writes; journal.checkpoint is a read")
        sign = partial(sign_checkpoint, self._host, caller.principal)
        signed = await asyncio.get_running_loop().run_in_executor(self._readers, sign)
        await exchange.answer(200, JSON, msgspec.json.encode(signed))

    async def _ready(self, exchange: Exchange) -> None:
        await self._readiness.require()
        await exchange.answer(200, JSON, b'{"status":"ready"}')


def _give_way() -> None:
    """Lets the event loop run first if this thread, or one that it starts, wants the processor."""
    if sys.platform == "linux":  # elsewhere it would change the priority of the process
        os.nice(_NICENESS)


def _note(caller: Caller, exchange: Exchange) -> None:
    """Names the caller in the log, and as the customer whose requests take turns."""
    exchange.client_id, exchange.customer = caller.client_id, caller.customer


async def _alive(exchange: Exchange) -> None:
    await exchange.answer(200, JSON, b'{"status":"alive"}')


def _path(scope: Scope) -> str:
    """Returns the path below the mount, still percent-encoded, so that an id may have a slash."""
    raw_path = scope.get("raw_path") or quote(scope["path"]).encode()
    path: str = raw_path.decode("ascii", "replace").partition("?")[0]
    root: str = scope.get("root_path", "")
    longest = 9 * len(root)  # each byte of UTF-8 may be escaped
    end = len(root)
    while 0 < end <= longest:  # `root` is decoded, and can be escaped in several ways
        if unquote(path[:end]) == root:
            return path[end:]
        end = path.find("/", end + 1) if end < len(path) else 0
        end = len(path) if end < 0 else end
    return path


async def _refuse(exchange: Exchange, error: Error, headers: Headers = ()) -> None:
    exchange.refusal = error.code
    body = problems.document(error, exchange.request_id, exchange.root)
    fields = [*problems.headers(error), *headers]
    await exchange.answer(error.status, problems.CONTENT_TYPE, body, fields)


def _stopping(exchange: Exchange) -> Error:
    """Returns the error of a request that is cancelled because the server stops."""
    if exchange.may_be_executed:
        return problem("outcome-unknown", STOPPING_DURING_WRITE)
    return unavailable(STOPPING)


def _authority_of(authenticator: Authenticator, resources: Resources) -> openapi.Authority:
    """Returns how callers are authenticated, for the OpenAPI document."""
    if isinstance(authenticator, EveryoneIsOperator):
        return "off"
    return "local" if routes.TOKEN_PATH in resources else "jwks"


def _deprecation(sunset: datetime | None) -> list[tuple[bytes, bytes]]:
    headers = [(b"deprecation", b"@%d" % int(_DEPRECATED_AT.timestamp()))]
    if sunset is not None:
        headers.append((b"sunset", format_datetime(sunset, usegmt=True).encode()))
    return headers


def _takes_gzip(accepted: bytes) -> bool:
    for each in accepted.lower().split(b","):
        coding, _, weight = each.partition(b";")
        if coding.strip() == b"gzip":
            return not _NO_WEIGHT.fullmatch(weight)
    return False
