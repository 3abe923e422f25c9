"""Loads and exports over HTTP, of any length and in constant memory."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from comptroller import arguments
from comptroller.bulk.loading import LoadOptions, LoadResult
from comptroller.errors import Error, invalid, shorten, unavailable
from comptroller.http import problems
from comptroller.http.authentication import Caller, require_scope
from comptroller.http.backlog import Backlog
from comptroller.http.exchange import PIECEWISE, STOPPING, Disconnected, Exchange, Headers
from comptroller.http.problems import problem
from comptroller.http.spool import Spool
from comptroller.http.turns import Turns
from comptroller.local import LocalHost
from comptroller.values import KINDS

#: How long a load waits for the next byte, and an export for the client to read, in seconds.
PATIENCE_S = 10.0

_LOADED = (b"application/x-ndjson", b"application/json", b"application/octet-stream")
_EXPORTED = {"ndjson": b"application/x-ndjson", "csv": b"text/csv; charset=utf-8"}
_FLAGS = {"true": True, "false": False}
# The interval of white space that is sent during a load to a client that prefers it.
_PROGRESS_EVERY_S = 0.2
_PREFERS_PROGRESS = b"progress"  # in Prefer (RFC 7240)
_PROGRESS_HEADERS = [(b"preference-applied", _PREFERS_PROGRESS), (b"x-accel-buffering", b"no")]
#: Exports that run at once. Each may have a spooled file until its client has read it.
MAX_EXPORTS = 8
_MAX_SPOOLING = 8
_MAX_NAME = 255  # characters of the name of an input


class LoadsAndExports:
    """Answers loads and exports of a store.

    Args:
        host: the host of the store.
        pool: runs exports, one in each thread.
        count_loaded: called with the kind and the number of records that a load stored.
        patience_s: see PATIENCE_S.
    """

    def __init__(
        self,
        host: LocalHost,
        pool: Executor,
        count_loaded: Callable[[str, int], None],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._store = host.store
        # The folder of the store, because the default folder of temporary files may be in memory.
        self._folder = None if host.path is None else Path(host.path).resolve().parent
        self._count_loaded = count_loaded
        self._pool = pool
        self._spooling = ThreadPoolExecutor(_MAX_SPOOLING, "comptroller-spool")
        self._loading = ThreadPoolExecutor(1, "comptroller-load")  # a store runs one load at a time
        self._turns = Turns(MAX_EXPORTS)
        self._patience_s = patience_s
        self._waits: set[asyncio.Timeout] = set()
        self._is_stopping = False

    def start(self) -> None:
        """Accepts loads, also after `stop`."""
        self._is_stopping = False

    def stop(self) -> None:
        """Rolls back running loads and rejects new ones, before the server stops.

        Called on the event loop.
        """
        self._is_stopping = True
        for wait in self._waits:
            wait.reschedule(0)

    async def load(self, exchange: Exchange, caller: Caller) -> None:
        """Loads the body; answers with the result of the load.

        The body is spooled to an unnamed file and loaded when it is complete, so a slow client
        does not block the store. If the server stops during a load, only committed batches of
        `keep_going` are stored; the error has their counts as ``load_result`` in ``meta``.

        With ``Prefer: progress``, the response to a long load has status 200, then white space
        during the load, then the result or a problem document.
        """
        require_scope(caller, "operator:write")
        kind, options = _kind(exchange), _options(await exchange.parameters())
        exchange.check_type(*_LOADED)
        exchange.refuse_idempotency_key("a load takes none; loading lines again changes nothing")
        exchange.scope[PIECEWISE] = True
        accounts: list[bytes] = []
        try:
            with self._spool() as spool:
                await self._receive(exchange, spool)
                work = partial(
                    self._store.load,
                    caller.principal,
                    kind,
                    f"/dev/fd/{spool.descriptor}",
                    are_rows=False,
                    only_lines=options.only_lines,
                    input_name=options.input_name,
                    mapping=options.mapping,
                    customer_id=options.customer_id,
                    keep_going=options.keep_going,
                    dry_run=options.dry_run,
                    total_bytes=None,
                    progress=self._check_stopping,
                    account=accounts.append,
                )
                exchange.may_be_executed = not options.dry_run
                await _with_progress(exchange, spool.run(work, self._loading))
        except Error as error:
            if not accounts and not exchange.status:
                raise
            await _refuse(exchange, error, accounts)
        else:
            await _finish(exchange, 200, b"application/json", accounts[0])
        finally:
            for account in accounts:
                self._count(kind, account)

    @contextmanager
    def _spool(self) -> Iterator[Spool]:
        try:
            with closing(Spool(self._folder, self._spooling)) as spool:
                yield spool
        except OSError as error:
            raise unavailable(f"the body cannot be spooled: {error.strerror}") from error

    async def _receive(self, exchange: Exchange, spool: Spool) -> None:
        chunks, size = exchange.chunks(), 0
        while chunk := await self._next(chunks):
            await spool.run(partial(spool.write_all, chunk, size))
            size += len(chunk)

    async def _next(self, chunks: AsyncIterator[bytes]) -> bytes:
        """Returns the next piece of the body; empty at the end."""
        try:
            async with asyncio.timeout(0 if self._is_stopping else self._patience_s) as wait:
                self._waits.add(wait)
                return await anext(chunks, b"")
        except TimeoutError:
            if self._is_stopping:
                raise _stopping() from None
            raise unavailable(f"no data received for {self._patience_s:g} seconds") from None
        finally:
            self._waits.discard(wait)

    def _check_stopping(self, _bytes: int, _total: int | None, _rows: int) -> None:
        """The progress callback of a load; raises if the server is stopping."""
        if self._is_stopping:
            raise _stopping()

    def _count(self, kind: str, account: bytes) -> None:
        result = msgspec.json.decode(account, type=LoadResult)
        if result.committed:
            self._count_loaded(kind, result.inserted + result.updated)

    async def export(self, exchange: Exchange, caller: Caller) -> None:
        """Answers with all records of a kind that match the filters.

        Deleted controls are included by default, as in `Service.export`. An invalid request gets
        an error response; a failure during the export closes the connection. What a slow client has
        not received is spooled, so that the store need not keep the state that is exported.
        """
        require_scope(caller, "operator:read")
        kind, parameters = _kind(exchange), await exchange.parameters()
        formats = [value for name, value in parameters if name == "format"] or ["ndjson"]
        if len(formats) > 1:
            raise invalid("format", "appears more than once")
        await exchange.refuse_body()
        exchange.refuse_idempotency_key("is only for writes; an export is a read")
        filters = [each for each in parameters if each[0] != "format"]
        if kind == "controls" and all(name != "include_deleted" for name, _ in filters):
            filters.append(("include_deleted", "true"))

        def export(write: Callable[[bytes], None]) -> None:
            self._store.export_to(caller.principal, kind, write, formats[0], filters)

        async with self._turn(exchange), self._run(export) as (backlog, written):
            piece = await backlog.take()
            if not piece:
                await written  # raises the error of the export, if there is one
            await exchange.start(200, _EXPORTED[formats[0]])
            if not exchange.is_head:
                await self._send_all(exchange, piece, backlog)
                await _require_complete(written)
            await exchange.send({"type": "http.response.body", "body": b""})

    @asynccontextmanager
    async def _turn(self, exchange: Exchange) -> AsyncIterator[None]:
        """Waits while many exports run, unless the client disconnects or the server stops."""
        try:
            async with asyncio.timeout(0 if self._is_stopping else None) as wait:
                self._waits.add(wait)
                await self._turns.take(exchange)
        except TimeoutError:
            raise _stopping() from None
        finally:
            self._waits.discard(wait)
        try:
            yield
        finally:
            self._turns.give_back()

    @asynccontextmanager
    async def _run(
        self, work: Callable[[Callable[[bytes], None]], None]
    ) -> AsyncIterator[tuple[Backlog, asyncio.Future[None]]]:
        """Runs `work` in a thread; yields what it writes, and its future end.

        When the context ends, `work` fails.
        """
        with closing(Backlog(self._folder, self._spooling)) as backlog:
            job = self._pool.submit(work, backlog.write)
            job.add_done_callback(lambda _: backlog.end())
            written = asyncio.wrap_future(job)
            written.add_done_callback(lambda done: done.cancelled() or done.exception())
            try:
                yield backlog, written
            finally:
                written.cancel()  # if it has not begun

    async def _send_all(self, exchange: Exchange, piece: bytes, backlog: Backlog) -> None:
        # Some servers do not raise an error when they send to a disconnected client.
        gone = asyncio.ensure_future(exchange.wait_for_disconnect())
        try:
            while piece:
                try:
                    async with asyncio.timeout(self._patience_s):
                        await exchange.send(
                            {"type": "http.response.body", "body": piece, "more_body": True}
                        )
                except OSError:  # includes TimeoutError
                    raise Disconnected from None
                if gone.done():
                    raise Disconnected
                piece = await backlog.take()
        finally:
            gone.cancel()


async def _require_complete(written: asyncio.Future[None]) -> None:
    """Raises RuntimeError if the export failed, when it is too late for an error response."""
    try:
        await written
    except Error as error:
        raise RuntimeError("an export failed after the response had begun") from error


async def _with_progress(exchange: Exchange, load: Coroutine[None, None, None]) -> None:
    """Awaits a load; sends white space during the load if the client prefers it."""
    if exchange.headers.get(b"prefer") != _PREFERS_PROGRESS:
        return await load
    job = asyncio.ensure_future(load)
    try:
        while not (await asyncio.wait([job], timeout=_PROGRESS_EVERY_S))[0]:
            if not exchange.status:
                await exchange.start(200, b"application/json", _PROGRESS_HEADERS)
            await exchange.send({"type": "http.response.body", "body": b" ", "more_body": True})
        return await job
    finally:
        job.cancel()


async def _finish(
    exchange: Exchange, status: int, content_type: bytes, body: bytes, headers: Headers = ()
) -> None:
    """Sends a response, or only its body if `_with_progress` has already sent the head."""
    if not exchange.status:
        return await exchange.answer(status, content_type, body, headers)
    exchange.status = status  # for the log
    return await exchange.send({"type": "http.response.body", "body": body})


async def _refuse(exchange: Exchange, error: Error, accounts: list[bytes]) -> None:
    exchange.refusal = error.code
    document = msgspec.json.decode(problems.document(error, exchange.request_id, exchange.root))
    if accounts:
        document["meta"] = {"load_result": msgspec.Raw(accounts[0])}
    body = msgspec.json.encode(document)
    await _finish(exchange, error.status, problems.CONTENT_TYPE, body, problems.headers(error))


def _stopping() -> Error:
    return unavailable(STOPPING)


def _kind(exchange: Exchange) -> str:
    kind = exchange.path_parameter("kind")
    if kind not in KINDS:
        raise problem("not-found", f"unknown kind; one of {', '.join(KINDS)}")
    return kind


def _options(given: list[tuple[str, str]]) -> LoadOptions:
    arguments.refuse_unknown(
        (name for name, _ in given),
        ("customer_id", "keep_going", "dry_run", "format", "input", "mapping"),
    )
    named = dict(given)
    if len(named) < len(given):
        raise invalid("query", "a parameter appears more than once")
    if named.get("format", "ndjson") != "ndjson":
        raise invalid("format", "must be ndjson, or omitted; the first bytes then determine it")
    return LoadOptions(
        named.get("customer_id"),
        _flag("keep_going", named),
        _flag("dry_run", named),
        input_name=_input_name(named.get("input")),
        only_lines="format" in named,
        mapping=_mapping(named.get("mapping")),
    )


def _input_name(text: str | None) -> str | None:
    if text is None:
        return None
    if not 0 < len(text) <= _MAX_NAME:
        raise invalid("input", f"must have 1 to {_MAX_NAME} characters")
    if arguments.CONTROL_CHARACTER.search(text):
        raise invalid("input", "has a control character; leave it out")
    return text


def _mapping(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        msgspec.json.decode(text)  # json.loads also accepts NaN
        json.loads(text, object_pairs_hook=_refuse_duplicates)
    except (msgspec.DecodeError, RecursionError):
        raise invalid("mapping", "must be JSON text") from None
    # In JSON text these are only the line breaks and tabs between tokens.
    return arguments.CONTROL_CHARACTER.sub(" ", text)


def _refuse_duplicates(members: list[tuple[str, object]]) -> None:
    names = Counter(name for name, _ in members)
    for name, count in names.items():
        if count > 1:
            raise invalid("mapping", f"duplicate member {shorten(repr(name))}")


def _flag(name: str, named: dict[str, str]) -> bool:
    text = named.get(name, "false")
    if text not in _FLAGS:
        raise invalid(name, "must be true or false")
    return _FLAGS[text]
