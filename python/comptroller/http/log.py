"""The log: one JSON object a line, with nothing in it that must stay secret."""

from __future__ import annotations

import fcntl
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, BinaryIO

import msgspec
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from comptroller.http.exchange import Exchange

_FAILED = 500
_MOST_WAITING = 8192  # lines; together a few megabytes
_MOST_AT_ONCE = 256


class _Request(msgspec.Struct, kw_only=True):
    """The line of an answer."""

    time: datetime | str
    level: str = "info"
    event: str = "request"
    request_id: str
    client_id: str | None
    customer: str | None
    operation: str | None
    method: str
    route: str | None
    status: int | None
    milliseconds: float
    # Of what was refused.
    error: str | msgspec.UnsetType = msgspec.UNSET
    peer: str | msgspec.UnsetType | None = msgspec.UNSET


class Log(Collector):
    """Writes a line for each answer of an application: an observer of it.

    A line has the route, never the path, the query, a header or a body. That of a refusal has its
    code and the address of the client. That of a refused token request names the client if it is
    registered: an unknown name may be a secret in the wrong place.

    Lines are written by a thread of their own. Nobody waits for the reader of the log: lines that
    find 8,192 others waiting are dropped, and counted on the page of the metrics.

    Args:
        stream: where to; standard error by default.
        lock: a file or folder that every process locks while it writes to the same stream, so that
            lines stay whole.
    """

    def __init__(self, stream: BinaryIO | None = None, *, lock: Path | None = None) -> None:
        stream = stream or sys.stderr.buffer
        # Without the buffer: its lock would be held while nobody reads.
        self._file: BinaryIO = getattr(stream, "raw", stream)
        self._lines: SimpleQueue[bytes | Event] = SimpleQueue()
        self._lock = None if lock is None else os.open(lock, os.O_RDONLY)
        self._counting = Lock()
        self._waiting = 0
        self._dropped = 0
        Thread(target=self._write_all, daemon=True).start()

    def __call__(self, exchange: Exchange, seconds: float) -> None:
        """Writes the line of an answer."""
        refusal: dict[str, Any] = {}
        if exchange.status >= _FAILED:
            refusal["level"] = "error"
        if exchange.refusal:
            refusal |= {"error": exchange.refusal, "peer": exchange.peer}
        line = self.line(
            time=datetime.now(UTC),
            request_id=exchange.request_id,
            client_id=exchange.client_id,
            customer=exchange.customer,
            operation=exchange.operation or None,
            method=exchange.method,
            route=exchange.route or None,
            status=exchange.status or None,
            milliseconds=round(seconds * 1000, 3),
            **refusal,
        )
        self.write(line)

    def line(self, **members: Any) -> bytes:
        """The line of an answer, from the members of its object."""
        return msgspec.json.encode(_Request(**members)) + b"\n"

    def write(self, lines: bytes) -> None:
        """Hands whole lines on to be written, or drops them. For any thread."""
        count = lines.count(b"\n")
        with self._counting:
            if self._waiting >= _MOST_WAITING:
                self._dropped += count
                return
            self._waiting += count
        self._lines.put(lines)

    def flush(self, within_s: float = 1.0) -> None:
        """Waits until the lines so far are written, but no longer than this."""
        written = Event()
        self._lines.put(written)
        written.wait(within_s)

    def handler(self) -> logging.Handler:
        """Writes the records of other loggers as lines of the same kind."""
        return _Handler(self)

    def collect(self) -> Iterator[Metric]:
        """The number of dropped lines, for the page of the metrics."""
        yield CounterMetricFamily(
            "comptroller_log_lines_dropped",
            "Lines of the log that were dropped, because nobody read the ones before.",
            value=self._dropped,
        )

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Keeps other processes from writing meanwhile."""
        if self._lock is None:
            yield
            return
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _write_all(self) -> None:
        while True:
            waiting = [self._lines.get()]
            with suppress(Empty):
                while len(waiting) < _MOST_AT_ONCE:
                    waiting.append(self._lines.get_nowait())
            lines = b"".join(each for each in waiting if isinstance(each, bytes))
            count = lines.count(b"\n")
            dropped = 0
            try:
                with self._turn():
                    _write(self._file, lines)
            except (OSError, ValueError):  # the reader is gone, the disk full, the file closed
                dropped = count
            with self._counting:
                self._waiting -= count
                self._dropped += dropped
            for each in waiting:
                if isinstance(each, Event):
                    each.set()


class _Handler(logging.Handler):
    """Writes type and place of an exception, not its text, which may repeat what was sent."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = {
                "time": datetime.now(UTC),
                "level": record.levelname.lower(),
                "event": record.getMessage(),
                "logger": record.name,
            }
            if record.exc_info and record.exc_info[1] is not None:
                line |= _members_of(record.exc_info[1])
            self._log.write(msgspec.json.encode(line) + b"\n")
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        self._log.flush()


def _members_of(error: BaseException) -> dict[str, Any]:
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_qualname}")
        trace = trace.tb_next
    return {"exception": type(error).__qualname__, "trace": frames}


def _write(file: BinaryIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        written: int | None = file.write(left)
        if written is None:  # the file is in non-blocking mode
            raise BlockingIOError
        left = left[written:]
