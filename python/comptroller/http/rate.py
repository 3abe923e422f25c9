"""The rate of requests of each client: a token bucket each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from math import ceil, isfinite
from typing import NamedTuple

from comptroller.errors import invalid

_MOST_BUCKETS = 10_000


class _Bucket(NamedTuple):
    level: float
    at: float


class Rate:
    """Lets each client ask `per_second` times on average, and twice that (or once) in a burst.

    Only the clients that asked last are remembered, 10,000 of them.
    """

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        if not (isfinite(per_second) and per_second > 0):
            raise invalid("rate", "must be a number of requests per second above 0")
        self._per_second = per_second
        self._burst = max(1.0, 2 * per_second)
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait_s(self, client_id: str) -> int:
        """0 where the client may ask, which is counted; else in how many seconds it may again."""
        now = self._clock()
        level, at = self._buckets.pop(client_id, _Bucket(self._burst, now))
        level = min(self._burst, level + max(0.0, now - at) * self._per_second)
        may = level >= 1
        self._buckets[client_id] = _Bucket(level - 1 if may else level, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return 0 if may else ceil((1 - level) / self._per_second)
