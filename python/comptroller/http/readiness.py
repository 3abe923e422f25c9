"""Whether the store answers, for `/readyz`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from comptroller._core import Principal
from comptroller.errors import Error, unavailable
from comptroller.http.background import Background
from comptroller.http.cached import CachedForASecond
from comptroller.local import LocalHost

_LIFETIME_S = 1.0
_WITHIN_S = 5.0


class _Answer(NamedTuple):
    error: Error | None
    at: float


class Readiness:
    """Asks the store for an answer, at most once a second.

    A file is read at once. A database is asked in a thread of its own, so that the answer waits
    neither for other reads nor for locks of tables, and at most 5 s for the database.

    Args:
        host: the host of the store.
        clock: returns seconds that never go back.
    """

    def __init__(self, host: LocalHost, clock: Callable[[], float]) -> None:
        self._store = host.store
        self._clock = clock
        self._read = CachedForASecond(self._read_one, clock)
        self._asking = Background(self._ask, _WITHIN_S) if host.is_database else None
        self._answer: _Answer | None = None

    async def require(self) -> None:
        """Raises Error unless the store answers."""
        if self._asking is None:
            return self._read()
        now = self._clock()
        answer = self._answer
        if answer is None or answer.error is not None or now - answer.at >= _LIFETIME_S:
            self._asking.start()
            await self._asking.wait()
            answer = self._answer
        if answer is None or answer.at < now - _LIFETIME_S:
            raise unavailable(f"the database did not answer within {_WITHIN_S:g} s")
        if answer.error is not None:
            raise answer.error
        return None

    def _read_one(self) -> None:
        # For one customer, because the operator's list reads an index range for each customer.
        self._store.call(Principal("default"), "claims.list", [("limit", "1")], None, None)

    def _ask(self) -> None:
        error = None
        try:
            self._store.version()  # reads no table
        except Error as failure:
            error = failure
        self._answer = _Answer(error, self._clock())
