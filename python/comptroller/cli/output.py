"""Standard output: it is written whole, or the command fails."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

#: The time that an interrupted command waits for the reader of its output, in seconds.
_LAST_WRITE_S = 1.0


class _Output(io.BufferedWriter):
    """The buffer of standard output, which keeps the error of the first write that failed."""

    failed: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.failed = self.failed or error
            raise

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self.failed = self.failed or error
            raise


@contextmanager
def buffered() -> Iterator[None]:
    """Gives standard output its own buffer, also if PYTHONUNBUFFERED takes it away.

    Python ignores that an unbuffered write wrote only a part, as on a disk that gets full.
    """
    stream = sys.stdout
    buffer = stream.buffer if isinstance(stream, io.TextIOWrapper) else None
    raw = buffer.raw if isinstance(buffer, io.BufferedWriter) else buffer
    if not isinstance(stream, io.TextIOWrapper) or not isinstance(raw, io.RawIOBase):
        yield
        return
    with suppress(OSError):
        stream.flush()
    whole = io.TextIOWrapper(
        _Output(raw), stream.encoding, line_buffering=stream.line_buffering or raw is buffer
    )
    sys.stdout = whole
    try:
        yield
    finally:
        sys.stdout = stream
        empty(whole)  # has something only after an exception that leaves `run`
        with suppress(OSError):
            whole.detach().detach()


def flush() -> None:
    """Writes what standard output buffers, if it can."""
    with suppress(OSError):
        if sys.stdout is not None:
            sys.stdout.flush()


def has_failed(error: Exception) -> bool:
    """Whether an error is that of a write to standard output."""
    output = getattr(sys.stdout, "buffer", None)
    return isinstance(output, _Output) and output.failed is error


def empty(stream: TextIO) -> None:
    """Writes what a stream buffers, or discards it if that fails or takes too long.

    Otherwise Python would try again when it exits, fail again, and exit with 120.
    """
    with suppress(AttributeError, OSError, ValueError):  # None, no file, or closed
        try:
            with _time_limit():
                stream.flush()
        except (OSError, KeyboardInterrupt):
            _discard_buffer(stream)


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raises TimeoutError in a write that waits too long for a reader."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGALRM) is None:  # the latter is one of C
        yield
        return

    def expire(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, expire)
    timer_before = signal.setitimer(signal.ITIMER_REAL, _LAST_WRITE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer_before)
        signal.signal(signal.SIGALRM, before)


def _discard_buffer(stream: TextIO) -> None:
    descriptor = stream.fileno()
    before, nothing = os.dup(descriptor), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, descriptor)
        stream.flush()
    finally:
        os.dup2(before, descriptor)
        os.close(before)
        os.close(nothing)
