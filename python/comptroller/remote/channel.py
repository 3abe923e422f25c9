"""Channels, which send requests with blocking calls or on an event loop.

The logic of requests, retries and tokens is written once, as coroutines over a :class:`Channel`.
Coroutines over a :class:`BlockingChannel` never suspend, so `run` can execute them without an event
loop.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from threading import Lock
from types import TracebackType
from typing import Any, Protocol, TypeVar

import httpx2

from comptroller.errors import unusable

R = TypeVar("R")

#: Limit in bytes of a response that is read into memory; a full page of the largest records is
#: smaller.
LARGEST_RESPONSE = 256 << 20


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


class Channel(Protocol):
    """Connections to a service, time and locks: all blocking, or all on an event loop."""

    @property
    def client(self) -> httpx2.Client | httpx2.AsyncClient:
        """The HTTP client."""

    def now(self) -> float:
        """Returns seconds since an arbitrary time."""

    async def sleep(self, seconds: float) -> None:
        """Waits for some seconds."""

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Returns a new lock."""

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request; returns the response before its body is read.

        Raises httpx2.RequestError.
        """

    async def read(self, response: httpx2.Response) -> bytes:
        """Reads the body of a response and closes it. Raises Unusable if it is too long."""

    async def end(self, response: httpx2.Response) -> None:
        """Closes a response, whether or not its body was read."""

    async def close(self) -> None:
        """Closes the connections; closing again does nothing."""


class BodyBuffer:
    """Collects the body of a response, up to a limit."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Appends a piece. Raises Unusable if the body is longer than LARGEST_RESPONSE."""
        self._size += len(piece)
        if self._size > LARGEST_RESPONSE:
            raise unusable(f"a response is too long; at most {LARGEST_RESPONSE:,} bytes")
        self._pieces.append(piece)

    def content(self) -> bytes:
        """Returns the body."""
        return b"".join(self._pieces)


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

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Returns a lock between threads."""
        return _ThreadLock()

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request; returns the response before its body is read."""
        return self.client.send(request, stream=True)

    async def read(self, response: httpx2.Response) -> bytes:
        """Reads the body of a response and closes it."""
        body = BodyBuffer()
        for piece in response.iter_bytes():
            body.add(piece)
        response.close()
        return body.content()

    async def end(self, response: httpx2.Response) -> None:
        """Closes a response."""
        response.close()

    async def close(self) -> None:
        """Closes the connections."""
        self.client.close()


def run(work: Coroutine[Any, Any, R]) -> R:
    """Executes a coroutine over a BlockingChannel; returns its result."""
    try:
        work.send(None)
    except StopIteration as end:
        result: R = end.value
        return result
    raise RuntimeError("a coroutine over a blocking channel suspended")


class _ThreadLock:
    def __init__(self) -> None:
        self._lock = Lock()

    async def __aenter__(self) -> None:
        self._lock.acquire()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
