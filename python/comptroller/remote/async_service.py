"""A remote service on an event loop: the same resources, whose methods are awaited."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from comptroller.async_operations import AsyncResources

if TYPE_CHECKING:
    from comptroller.remote.calls import Calls


class AsyncService(AsyncResources):
    """A remote service for asyncio, made by :func:`comptroller.connect_async`.

    Each resource has the methods of the one of :class:`comptroller.Service`, as coroutines; `iter`
    is for ``async for``. There is no stream, load or export: for these use `comptroller.connect` in
    a thread. For one event loop, and any number of tasks.
    """

    def __init__(self, calls: Calls, title: str) -> None:
        super().__init__(calls)
        self._calls = calls
        self._title = title

    async def close(self) -> None:
        """Ends the connections; closing again does nothing."""
        await self._calls.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncService {self._title}>"
