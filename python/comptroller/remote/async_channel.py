"""The asyncio channel, in its own module because a blocking client need not import asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import httpx2

from comptroller.remote.channel import AsyncClock, BodyBuffer, Lock

R = TypeVar("R")


class AsyncSystemClock:
    """The system's monotonic clock."""

    def now(self) -> float:
        """Returns monotonic seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Suspends the task for some seconds."""
        await asyncio.sleep(seconds)


class AsyncChannel:
    """A channel whose calls suspend the calling task. For one event loop."""

    def __init__(self, client: httpx2.AsyncClient, clock: AsyncClock) -> None:
        self.client = client
        self._clock = clock

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
        """Sends a request; returns the response before its body is read."""
        return await self.client.send(request, stream=True)

    async def read(self, response: httpx2.Response) -> bytes:
        """Reads the body of a response and closes it."""
        body = BodyBuffer()
        async for piece in response.aiter_bytes():
            body.add(piece)
        await response.aclose()
        return body.content()

    async def end(self, response: httpx2.Response) -> None:
        """Closes a response."""
        await response.aclose()

    async def close(self) -> None:
        """Closes the connections."""
        await self.client.aclose()


class _TaskLock:
    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def during(self, work: Callable[[], Awaitable[R]]) -> R:
        async with self._lock:
            return await work()
