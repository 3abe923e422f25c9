"""A proxy between a store and its PostgreSQL server.

It shows the requests of each connection, which a test can hold back, and it can cut connections.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from postgresql_server import Server

_SOCKET = ".s.PGSQL.5432"
_SYNC, _EXECUTE = b"S", b"E"
_ENDS_OF_COPY = (b"c", b"f")


class Batch(NamedTuple):
    """Requests that are sent together: the messages until Sync, or until a statement is executed.

    Attributes:
        connection: the number of the connection.
        data: the bytes of the messages.
        executes: whether they execute a statement, and do not only prepare one.
    """

    connection: int
    data: bytes
    executes: bool


class Proxy:
    """Passes requests on after `before`, which may wait; if it returns False, sends them, but
    closes the connection instead of passing on what the server answers.

    Its folder has a socket, like that of the server. Use it as a context manager.

    Attributes:
        bytes_left: if set, the number of bytes of answers that are still passed on, of all
            connections; the connection of the last one is then cut, and the attribute unset.

    Args:
        server: to which the requests are passed.
        before: called before each batch.
        by_statement: whether a batch ends at each statement, also if further ones are sent with it.
            The server executes each as soon as it is passed on, and answers after the last one.
    """

    def __init__(
        self, server: Server, before: Callable[[Batch], bool], *, by_statement: bool = False
    ) -> None:
        self.bytes_left: int | None = None
        self._upstream = str(server.folder / _SOCKET)
        self._before = before
        self._ends = (_SYNC, b"Q", b"X", *_ENDS_OF_COPY, *([_EXECUTE] if by_statement else []))
        self._folder = TemporaryDirectory(prefix="comptroller-proxy-", dir="/tmp")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(Path(self._folder.name) / _SOCKET))
        self._listener.listen(64)
        self._connections: list[socket.socket] = []

    @property
    def server(self) -> Server:
        """The proxy as a server, for addresses."""
        return Server(Path(self._folder.name))

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        for each in (self._listener, *self._connections):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._folder.cleanup()

    def refuse(self) -> None:
        """Accepts no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            for number in range(1 << 30):
                client, _ = self._listener.accept()
                upstream = socket.socket(socket.AF_UNIX)
                upstream.connect(self._upstream)
                self._connections += (client, upstream)
                for target in (self._pass_requests, self._pass_answers):
                    threading.Thread(
                        target=target, args=(client, upstream, number), daemon=True
                    ).start()

    def _pass_requests(self, client: socket.socket, upstream: socket.socket, number: int) -> None:
        with suppress(OSError, EOFError):
            reader = client.makefile("rb")
            length = _read(reader, 4)
            upstream.sendall(length + _read(reader, struct.unpack("!I", length)[0] - 4))
            data, executes = b"", False
            while True:
                head = _read(reader, 5)
                data += head + _read(reader, struct.unpack("!I", head[1:])[0] - 4)
                executes = executes or head[:1] in b"BQ"
                if head[:1] in self._ends:
                    passes = self._before(Batch(number, data, executes))
                    if not passes:
                        client.shutdown(socket.SHUT_RDWR)
                    upstream.sendall(data)
                    data, executes = b"", False
        with suppress(OSError):
            upstream.shutdown(socket.SHUT_WR)

    def _pass_answers(self, client: socket.socket, upstream: socket.socket, _number: int) -> None:
        with suppress(OSError):
            while data := upstream.recv(1 << 16):
                if self.bytes_left is None:
                    client.sendall(data)
                    continue
                passed = data[: self.bytes_left]
                self.bytes_left -= len(passed)
                client.sendall(passed)
                if self.bytes_left == 0:
                    self.bytes_left = None
                    upstream.shutdown(socket.SHUT_RDWR)
                    break
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


def _read(reader: object, size: int) -> bytes:
    data: bytes = reader.read(size)  # type: ignore[attr-defined]
    if len(data) < size:
        raise EOFError
    return data


class Steps:
    """Holds one write back before one of its batches.

    A write begins with the lock of all writers; without NOWAIT, because a write of the background
    begins with it. `arm` names the batch; the write then waits at it until `release`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at: int | None = None
        self._connection: int | None = None
        self._count = 0
        self.is_held = threading.Event()
        self._is_released = threading.Event()

    def arm(self, step: int) -> None:
        """The next write waits before its batch `step`, which is counted from 0."""
        with self._lock:
            self._at, self._connection, self._count = step, None, 0
            self.is_held.clear()
            self._is_released.clear()

    def disarm(self) -> int:
        """Lets all writes run; returns the number of batches of the armed write."""
        with self._lock:
            self._at = None
            return self._count

    def release(self) -> None:
        """Lets the held write go on."""
        self._is_released.set()

    def before(self, batch: Batch) -> bool:
        """For Proxy."""
        with self._lock:
            if self._at is None or not batch.executes:
                return True
            begins = b"LOCK TABLE" in batch.data and b"NOWAIT" not in batch.data
            if begins and self._connection is None:
                self._connection = batch.connection
            if batch.connection != self._connection:
                return True
            holds = self._count == self._at
            self._count += 1
        if holds:
            self.is_held.set()
            assert self._is_released.wait(60)
        return True
