"""The channel of asyncio, apart, because a client that blocks does not need to import asyncio."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager

import httpx2

from comptroller.remote.channel import AsyncClock, Whole


class AsyncSystemClock:
    """The machine's time."""

    def now(self) -> float:
        """Seconds that no change of the calendar disturbs."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Returns so much later."""
        await asyncio.sleep(seconds)


class AsyncChannel:
    """Suspends the calling task. For one event loop of asyncio."""

    def __init__(self, client: httpx2.AsyncClient, clock: AsyncClock) -> None:
        self.client = client
        self._clock = clock

    def now(self) -> float:
        """Seconds since some moment."""
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        """Suspends so long."""
        await self._clock.sleep(seconds)

    def lock(self) -> AbstractAsyncContextManager[object]:
        """A lock between tasks."""
        return asyncio.Lock()

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Sends."""
        return await self.client.send(request, stream=True)

    async def read(self, response: httpx2.Response) -> bytes:
        """Reads."""
        whole = Whole()
        async for piece in response.aiter_bytes():
            whole.add(piece)
        await response.aclose()
        return whole.content()

    async def end(self, response: httpx2.Response) -> None:
        """Ends an answer."""
        await response.aclose()

    async def close(self) -> None:
        """Ends the connections."""
        await self.client.aclose()
