"""What was produced for a client that reads slowly, so that the producer need not wait for it."""

from __future__ import annotations

import asyncio
import errno
import os
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

from comptroller.http.spool import Spool, write_all

_IN_MEMORY = 1 << 20  # bytes
_PIECE = 64 << 10  # bytes
#: What a backlog leaves of the free space in its folder, for the store, in bytes.
_LEFT_FREE = 1 << 30


class Backlog:
    """Bytes in order: a megabyte in memory, and what does not fit there in an unnamed file.

    Without a gigabyte of free space, and without a folder, `fill` waits until the client has read.

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
        self._is_full = False
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
        """Returns the next bytes, at least one; empty at the end.

        Raises:
            Exception: that of `read`, after the bytes before it.
            RuntimeError: the file cannot be read.
        """
        async with self._changed:
            while not self._has_any() and not self._has_ended:
                await self._changed.wait()
        if self._pieces:
            piece = self._pieces.popleft()
            self._bytes -= len(piece)
        elif self._spool and self._has_any():
            piece = await self._read_file(self._spool)
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
            while not self._has_room():
                await self._changed.wait()
            self._pieces.append(piece)
            self._bytes += len(piece)
            self._changed.notify_all()

    async def _read_file(self, spool: Spool) -> bytes:
        try:
            piece = await spool.run(partial(os.pread, spool.descriptor, _PIECE, self._read))
            if not piece:
                raise OSError(errno.EIO, "it is too short")
        except OSError as error:
            raise RuntimeError(f"a spooled file cannot be read: {error.strerror}") from error
        self._read += len(piece)
        return piece

    async def _write(self, piece: bytes) -> bool:
        """Adds a piece to the file, which begins anew after it was read; returns whether it did.

        After a failure it writes no more until the file was read.
        """
        if self._read == self._written:
            self._is_full, self._read, self._written = False, 0, 0
        if self._is_full or self._folder is None:
            return False
        try:
            spool = self._spool = self._spool or Spool(self._folder, self._pool)
            await spool.run(partial(_append, spool.descriptor, piece, self._written))
        except OSError:
            self._is_full = True
            if self._spool is None:
                self._folder = None
            return False
        async with self._changed:
            self._written += len(piece)
            self._changed.notify_all()
        return True


def _append(descriptor: int, piece: bytes, at: int) -> None:
    if at == 0:
        os.ftruncate(descriptor, 0)
    system = os.fstatvfs(descriptor)
    if system.f_bavail * system.f_frsize < _LEFT_FREE:
        raise OSError(errno.ENOSPC, "too little free space")
    write_all(descriptor, piece, at)
