"""What was produced for a client that reads slowly, so that the producer need not wait for it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TypeVar

R = TypeVar("R")

_IN_MEMORY = 1 << 20  # bytes
_PIECE = 64 << 10  # bytes


class Spool:
    """An unnamed temporary file, whose descriptor stays open until no thread uses it.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = TemporaryFile(buffering=0, dir=folder)  # noqa: SIM115
        self._lock = threading.Lock()
        self._users = 1
        self.descriptor = self._file.fileno()

    async def run(self, pool: Executor, work: Callable[[], R]) -> R:
        """Runs `work` in a thread of the pool; cancelling the caller does not stop the thread."""
        with self._lock:
            self._users += 1
        try:
            job = pool.submit(work)
        except BaseException:
            self.close()
            raise
        job.add_done_callback(lambda _: self.close())
        return await asyncio.wrap_future(job)

    def close(self) -> None:
        """Closes the file, now or when its last thread has finished."""
        with self._lock:
            self._users -= 1
            is_last = self._users == 0
        if is_last:
            self._file.close()


class Backlog:
    """Bytes in order: a megabyte in memory, and what does not fit there in an unnamed file.

    Without space for the file, `fill` waits until the client has read.

    Args:
        folder: the folder of the file.
        pool: writes and reads the file.
    """

    def __init__(self, folder: Path | None, pool: Executor) -> None:
        self._folder = folder
        self._pool = pool
        self._pieces: deque[bytes] = deque()
        self._bytes = 0  # of the pieces, which precede those in the file
        self._spool: Spool | None = None
        self._read = self._written = 0  # bytes of the file
        self._has_ended = False
        self._failure: Exception | None = None
        self._changed = asyncio.Condition()

    async def fill(self, read: Callable[[int], Awaitable[bytes]]) -> None:
        """Keeps what `read` returns, until that is empty or fails."""
        try:
            while piece := await read(_PIECE):
                if self._has_room() or not await self._write(piece):
                    await self._keep(piece)
        except Exception as error:
            self._failure = error
        async with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    async def take(self) -> bytes:
        """Returns the next bytes, at least one; empty at the end."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._has_any() or self._has_ended)
        if self._pieces:
            piece = self._pieces.popleft()
            self._bytes -= len(piece)
        elif self._spool and self._has_any():
            descriptor, at = self._spool.descriptor, self._read
            piece = await self._spool.run(self._pool, partial(os.pread, descriptor, _PIECE, at))
            self._read += len(piece)
        elif self._failure:
            raise self._failure
        else:
            return b""
        async with self._changed:
            self._changed.notify_all()
        return piece

    def close(self) -> None:
        """Removes the file."""
        if self._spool:
            self._spool.close()
            self._spool = None

    def _has_any(self) -> bool:
        return self._bytes > 0 or self._read < self._written

    def _has_room(self) -> bool:
        return self._bytes < _IN_MEMORY and self._read == self._written

    async def _keep(self, piece: bytes) -> None:
        async with self._changed:
            await self._changed.wait_for(self._has_room)
            self._pieces.append(piece)
            self._bytes += len(piece)
            self._changed.notify_all()

    async def _write(self, piece: bytes) -> bool:
        """Adds a piece to the file; returns whether the file has space for it."""
        try:
            self._spool = self._spool or Spool(self._folder)
            work = partial(write_all, self._spool.descriptor, piece, self._written)
            await self._spool.run(self._pool, work)
        except OSError:
            return False
        async with self._changed:
            self._written += len(piece)
            self._changed.notify_all()
        return True


def write_all(descriptor: int, data: bytes, at: int) -> None:
    """Writes all bytes to a place of a file."""
    left = memoryview(data)
    while left:
        written = os.pwrite(descriptor, left, at)
        left, at = left[written:], at + written
