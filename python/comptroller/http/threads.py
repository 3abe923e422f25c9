"""Where the work of a request is done: on the event loop, or in threads beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from comptroller import routes
from comptroller.routes import Operation

_MOST_WRITERS = 64  # what is queued together is committed together
_MOST_READERS = 4

# Within these a page is one statement, which takes a fraction of a millisecond.
_MOST_RECORDS = 100
_MOST_RANGES = 16


class Threads:
    """Threads for what waits for the disk, or may read much of the store."""

    def __init__(self) -> None:
        self._writers = ThreadPoolExecutor(_MOST_WRITERS, "comptroller-write")
        self._readers = ThreadPoolExecutor(_MOST_READERS, "comptroller-read")

    async def run(
        self,
        operation: Operation,
        parameters: list[tuple[str, str]],
        customer: str | None,
        call: Callable[[], Any],
    ) -> Any:
        """What `call` returns, which calls the operation with these parameters.

        Args:
            customer: the caller's; None for an operator.
        """
        if operation.is_write:
            return await asyncio.get_running_loop().run_in_executor(self._writers, call)
        if is_short(operation, parameters, customer):  # a thread would cost more than it does
            return call()
        return await asyncio.get_running_loop().run_in_executor(self._readers, call)


def is_short(operation: Operation, parameters: list[tuple[str, str]], customer: str | None) -> bool:
    """Whether a read takes a fraction of a millisecond in a store of any size.

    A list does if its page is small and has at most one filter, which an index in the order of the
    page serves. Each value of the filter is a range of that index, or several, for each customer
    whose rows are merged.
    """
    if operation.is_bounded:
        return True
    filters = routes.filters(operation.request)
    given = [name for name, _ in parameters if name in filters]
    ranges = sum(filters[name] for name in given) if given else 1
    if customer is None and "customer_id" not in dict(parameters):
        ranges *= routes.description()["most_merged_customers"]
    return (
        len(set(given)) <= 1
        and 0 < ranges <= _MOST_RANGES
        and all(_is_small(value) for name, value in parameters if name == "limit")
    )


def _is_small(limit: str) -> bool:
    return len(limit) <= 3 and limit.isdecimal() and int(limit) <= _MOST_RECORDS
