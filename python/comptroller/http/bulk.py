"""Loads and exports over HTTP: streams of any length, in constant memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import CancelledError, Executor, Future
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from comptroller import arguments
from comptroller._core import Store
from comptroller.errors import Error, invalid, unavailable
from comptroller.http import problems
from comptroller.http.callers import Caller, require_scope
from comptroller.http.exchange import Disconnected, Exchange
from comptroller.http.problems import problem
from comptroller.loading import LoadOptions, LoadResult

#: How long a load waits for the next byte, and an export for its bytes to be taken.
PATIENCE_S = 10.0

_LOADED = (b"application/x-ndjson", b"application/json", b"application/octet-stream")
_EXPORTED = {"ndjson": b"application/x-ndjson", "csv": b"text/csv; charset=utf-8"}
_FLAGS = {"true": True, "false": False}
_PIECE = 64 << 10  # bytes


class Bulk:
    """Answers loads into a store and exports out of it.

    Args:
        store: whose records they are.
        pool: its threads do the work, one each.
        loaded: told the kind and number of the records that a load kept.
        patience_s: see PATIENCE_S.
    """

    def __init__(
        self,
        store: Store,
        pool: Executor,
        loaded: Callable[[str, int], None],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._store = store
        self._loaded = loaded
        self._pool = pool
        self._patience_s = patience_s
        self._arriving: set[Arriving] = set()
        self._is_stopping = False

    def stop(self) -> None:
        """The server is about to end: loads that are not all here are rolled back and refused."""
        self._is_stopping = True
        for body in tuple(self._arriving):
            body.end(_stopping())

    async def load(self, exchange: Exchange, caller: Caller) -> None:
        """Loads the body, and answers the account of it.

        Where the body stops coming, its sender leaves or the server ends, nothing is kept but the
        batches that `keep_going` has committed; a refusal tells of those as ``load_result`` in its
        ``meta``.
        """
        require_scope(caller, "operator:write")
        kind, options = _kind(exchange), _options(exchange)
        exchange.check_type(*_LOADED)
        if self._is_stopping:
            raise _stopping()
        body = Arriving(exchange, self._patience_s)
        accounts: list[bytes] = []
        work = partial(
            self._store.load,
            caller.principal,
            kind,
            body,
            are_rows=False,
            customer_id=options.customer_id,
            keep_going=options.keep_going,
            dry_run=options.dry_run,
            total_bytes=None,
            progress=None,
            account=accounts.append,
        )
        self._arriving.add(body)
        try:
            await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except Error as error:
            if not accounts:
                raise
            await _refuse(exchange, error, accounts[0])
        else:
            await exchange.answer(200, b"application/json", accounts[0])
        finally:
            self._arriving.discard(body)
            body.abandon()
            for account in accounts:
                self._count(kind, account)

    def _count(self, kind: str, account: bytes) -> None:
        result = msgspec.json.decode(account, type=LoadResult)
        if result.committed:
            self._loaded(kind, result.inserted + result.updated)

    async def export(self, exchange: Exchange, caller: Caller) -> None:
        """Answers all records of a kind that pass the filters of its list.

        Like the verb it includes deleted controls, unless `include_deleted` says otherwise. What
        is refused is refused before the answer begins; what fails later cuts it off.
        """
        require_scope(caller, "operator:read")
        kind, parameters = _kind(exchange), exchange.parameters()
        formats = [value for name, value in parameters if name == "format"] or ["ndjson"]
        if len(formats) > 1:
            raise invalid("format", "is there twice")
        filters = [each for each in parameters if each[0] != "format"]
        if kind == "controls" and all(name != "include_deleted" for name, _ in filters):
            filters.append(("include_deleted", "true"))

        def write_to(place: str) -> int:
            return self._store.export(caller.principal, kind, place, formats[0], filters)

        async with _piped(self._pool, write_to) as (pieces, written):
            piece = await pieces.read(_PIECE)
            if not piece:
                await written  # raises what refuses it; or there are no records
            await exchange.start(200, _EXPORTED[formats[0]])
            if not exchange.is_head:
                await self._send_all(exchange, piece, pieces)
                await _sure(written)
            await exchange.send({"type": "http.response.body", "body": b""})

    async def _send_all(
        self, exchange: Exchange, piece: bytes, pieces: asyncio.StreamReader
    ) -> None:
        # Not every server tells of a client that has left when it is sent something.
        gone = asyncio.ensure_future(_gone(exchange))
        try:
            while piece:
                async with asyncio.timeout(self._patience_s):
                    await exchange.send(
                        {"type": "http.response.body", "body": piece, "more_body": True}
                    )
                if gone.done():
                    raise Disconnected
                piece = await pieces.read(_PIECE)
        except OSError:  # a timeout is one too
            raise Disconnected from None
        finally:
            gone.cancel()


class Arriving:
    """The body of a request, for the thread that reads it.

    Each read fetches what comes next, so that a sender who is faster than the store is held back.
    """

    def __init__(self, exchange: Exchange, patience_s: float) -> None:
        self._chunks = exchange.chunks()
        self._patience_s = patience_s
        self._loop = asyncio.get_running_loop()
        self._left = memoryview(b"")
        self._fetching: Future[bytes] | None = None
        self._ended_by: Exception | None = None

    def readinto(self, buffer: memoryview, /) -> int:
        """Fills `buffer` with what there is; 0 at the end. Raises what ends the load."""
        if not self._left:
            self._left = memoryview(self._fetched())
        size = min(len(self._left), len(buffer))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def abandon(self) -> None:
        """Nobody wants more."""
        self.end(Disconnected())

    def end(self, error: Exception) -> None:
        """A read that waits raises the error, and so does any later one."""
        self._ended_by = error
        if self._fetching is not None:
            self._fetching.cancel()

    def _fetched(self) -> bytes:
        fetching = self._fetching = asyncio.run_coroutine_threadsafe(self._next(), self._loop)
        if self._ended_by is not None:
            fetching.cancel()
        try:
            return fetching.result()
        except CancelledError:  # never the end of the body: what came of it would be kept
            raise self._ended_by or Disconnected() from None

    async def _next(self) -> bytes:
        """What comes next; empty at the end. Runs on the event loop."""
        try:
            async with asyncio.timeout(self._patience_s):
                return await anext(self._chunks, b"")
        except TimeoutError:
            raise unavailable(f"no byte came for {self._patience_s:g} seconds") from None


@asynccontextmanager
async def _piped(
    pool: Executor, work: Callable[[str], int]
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.Future[int]]]:
    """What `work` writes to the path that it is given, and its result.

    It runs in the pool, is held back by a slow reader, and fails when nobody reads any more.
    """
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    job: Future[int] | None = None
    transport: asyncio.BaseTransport | None = None
    pieces = asyncio.StreamReader()
    file = os.fdopen(reading, "rb", 0)
    try:
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(pieces), file
        )
        job = pool.submit(work, f"/dev/fd/{writing}")
        # Held until then: a pipe that nobody has opened for writing is at its end.
        job.add_done_callback(lambda _: os.close(writing))
        written = asyncio.wrap_future(job)
        written.add_done_callback(lambda done: done.cancelled() or done.exception())
        yield pieces, written
    finally:
        if job is None:
            os.close(writing)
        if transport is None:
            file.close()
        else:
            transport.close()


async def _sure(written: asyncio.Future[int]) -> None:
    """Raises RuntimeError where not all was written: too late for a refusal."""
    try:
        await written
    except Error as error:
        raise RuntimeError("an export ended before all was written") from error


async def _gone(exchange: Exchange) -> None:
    """Returns when nobody waits for the answer any more."""
    while (await exchange.receive())["type"] != "http.disconnect":
        pass


async def _refuse(exchange: Exchange, error: Error, account: bytes) -> None:
    told = msgspec.json.decode(problems.document(error, exchange.request_id))
    told["meta"] = {"load_result": msgspec.Raw(account)}
    await exchange.answer(error.status, problems.CONTENT_TYPE, msgspec.json.encode(told))


def _stopping() -> Error:
    return unavailable("the server is stopping; load again when it is back")


def _kind(exchange: Exchange) -> str:
    kind = exchange.path_parameter("kind")
    if kind not in arguments.KINDS:
        raise problem("not-found", f"there are no such records; {', '.join(arguments.KINDS)} are")
    return kind


def _options(exchange: Exchange) -> LoadOptions:
    given = exchange.parameters()
    arguments.refuse_unknown((name for name, _ in given), LoadOptions._fields)
    named = dict(given)
    if len(named) < len(given):
        raise invalid("query", "names a parameter twice")
    return LoadOptions(
        named.get("customer_id"), _flag("keep_going", named), _flag("dry_run", named)
    )


def _flag(name: str, named: dict[str, str]) -> bool:
    word = named.get(name, "false")
    if word not in _FLAGS:
        raise invalid(name, "must be true or false")
    return _FLAGS[word]
