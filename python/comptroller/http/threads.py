"""Where the work of a request is done: on the event loop, or in threads beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_MOST_READERS = 4


class Threads:
    """Threads for what may read much of the store."""

    def __init__(self) -> None:
        self._readers = ThreadPoolExecutor(_MOST_READERS, "comptroller-read")

    async def run(self, is_short: bool, read: Callable[[], Any]) -> Any:
        """Calls `read`, on the event loop if it is short: a thread would cost more than it does."""
        if is_short:
            return read()
        return await asyncio.get_running_loop().run_in_executor(self._readers, read)
