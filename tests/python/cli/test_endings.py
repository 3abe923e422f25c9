"""A server ends after a signal, whatever keeps it busy: its event loop, a task, a thread."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import comptroller
import pytest
from places import SUPPORT

pytest.importorskip("httptools")

from comptroller.http.background import Background
from comptroller.http.server.signals import END_AT_LATEST_S

#: What a busy machine adds to a limit.
LATE_S = 8.0
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

    def signal(self, number: signal.Signals) -> None:
        self.signalled_at = time.monotonic()
        self.process.send_signal(number)

    def insist(self, number: signal.Signals) -> None:
        """Sends a signal until the server has ended; equal pending signals are one signal."""
        self.signal(number)
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("path", ["/_spin", "/_hold", "/_linger", "/_block"])
def test_a_second_signal_ends_a_busy_server(
    store_path: Path, path: str, number: signal.Signals
) -> None:
    with busy(store_path, "single") as server:
        server.write()
        with server.occupy(path):
            server.insist(number)
            code, seconds, log = server.ended()
    assert seconds < 2 + LATE_S
    assert code == 1
    assert json.loads(log)["event"].startswith("the process did not end in time")
    require_sound(store_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_busy_workers(store_path: Path, number: signal.Signals) -> None:
    with busy(store_path, "workers") as server:
        server.write()
        with server.occupy("/_hold"):
            server.insist(number)
            code, seconds, _log = server.ended()
    assert seconds < 3 + LATE_S
    assert code == 1
    require_sound(store_path)


@pytest.mark.slow
def test_one_signal_ends_a_busy_server_in_10_seconds(tmp_path: Path, store_path: Path) -> None:
    """All at the same time, because each takes the whole limit."""
    template = store_path.read_bytes()
    with ExitStack() as closing:
        servers = []
        for number, (role, path) in enumerate(
            [
                *(("single", path) for path in ("/_spin", "/_hold", "/_linger", "/_block")),
                *(("workers", path) for path in ("/_hold", "/_linger")),
                ("supervisor", "/_hold"),
            ]
        ):
            store = tmp_path / f"{number}.db"
            store.write_bytes(template)
            server = closing.enter_context(busy(store, role))
            server.write()
            closing.enter_context(server.occupy(path))
            servers.append((server, store))
        for server, _ in servers:
            server.signal(signal.SIGTERM)
        for server, store in servers:
            code, seconds, _log = server.ended()
            assert seconds < END_AT_LATEST_S + LATE_S
            assert code == 1
            require_sound(store)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="waits on a process that is no child")
def test_busy_workers_end_after_their_supervisor_was_killed(store_path: Path) -> None:
    with busy(store_path, "workers") as server:
        server.write()
        with server.occupy("/_spin"):
            group = f"/proc/{server.process.pid}/task/{server.process.pid}/children"
            ended = [os.pidfd_open(int(pid)) for pid in Path(group).read_text().split()]
            server.signal(signal.SIGKILL)
            for each in ended:
                left_s = server.signalled_at + END_AT_LATEST_S + LATE_S - time.monotonic()
                assert select.select([each], [], [], left_s)[0]
                os.close(each)
    require_sound(store_path)


def test_a_cancellation_that_arrives_with_the_result_is_not_lost() -> None:
    begin = threading.Event()

    async def is_cancelled() -> bool:
        """Cancels a task after the work ended, and before the loop could see that it did."""
        background = Background(lambda: bool(begin.wait()) and None, 60)
        others = set(threading.enumerate())
        background.start()
        (thread,) = set(threading.enumerate()) - others
        task = asyncio.ensure_future(background.wait())
        await asyncio.sleep(0)  # the task waits now
        begin.set()
        thread.join()
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(is_cancelled())


def test_no_module_awaits_through_wait_for() -> None:
    """On Python 3.11 `asyncio.wait_for` may lose a cancellation."""
    package = Path(comptroller.__file__).parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
            assert name != "wait_for", f"{path}:{node.lineno}: use asyncio.timeout"
