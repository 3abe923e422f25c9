"""Caching of the result of a function for a second."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

_Value = TypeVar("_Value")

_LIFETIME_S = 1.0


class CachedForASecond(Generic[_Value]):
    """Caches the result of a function for a second after its end. An exception is not cached.

    Threads may share an instance: one calls the function, the others wait for it.

    Args:
        compute: the function.
        clock: returns seconds that never go back.
    """

    def __init__(self, compute: Callable[[], _Value], clock: Callable[[], float]) -> None:
        self._compute = compute
        self._clock = clock
        self._lock = Lock()
        self._cached: tuple[_Value, float] | None = None

    def __call__(self) -> _Value:
        """Returns the result, which was computed at most a second ago."""
        with self._lock:
            if self._cached is None or self._clock() - self._cached[1] >= _LIFETIME_S:
                self._cached = None
                result = self._compute()
                self._cached = result, self._clock()
            return self._cached[0]
