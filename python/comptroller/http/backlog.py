"""What was produced for a client that reads slowly, so that the producer need not wait for it."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections import deque
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from pathlib import Path

from comptroller.http.exchange import Disconnected
from comptroller.http.spool import Spool

_IN_MEMORY = 1 << 20  # bytes
_PIECE = 64 << 10  # bytes
# A loop that ends without ending its tasks does not close their backlogs.
_LOOK_EVERY_S = 1.0
#: What a backlog leaves of the free space in its folder, for the store, in bytes.
_LEFT_FREE = 1 << 30


class Backlog:
    """Bytes in order: a megabyte in memory, and what does not fit there in an unnamed file.

    A thread writes them, without a turn of the event loop, whose turns are long on a busy server.
    Without a gigabyte of free space, and without a folder, it waits until the client has read.

    Args:
        folder: the folder of the file.
        pool: reads and closes the file.
    """

    def __init__(self, folder: Path | None, pool: Executor) -> None:
        self._folder = folder
        self._pool = pool
        self._loop = asyncio.get_running_loop()
        self._has_more = asyncio.Event()
        self._changed = threading.Condition()  # guards what follows
        self._pieces: deque[bytes] = deque()
        self._bytes = 0  # of the pieces, which precede those in the file
        self._spool: Spool | None = None
        self._read = self._written = 0  # bytes of the file
        self._has_ended = self._is_closed = False
        self._is_full = False  # of the writing thread

    def write(self, data: bytes) -> None:
        """Adds bytes. For one thread, not that of the loop.

        Raises:
            Disconnected: the backlog was closed.
        """
        left = memoryview(data)
        while left := left[self._keep(left) :]:
            if written := self._append(left):
                left = left[written:]
            else:
                self._wait_for_room()

    def end(self) -> None:
        """Ends the bytes."""
        with self._changed:
            self._has_ended = True
        self._notify_reader()

    async def take(self) -> bytes:
        """Returns the next bytes, at least one; empty at the end.

        Raises:
            RuntimeError: the file cannot be read.
        """
        while True:
            with self._changed:
                self._has_more.clear()
                if self._pieces:
                    piece = self._pieces.popleft()
                    self._bytes -= len(piece)
                    self._changed.notify_all()
                    return piece
                spool, at, size = self._spool, self._read, self._written - self._read
                if size == 0 and self._has_ended:
                    return b""
            if spool and size:
                return await self._read_file(spool, min(size, _PIECE), at)
            await self._has_more.wait()

    def close(self) -> None:
        """Removes the file; later writes fail."""
        with self._changed:
            self._is_closed = True
            spool, self._spool = self._spool, None
            self._changed.notify_all()
        if spool:
            spool.close()

    def _notify_reader(self) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._has_more.set)

    def _require_open(self) -> None:
        if self._is_closed or self._loop.is_closed():
            raise Disconnected

    def _has_room(self) -> bool:
        return self._bytes < _IN_MEMORY and self._read == self._written

    def _wait_for_room(self) -> None:
        with self._changed:
            while not self._has_room():
                self._require_open()
                self._changed.wait(_LOOK_EVERY_S)

    def _keep(self, data: memoryview) -> int:
        """Keeps the bytes for which there is room in memory; returns their number."""
        kept = 0
        with self._changed:
            self._require_open()
            while kept < len(data) and self._has_room():
                piece = bytes(data[kept : kept + _PIECE])
                self._pieces.append(piece)
                self._bytes += len(piece)
                kept += len(piece)
        self._notify_reader()
        return kept

    def _append(self, data: memoryview) -> int:
        """Adds bytes to the file, which begins anew after it was read; returns their number.

        After a failure it adds none until the file was read.
        """
        with self._changed:
            if self._read == self._written:
                self._is_full, self._read, self._written = False, 0, 0
            at = self._written
        if self._is_full or self._folder is None:
            return 0
        try:
            spool = self._held_spool(self._folder)
            try:
                _make_room(spool.descriptor, at)
                written = spool.write(data, at)
            finally:
                spool.close()
        except OSError:
            self._is_full = True
            return 0
        with self._changed:
            self._written += written
        self._notify_reader()
        return written

    def _held_spool(self, folder: Path) -> Spool:
        """Returns the file, which stays open until it is closed once more."""
        if spool := self._hold(self._spool):
            return spool
        spool = Spool(folder, self._pool)
        try:
            self._hold(spool)
        except Disconnected:
            spool.close()
            raise
        return spool

    def _hold(self, spool: Spool | None) -> Spool | None:
        with self._changed:
            self._require_open()
            self._spool = spool
            if spool:
                spool.hold()
        return spool

    async def _read_file(self, spool: Spool, size: int, at: int) -> bytes:
        try:
            piece = await spool.run(partial(os.pread, spool.descriptor, size, at))
            if not piece:
                raise OSError(errno.EIO, "it is too short")
        except OSError as error:
            raise RuntimeError(f"a spooled file cannot be read: {error.strerror}") from error
        with self._changed:
            self._read += len(piece)
            self._changed.notify_all()
        return piece


def _make_room(descriptor: int, at: int) -> None:
    """Removes what was read; raises OSError without the space that a backlog leaves."""
    if at == 0:
        os.ftruncate(descriptor, 0)
    system = os.fstatvfs(descriptor)
    if system.f_bavail * system.f_frsize < _LEFT_FREE:
        raise OSError(errno.ENOSPC, "too little free space")
