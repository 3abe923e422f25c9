"""The page `/metrics`, whose collectors may wait for a disk or a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from comptroller.errors import unavailable
from comptroller.http.background import Background

_WITHIN_S = 5.0
_SHOWN_FOR_S = 60.0


class _Collected(NamedTuple):
    text: bytes
    error: Exception | None
    at: float


class MetricsPage:
    """Collects the metrics in a thread of its own, for which a request waits at most 5 s.

    If that takes longer, the last page is shown until it is a minute old. For the thread of the
    application's event loop.

    Args:
        collect: returns the page.
        clock: returns seconds that never go back.
        lifetime_s: how long a page is cached, in seconds after it was collected.
    """

    def __init__(
        self, collect: Callable[[], bytes], clock: Callable[[], float], lifetime_s: float
    ) -> None:
        self._collect = collect
        self._clock = clock
        self._lifetime_s = lifetime_s
        self._collecting = Background(self._collect_one, _WITHIN_S)
        self._last: _Collected | None = None

    async def text(self) -> bytes:
        """Returns the page. Raises Unavailable if it is late, and the error of a collector."""
        now = self._clock()
        last = self._last
        if last is None or last.error is not None or now - last.at >= self._lifetime_s:
            self._collecting.start()
            await self._collecting.wait()
            last = self._last
        if last is None or last.at < now - _SHOWN_FOR_S:
            raise unavailable(f"the metrics were not collected within {_WITHIN_S:g} s")
        if last.error is not None:
            raise last.error
        return last.text

    def _collect_one(self) -> None:
        text, error = b"", None
        try:
            text = self._collect()
        except Exception as failure:
            error = failure
        self._last = _Collected(text, error, self._clock())
