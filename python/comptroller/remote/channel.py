"""How requests are carried out: by calls that block, or on an event loop.

What is sent, when it is sent again and with which token is written once, as coroutines over a
:class:`Channel`. Those over a :class:`BlockingChannel` never suspend, so that `run` gives their
result to a caller without an event loop.
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

#: Bytes of an answer that is read whole: a full page of the largest records is smaller.
LARGEST_ANSWER = 256 << 20


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> float:
        """Seconds since some moment."""

    def sleep(self, seconds: float) -> None:
        """Returns so much later."""


class SystemClock:
    """The machine's time."""

    def now(self) -> float:
        """Seconds that no change of the calendar disturbs."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Returns so much later."""
        time.sleep(seconds)


class AsyncClock(Protocol):
    """Where time comes from on an event loop."""

    def now(self) -> float:
        """Seconds since some moment."""

    async def sleep(self, seconds: float) -> None:
        """Returns so much later."""


class Channel(Protocol):
    """Connections to a service, time and locks, all blocking or all on an event loop."""

    @property
    def client(self) -> httpx2.Client | httpx2.AsyncClient:
        """What makes requests."""

    def now(self) -> float:
        """Seconds since some moment."""

    async def sleep(self, seconds: float) -> None:
        """Returns so much later."""

    def lock(self) -> AbstractAsyncContextManager[object]:
        """A new lock."""

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """The answer to a request, whose head has been read. Raises httpx2.RequestError."""

    async def read(self, response: httpx2.Response) -> bytes:
        """All bytes of an answer, which it ends. Raises Unusable for more than it may have."""

    async def end(self, response: httpx2.Response) -> None:
        """Ends an answer, read or not."""

    async def close(self) -> None:
        """Ends the connections; again does nothing."""


class Whole:
    """The bytes of an answer so far."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Keeps a piece. Raises Unusable for more than an answer may have."""
        self._size += len(piece)
        if self._size > LARGEST_ANSWER:
            raise unusable(f"an answer had more than {LARGEST_ANSWER:,} bytes")
        self._pieces.append(piece)

    def content(self) -> bytes:
        """All of them."""
        return b"".join(self._pieces)


class BlockingChannel:
    """Blocks the calling thread. May be used from many threads."""

    def __init__(self, client: httpx2.Client, clock: Clock) -> None:
        self.client = client
        self._clock = clock

    def now(self) -> float:
        """Seconds since some moment."""
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        """Blocks so long."""
        self._clock.sleep(seconds)

    def lock(self) -> AbstractAsyncContextManager[object]:
        """A lock between threads."""
        return _ThreadLock()

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Sends and blocks."""
        return self.client.send(request, stream=True)

    async def read(self, response: httpx2.Response) -> bytes:
        """Reads and blocks."""
        whole = Whole()
        for piece in response.iter_bytes():
            whole.add(piece)
        response.close()
        return whole.content()

    async def end(self, response: httpx2.Response) -> None:
        """Ends an answer."""
        response.close()

    async def close(self) -> None:
        """Ends the connections."""
        self.client.close()


def run(work: Coroutine[Any, Any, R]) -> R:
    """The result of a coroutine over a BlockingChannel."""
    try:
        work.send(None)
    except StopIteration as end:
        result: R = end.value
        return result
    raise RuntimeError("a blocking call was suspended")


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
