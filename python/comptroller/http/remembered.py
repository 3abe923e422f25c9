"""A value that is found out at most once a second, however many ask for it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

_Value = TypeVar("_Value")

_KEPT_S = 1.0


class Remembered(Generic[_Value]):
    """Calls a function, and returns its result for a second. An error is not kept.

    For any thread; one calls the function while the others wait for it.

    Args:
        find_out: the function.
        clock: seconds.
    """

    def __init__(self, find_out: Callable[[], _Value], clock: Callable[[], float]) -> None:
        self._find_out = find_out
        self._clock = clock
        self._lock = Lock()
        self._kept: tuple[_Value, float] | None = None

    def __call__(self) -> _Value:
        """The result, at most a second old."""
        with self._lock:
            now = self._clock()
            # The clock may have been set back.
            if self._kept is None or not 0 <= now - self._kept[1] < _KEPT_S:
                self._kept = None
                self._kept = self._find_out(), now
            return self._kept[0]
