"""The log: one JSON object for each line, without secrets."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import sys
from collections import deque
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
_MAX_QUEUED_LINES = 8192  # a few megabytes
_MAX_BATCH = 256


class _Request(msgspec.Struct, kw_only=True):
    """The log line of a request."""

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
    # Only of errors.
    error: str | msgspec.UnsetType = msgspec.UNSET
    peer: str | msgspec.UnsetType | None = msgspec.UNSET


class Log(Collector):
    """Logs a line for each request; an observer of an application.

    A line has the route, never the path, the query, a header or a body. The line of an error has
    its code and the address of the client. The line of a rejected token request names the client
    only if it is registered, because an unknown client id may be a misplaced secret.

    A separate thread writes the lines, so a slow reader of the log delays no request. It gets the
    lines of a loop iteration together. If 8,192 lines are queued, further lines are dropped and
    counted in the metrics.

    Args:
        stream: the stream to write to; by default standard error, or nothing if that is closed.
        lock: a file or folder that each process locks while it writes to a shared stream, so that
            lines are not mixed.
    """

    def __init__(self, stream: BinaryIO | None = None, *, lock: Path | None = None) -> None:
        stream = stream or _standard_error()
        # The raw stream, because a blocked write would hold the lock of the buffer.
        self._file: BinaryIO = getattr(stream, "raw", stream)
        self._lines: SimpleQueue[tuple[bytes, int] | Event] = SimpleQueue()
        # The requests of an iteration, of any loop; waking the thread for each costs more than
        # the rest of the log.
        self._gathered: deque[bytes] = deque()
        self._lock = None if lock is None else os.open(lock, os.O_RDONLY)
        self._counting = Lock()
        self._waiting = 0
        self._dropped = 0
        Thread(target=self._write_all, daemon=True).start()

    def __call__(self, exchange: Exchange, seconds: float) -> None:
        """Logs a request, at the end of the iteration of the running event loop."""
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
        if not self._gathered:
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._gathered.append(line)

    def _hand_over(self) -> None:
        lines = []
        with suppress(IndexError):  # empty; another loop may take lines at the same time
            while True:
                lines.append(self._gathered.popleft())
        if lines:
            self.write(b"".join(lines), len(lines))

    def event(self, name: str, **members: Any) -> None:
        """Logs an event of the server."""
        line = {"time": datetime.now(UTC), "level": "info", "event": name, **members}
        self.write(msgspec.json.encode(line) + b"\n")

    def line(self, **members: Any) -> bytes:
        """Returns the line of a request, from its members."""
        return msgspec.json.encode(_Request(**members)) + b"\n"

    def write(self, lines: bytes, count: int = 1) -> None:
        """Queues `count` complete lines, or drops them. Callable from any thread."""
        with self._counting:
            if self._waiting >= _MAX_QUEUED_LINES:
                self._dropped += count
                return
            self._waiting += count
        self._lines.put((lines, count))

    def flush(self, within_s: float = 1.0) -> None:
        """Waits until the queued lines are written, for at most `within_s` seconds."""
        written = Event()
        self._lines.put(written)
        written.wait(within_s)

    def handler(self) -> logging.Handler:
        """Returns a handler that writes the records of Python's logging to this log."""
        return _Handler(self)

    def collect(self) -> Iterator[Metric]:
        """Yields the number of dropped lines, for the metrics."""
        yield CounterMetricFamily(
            "comptroller_log_lines_dropped",
            "Log lines that were dropped, because the queue was full or writing failed.",
            value=self._dropped,
        )

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Holds the lock against writes of other processes."""
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
                while len(waiting) < _MAX_BATCH:
                    waiting.append(self._lines.get_nowait())
            batch = [each for each in waiting if isinstance(each, tuple)]
            lines = b"".join([each for each, _ in batch])
            count = sum(each for _, each in batch)
            dropped = 0
            try:
                with self._turn():
                    _write(self._file, lines)
            except (OSError, ValueError):  # a broken pipe, a full disk, a closed file
                dropped = count
            with self._counting:
                self._waiting -= count
                self._dropped += dropped
            for each in waiting:
                if isinstance(each, Event):
                    each.set()


class _Handler(logging.Handler):
    """Logs the type and traceback of an exception, not its text, which may quote a request."""

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


def _standard_error() -> BinaryIO:
    if sys.stderr is None:
        return Path(os.devnull).open("wb")
    return sys.stderr.buffer


def _write(file: BinaryIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        written: int | None = file.write(left)
        if written is None:  # the file is in non-blocking mode
            raise BlockingIOError
        left = left[written:]
