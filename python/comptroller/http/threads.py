"""Execution of reads, on the event loop or in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_MAX_READERS = 4


class Threads:
    """A pool of threads for long reads."""

    def __init__(self) -> None:
        self._readers = ThreadPoolExecutor(_MAX_READERS, "comptroller-read")

    async def run(self, is_short: bool, read: Callable[[], Any]) -> Any:
        """Calls `read`: on the event loop if it is short, as a thread would cost more time."""
        if is_short:
            return read()
        return await asyncio.get_running_loop().run_in_executor(self._readers, read)
