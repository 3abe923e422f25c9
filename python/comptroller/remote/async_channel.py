"""The asyncio channel, in its own module because a blocking client need not import asyncio."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
)
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from inspect import CORO_CREATED, getcoroutinestate
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import httpx2

from comptroller.errors import unsupported
from comptroller.remote.channel import AsyncClock, Content, Lock, pieces_of_content

R = TypeVar("R")

_CHECK_EVERY_S = 1.0
_MOST_ROWS = 1000  # that are read ahead


class AsyncSystemClock:
    """The system's monotonic clock."""

    def now(self) -> float:
        """Returns monotonic seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Suspends the task for some seconds."""
        await asyncio.sleep(seconds)


class AsyncChannel:
    """A channel whose calls suspend the calling task. For one event loop.

    `in_thread` executes blocking code. That code calls `run`, which executes coroutines over this
    channel on the event loop.
    """

    def __init__(self, client: httpx2.AsyncClient, clock: AsyncClock) -> None:
        self.client = client
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._here = threading.local()  # its `job` is the job of the current thread

    def now(self) -> float:
        """Returns monotonic seconds."""
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        """Suspends the task for some seconds."""
        await self._clock.sleep(seconds)

    def lock(self) -> Lock:
        """Returns a lock between tasks."""
        return _TaskLock()

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request; returns the response before its body is read.

        Raises Unsupported in another event loop than the first, which owns the connections.
        """
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise unsupported(
                "the service was used in another event loop; call connect_async once in each"
            )
        self._loop = loop
        return await self.client.send(request, stream=True)

    async def pieces(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        """Yields the body of a response in pieces."""
        async for piece in response.aiter_bytes():
            yield piece

    def content(self, pieces: Callable[[], Iterator[bytes]]) -> Content:
        """Returns a body whose pieces the current thread computes while it waits in `run`."""
        job = self._job()

        async def body() -> AsyncIterator[bytes]:
            iterator = pieces_of_content(pieces())
            while (piece := await job.call(lambda: next(iterator, None))) is not None:
                if piece:
                    yield piece

        return body

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Executes a coroutine on the event loop, for code in `in_thread`; returns its result."""
        try:
            job = self._job()
        except BaseException:
            work.close()
            raise
        return job.run(work)

    @asynccontextmanager
    async def iterate(self, rows: AsyncIterable[R]) -> AsyncIterator[Iterator[R]]:
        """Iterates in one task on the event loop, for code in `in_thread`."""
        ahead = _ReadAhead(rows)

        def received() -> Iterator[R]:
            while batch := self.run(ahead.take()):
                yield from batch

        try:
            yield received()
        finally:
            await ahead.close()

    async def in_thread(self, work: Callable[[], R]) -> R:
        """Returns the result of `work`, which runs in a thread of its own.

        Cancelling the task cancels the coroutine that `work` waits for in `run`, or the next one;
        the task ends after `work`. Cancelling it again ends the task at once: `work` runs on, but
        each `run` raises asyncio.CancelledError. (The threads of `asyncio.to_thread` are few, and
        the event loop itself needs them to resolve host names.)
        """
        job = _Job(asyncio.get_running_loop())

        def working() -> R:
            self._here.job = job
            return _without_stop(work)

        pool = ThreadPoolExecutor(1, "comptroller-call")
        done = asyncio.wrap_future(pool.submit(copy_context().run, working))
        pool.shutdown(wait=False)
        try:
            await asyncio.wait([done])
        except asyncio.CancelledError:
            # asyncio logs an exception that nobody reads.
            done.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            job.cancel()
            await asyncio.wait([done])
            raise
        finally:
            job.abandon()
        return done.result()

    async def end(self, response: httpx2.Response) -> None:
        """Closes a response."""
        await response.aclose()

    async def close(self) -> None:
        """Closes the connections."""
        try:
            await self.client.aclose()
        except RuntimeError:  # their event loop has ended, and the connections with it
            if self._loop is None or not self._loop.is_closed():
                raise

    def _job(self) -> _Job:
        job: _Job | None = getattr(self._here, "job", None)
        if job is None:
            raise unsupported(
                "the service that run_sync passes to a function works only in the thread of the "
                "function, until it returns"
            )
        return job


class _Job:
    """Blocking code in a thread, and the coroutine on the event loop that it waits for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._runs = 0  # in progress, a second one inside a call; the job's thread alone uses it
        # The loop's thread alone uses these. Each run has a task.
        self._tasks: list[asyncio.Task[Any]] = []
        self._is_cancelled = False
        self._is_abandoned = False  # the loop's thread sets it, the job's thread reads it too

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Executes a coroutine on the loop, and calls of `call` meanwhile; returns its result.

        Raises asyncio.CancelledError if the coroutine is cancelled, the job is abandoned or the
        loop is closed.
        """
        future: Future[R] = Future()
        future.add_done_callback(lambda _: self._calls.put(_wake))
        self._runs += 1
        try:
            if self._is_abandoned:
                raise CancelledError
            try:
                self._loop.call_soon_threadsafe(self._begin, work, future, self._runs - 1)
            except RuntimeError:  # the loop is closed
                raise CancelledError from None
            # A run inside a call may take the _wake of this one, so `done` decides.
            while not future.done():
                try:
                    self._calls.get(timeout=_CHECK_EVERY_S)()
                except Empty:
                    if self._loop.is_closed():
                        raise CancelledError from None
            return future.result()
        except CancelledError:
            if getcoroutinestate(work) == CORO_CREATED:
                work.close()
            raise asyncio.CancelledError from None
        finally:
            self._runs -= 1

    async def call(self, function: Callable[[], R]) -> R:
        """Returns the result of a function that the thread executes while it waits in `run`."""
        future: Future[R] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(_without_stop(function))
            except BaseException as error:
                future.set_exception(error)

        self._calls.put(call)
        return await asyncio.wrap_future(future)

    def cancel(self) -> None:
        """Cancels the coroutine that the thread waits for, or the next one."""
        if not (self._tasks and self._tasks[-1].cancel()):
            self._is_cancelled = True

    def abandon(self) -> None:
        """Cancels the coroutines that the thread waits for, and all later ones."""
        self._is_abandoned = True
        for task in self._tasks:
            task.cancel()

    def _begin(self, work: Coroutine[Any, Any, R], future: Future[R], outer: int) -> None:
        if self._is_cancelled or self._is_abandoned:
            self._is_cancelled = False  # a cancelled task gets one CancelledError too
            future.cancel()
            return
        # The coroutine that made the call may have been cancelled, or have ended, during it.
        if len(self._tasks) < outer or any(task.cancelling() for task in self._tasks):
            future.cancel()
            return
        task = self._loop.create_task(work)
        self._tasks.append(task)

        def end(_: asyncio.Task[R]) -> None:
            self._tasks.remove(task)
            if task.cancelled():
                future.cancel()
            elif (error := task.exception()) is not None:
                future.set_exception(error)
            else:
                future.set_result(task.result())

        task.add_done_callback(end)


def _without_stop(function: Callable[[], R]) -> R:
    """Returns the result of a function, whose StopIteration becomes a RuntimeError (PEP 479).

    An asyncio future does not accept a StopIteration, so a task would wait for it for ever.
    """
    try:
        return function()
    except StopIteration as error:
        raise RuntimeError("the function raised StopIteration") from error


def _wake() -> None:
    """Ends the wait for a call."""


class _ReadAhead(Generic[R]):
    """The rows of an asynchronous source, which one task iterates. For one event loop."""

    def __init__(self, source: AsyncIterable[R]) -> None:
        self._source = source
        self._rows: list[R] = []
        self._task: asyncio.Task[None] | None = None
        self._is_filled = asyncio.Event()  # there are rows, or the task has ended
        self._is_taken = asyncio.Event()

    async def take(self) -> list[R]:
        """Returns the rows that were read, at least one; none at the end.

        A cancellation is passed to the source. Raises the exception of the source after its rows.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._read())
            self._task.add_done_callback(lambda _: self._is_filled.set())
        try:
            await self._is_filled.wait()
        except asyncio.CancelledError:
            self._task.cancel()
            await self._is_filled.wait()
        rows, self._rows = self._rows, []
        if not self._task.done():
            self._is_filled.clear()
            self._is_taken.set()
        elif not rows:
            self._task.result()
        return rows

    async def close(self) -> None:
        """Ends the task."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _read(self) -> None:
        iterator = aiter(self._source)
        try:
            async for row in iterator:
                self._rows.append(row)
                self._is_filled.set()
                if len(self._rows) >= _MOST_ROWS:
                    self._is_taken.clear()
                    await self._is_taken.wait()
        finally:
            # In this task, which an `asyncio.timeout` around a yield needs.
            if isinstance(iterator, AsyncGenerator):
                await iterator.aclose()


class _TaskLock:
    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def during(self, work: Callable[[], Awaitable[R]]) -> R:
        async with self._lock:
            return await work()
