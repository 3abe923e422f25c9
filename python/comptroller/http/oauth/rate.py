"""The rate limit: a token bucket for each client."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from math import ceil, isfinite
from typing import NamedTuple

from comptroller.errors import invalid

_MAX_BUCKETS = 10_000


class _Bucket(NamedTuple):
    level: float
    at: float


class Rate:
    """Limits each client to `per_second` requests on average.

    A burst may have twice as many requests, at least one. The 10,000 most recent clients have a
    bucket.
    """

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        if not (isfinite(per_second) and per_second > 0):
            raise invalid("rate", "must be a number of requests per second above 0")
        self._per_second = per_second
        self._burst = max(1.0, 2 * per_second)
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait_s(self, client_id: str) -> int:
        """Counts a request and returns 0; or, above the limit, the seconds to wait."""
        now = self._clock()
        level, at = self._buckets.pop(client_id, _Bucket(self._burst, now))
        level = min(self._burst, level + max(0.0, now - at) * self._per_second)
        is_allowed = level >= 1
        self._buckets[client_id] = _Bucket(level - 1 if is_allowed else level, now)
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return 0 if is_allowed else ceil((1 - level) / self._per_second)
