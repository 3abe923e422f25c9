"""Channels, which send requests with blocking calls or on an event loop.

The logic of requests, retries and tokens is written once, as coroutines over a :class:`Channel`.
Coroutines over a :class:`BlockingChannel` never suspend, so its `run` can execute them without an
event loop.
"""

from __future__ import annotations

import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
)
from threading import RLock
from typing import Any, Protocol, TypeAlias, TypeVar

import httpx2

R = TypeVar("R")

#: Returns the body of a request; called for each attempt.
Content: TypeAlias = Callable[[], bytes | Iterable[bytes] | AsyncIterable[bytes]]


class Clock(Protocol):
    """A source of time."""

    def now(self) -> float:
        """Returns seconds since an arbitrary time."""

    def sleep(self, seconds: float) -> None:
        """Blocks for some seconds."""


class SystemClock:
    """The system's monotonic clock."""

    def now(self) -> float:
        """Returns monotonic seconds."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Blocks for some seconds."""
        time.sleep(seconds)


class AsyncClock(Protocol):
    """A source of time on an event loop."""

    def now(self) -> float:
        """Returns seconds since an arbitrary time."""

    async def sleep(self, seconds: float) -> None:
        """Suspends the task for some seconds."""


class Lock(Protocol):
    """A lock between the threads, or the tasks, that share a channel."""

    async def during(self, work: Callable[[], Awaitable[R]]) -> R:
        """Returns the result of `work`, which runs while the lock is held."""


class Channel(Protocol):
    """Connections to a service, time and locks: all blocking, or all on an event loop."""

    @property
    def client(self) -> httpx2.Client | httpx2.AsyncClient:
        """The HTTP client."""

    def now(self) -> float:
        """Returns seconds since an arbitrary time."""

    async def sleep(self, seconds: float) -> None:
        """Waits for some seconds."""

    def lock(self) -> Lock:
        """Returns a new lock."""

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request; returns the response before its body is read.

        Raises httpx2.RequestError.
        """

    def pieces(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        """Yields the body of a response in pieces. Raises httpx2.RequestError."""

    def content(self, pieces: Callable[[], Iterator[bytes]]) -> Content:
        """Returns a body that the thread of the caller iterates while it waits in `run`."""

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Executes a coroutine over this channel, for a caller that blocks; returns its result."""

    async def end(self, response: httpx2.Response) -> None:
        """Closes a response, whether or not its body was read."""

    async def close(self) -> None:
        """Closes the connections; closing again does nothing."""


def pieces_of_content(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the pieces of a body.

    Their UnicodeError has the attribute `is_of_content`: a host of a proxy raises the same class.
    """
    try:
        yield from pieces
    except UnicodeError as error:
        vars(error)["is_of_content"] = True
        raise


class BlockingChannel:
    """A channel whose calls block the calling thread. Threads may share an instance."""

    def __init__(self, client: httpx2.Client, clock: Clock) -> None:
        self.client = client
        self._clock = clock

    def now(self) -> float:
        """Returns monotonic seconds."""
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        """Blocks for some seconds."""
        self._clock.sleep(seconds)

    def lock(self) -> Lock:
        """Returns a lock between threads."""
        return _ThreadLock()

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request; returns the response before its body is read."""
        return self.client.send(request, stream=True)

    async def pieces(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        """Yields the body of a response in pieces."""
        for piece in response.iter_bytes():
            yield piece

    def content(self, pieces: Callable[[], Iterator[bytes]]) -> Content:
        """Returns the pieces that are not empty."""
        return lambda: filter(None, pieces_of_content(pieces()))

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Executes a coroutine, which never suspends; returns its result."""
        try:
            work.send(None)
        except StopIteration as end:
            result: R = end.value
            return result
        raise RuntimeError("a coroutine over a blocking channel suspended")

    async def end(self, response: httpx2.Response) -> None:
        """Closes a response."""
        response.close()

    async def close(self) -> None:
        """Closes the connections."""
        self.client.close()


class _ThreadLock:
    """A lock that stays usable if a signal handler raises an exception, as for Ctrl-C.

    Python runs signal handlers as a function of Python begins and after a function of C returns.
    With ``async with`` the exception could come between `acquire` and the block, or before
    `release`.
    """

    def __init__(self) -> None:
        self._lock = RLock()

    async def during(self, work: Callable[[], Awaitable[R]]) -> R:
        try:
            self._lock.acquire()
            return await work()
        finally:
            try:  # noqa: SIM105 - `suppress` is a function of Python
                self._lock.release()
            except RuntimeError:  # this thread does not hold it: the signal came before `acquire`
                pass
