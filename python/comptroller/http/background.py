"""Work that may hang, beside the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread


class Background:
    """Runs a function in a thread, one run at a time, and lets callers wait for it for a while.

    Not in a pool: its threads would be waited for when the process ends.

    Args:
        work: the function; raises nothing.
        within_s: how long after the start of a run callers wait for its end.
    """

    def __init__(self, work: Callable[[], None], within_s: float) -> None:
        self._work = work
        self._within_s = within_s
        self._until = 0.0
        self._run: Future[None] | None = None

    def start(self) -> None:
        """Starts a run, unless one is under way."""
        if self._run is not None:
            return
        self._until = time.monotonic() + self._within_s
        run: Future[None] = Future()
        self._run = run
        run.set_running_or_notify_cancel()
        Thread(target=self._complete, args=[run], daemon=True).start()

    async def wait(self) -> None:
        """Waits for the run that is under way, if any."""
        run = self._run
        if run is not None:
            left_s = max(0.0, self._until - time.monotonic())
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.wrap_future(run), left_s)

    def _complete(self, run: Future[None]) -> None:
        try:
            self._work()
        finally:
            self._run = None
            run.set_result(None)
