"""Where the work of a request is done: on the event loop, or in threads beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from comptroller.routes import Operation

_MOST_READERS = 4

# A list takes no longer than its page where these and at most one more narrow it: there is an
# index for each, but for the moment at which something was in force.
_OF_PAGE = frozenset({"limit", "order", "page_cursor", "customer_id", "start_time", "end_time"})
_BOUND = "created_at."
_SCANNING = "active_at"
_LARGEST_SHORT = 100  # records


class Threads:
    """Threads for what waits for the disk, or may read much of the store."""

    def __init__(self) -> None:
        self._readers = ThreadPoolExecutor(_MOST_READERS, "comptroller-read")

    async def run(
        self, operation: Operation, parameters: list[tuple[str, str]], call: Callable[[], Any]
    ) -> Any:
        """What `call` returns, which calls the operation with these parameters."""
        if _is_short(operation, parameters):  # a thread would cost more than it does
            return call()
        return await asyncio.get_running_loop().run_in_executor(self._readers, call)


def _is_short(operation: Operation, parameters: list[tuple[str, str]]) -> bool:
    """Whether a read takes about as long in a store of any size."""
    if not operation.is_list:
        return True
    named = dict(parameters)
    choices = [name for name in named.keys() - _OF_PAGE if not name.startswith(_BOUND)]
    limit = named.get("limit", "")
    is_small = len(limit) < 3 or limit == str(_LARGEST_SHORT)
    return is_small and len(choices) <= 1 and _SCANNING not in choices
