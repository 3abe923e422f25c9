"""The asyncio client of a remote service."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from comptroller.async_operations import AsyncResources

if TYPE_CHECKING:
    from comptroller.remote.calls import Calls


class AsyncService(AsyncResources):
    """A remote service for asyncio, made by :func:`comptroller.connect_async`.

    The resources have the methods of those of :class:`comptroller.Service`, as coroutines; `iter`
    is for ``async for``. For streams, loads and exports, use :func:`comptroller.connect` in a
    thread. All tasks of one event loop may share an instance.
    """

    def __init__(self, calls: Calls, title: str) -> None:
        super().__init__(calls)
        self._calls = calls
        self._title = title

    async def close(self) -> None:
        """Closes the connections; closing again does nothing."""
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
