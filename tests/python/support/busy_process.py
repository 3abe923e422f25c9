"""Processes of `busy_server`: their requests, their signals, and how they end."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import comptroller
from places import SUPPORT

PUT = (
    b"PUT /operator/identity/identities HTTP/1.1\r\nHost: here\r\n"
    b"Content-Type: application/json\r\nContent-Length: 14\r\n\r\n"
    b'{"id":"alice"}'
)


class Busy:
    """A server of `busy_server` in a separate process."""

    def __init__(self, store: Path, role: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "busy_server", str(store), role],
            cwd=SUPPORT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())
        self.signalled_at = 0.0

    def send(self, data: bytes) -> socket.socket:
        connected = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        connected.sendall(data)
        return connected

    def write(self) -> None:
        """Writes an identity, and waits for the response."""
        with self.send(PUT) as connected:
            assert b" 200 OK" in connected.recv(65536)

    def occupy(self, path: str) -> socket.socket:
        """Sends a request that never ends; returns when the server executes it."""
        connected = self.send(b"GET %b HTTP/1.1\r\nHost: here\r\n\r\n" % path.encode())
        assert self.process.stderr
        assert self.process.stderr.readline() == b"busy\n"
        return connected

    def send_signal(self, number: signal.Signals) -> None:
        self.signalled_at = time.monotonic()
        self.process.send_signal(number)

    def insist(self, number: signal.Signals) -> None:
        """Sends a signal until the server has ended; equal pending signals are one signal."""
        self.send_signal(number)
        while self.process.poll() is None and self.seconds() < 30:
            self.process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.1)

    def seconds(self) -> float:
        """Returns the seconds since the first signal."""
        return time.monotonic() - self.signalled_at

    def ended(self) -> tuple[int, float, bytes]:
        """Returns the exit code, the seconds since the first signal, and the log."""
        self.process.wait(30)
        seconds = self.seconds()
        return self.process.returncode, seconds, self.process.communicate(timeout=30)[1]


@contextmanager
def busy(store: Path, role: str) -> Iterator[Busy]:
    server = Busy(store, role)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate(timeout=30)


def require_sound(store: Path) -> None:
    """Asserts that the acknowledged write is stored, in a store without a defect."""
    with comptroller.open(store) as svc:
        assert svc.identities.get("alice")
        assert svc.check()["ok"]
