"""The SHA-256 of a file, computed while others read it."""

from __future__ import annotations

import hashlib
import io
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

_PIECE = 1 << 20


class FileDigest:
    """Computes the SHA-256 of a file in a thread of its own, until `closing` ends it.

    Args:
        file: a regular file; its position does not change.
        closing: ends the thread. The file must still be open then.
    """

    def __init__(self, file: io.BufferedReader, closing: ExitStack) -> None:
        self._descriptor = file.fileno()
        self._before = self._state()
        self._is_abandoned = Event()
        executor = closing.enter_context(ThreadPoolExecutor(1))
        closing.callback(self._is_abandoned.set)
        self._digest = executor.submit(self._compute)

    def __call__(self) -> str | None:
        """Waits for the hexadecimal digits; None if the file has changed since it was opened."""
        digest = self._digest.result()
        return digest if self._state() == self._before else None

    def _state(self) -> tuple[int, int, int]:
        status = os.fstat(self._descriptor)
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def _compute(self) -> str:
        computed = hashlib.sha256()
        done = 0
        while not self._is_abandoned.is_set():
            piece = os.pread(self._descriptor, _PIECE, done)
            if not piece:
                break
            computed.update(piece)
            done += len(piece)
        return computed.hexdigest()
