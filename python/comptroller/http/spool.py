"""Unnamed temporary files, which threads of a pool use for the event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from tempfile import TemporaryFile
from typing import TypeVar

R = TypeVar("R")


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


def write_all(descriptor: int, data: bytes | memoryview, at: int) -> None:
    """Writes all bytes to a place of a file, and begins their transfer to the disk.

    Otherwise the file system may make a commit of the store wait for all of them.
    """
    left, place = memoryview(data), at
    while left:
        written = os.pwrite(descriptor, left, place)
        left, place = left[written:], place + written
    if hasattr(os, "posix_fadvise"):  # not on macOS
        os.posix_fadvise(descriptor, at, len(data), os.POSIX_FADV_DONTNEED)
