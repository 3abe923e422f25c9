"""Blocking work in a thread, with a time limit for its callers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread


class Background:
    """Runs a function in a thread, one run at a time, for which callers wait up to a limit.

    The thread is a daemon, because the end of the process would wait for the threads of a pool.

    Args:
        work: the function; it must not raise.
        within_s: the limit, in seconds after the start of a run.
    """

    def __init__(self, work: Callable[[], None], within_s: float) -> None:
        self._work = work
        self._within_s = within_s
        self._until = 0.0
        self._run: Future[None] | None = None

    def start(self) -> None:
        """Starts a run, unless one is running."""
        if self._run is not None:
            return
        self._until = time.monotonic() + self._within_s
        run: Future[None] = Future()
        self._run = run
        run.set_running_or_notify_cancel()
        try:
            Thread(target=self._complete, args=[run], daemon=True).start()
        except RuntimeError:  # there are too many
            self._run = None
            raise

    async def wait(self) -> None:
        """Waits for the current run, if any, up to the limit."""
        run = self._run
        if run is not None:
            left_s = max(0.0, self._until - time.monotonic())
            # Not asyncio.wait_for: on Python 3.11 it loses a cancellation when the run ends.
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await asyncio.wrap_future(run)

    def _complete(self, run: Future[None]) -> None:
        try:
            self._work()
        finally:
            self._run = None
            run.set_result(None)
