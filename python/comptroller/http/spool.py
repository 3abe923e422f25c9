"""Unnamed temporary files, which threads of a pool use for the event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TypeVar

R = TypeVar("R")

_TRANSFERRED_FROM = 1 << 20  # bytes


class Spool:
    """An unnamed temporary file, whose descriptor stays open until no thread uses it.

    Args:
        folder: its folder; None is the default one.
        pool: uses the file, unless `run` gets another one, and closes it.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, folder: Path | None, pool: Executor) -> None:
        self._file = TemporaryFile(buffering=0, dir=folder)  # noqa: SIM115
        self._pool = pool
        self._lock = threading.Lock()
        self._users = 1
        self._transferred = 0  # bytes of the file
        self.descriptor = self._file.fileno()

    async def run(self, work: Callable[[], R], pool: Executor | None = None) -> R:
        """Runs `work` in a thread of a pool; cancelling the caller does not stop the thread."""
        self.hold()
        try:
            job = (pool or self._pool).submit(work)
        except BaseException:
            self.close()
            raise
        job.add_done_callback(lambda _: self.close())
        return await asyncio.wrap_future(job)

    def write(self, data: bytes | memoryview, at: int) -> int:
        """Writes bytes to a place, at or after the previous one, or to the beginning.

        Begins their transfer to the disk, so that a commit of the store does not wait for many.
        For one thread at a time.

        Returns:
            How many it wrote, at least one.
        """
        written = os.pwrite(self.descriptor, data, at)
        begin, end = self._transferred if at else 0, at + written
        if end - begin >= _TRANSFERRED_FROM and hasattr(os, "posix_fadvise"):  # not on macOS
            with suppress(OSError):  # it is only a hint
                os.posix_fadvise(self.descriptor, begin, end - begin, os.POSIX_FADV_DONTNEED)
            begin = end
        self._transferred = begin
        return written

    def write_all(self, data: bytes, at: int) -> None:
        """Writes all bytes to a place, as `write` does."""
        left = memoryview(data)
        while left:
            written = self.write(left, at)
            left, at = left[written:], at + written

    def hold(self) -> None:
        """Keeps the file open until it is closed once more than before."""
        with self._lock:
            self._users += 1

    def close(self) -> None:
        """Closes the file, now or when its last user has closed it.

        A thread of the pool closes it, because the system takes 0.1 s to free a gigabyte.
        """
        with self._lock:
            self._users -= 1
            is_last = self._users == 0
        if is_last:
            try:
                self._pool.submit(self._file.close)
            except RuntimeError:  # the pool has ended
                self._file.close()
