"""The bounds of what a client without a token can make a server hold or do."""

from __future__ import annotations

import select
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

pytest.importorskip("httptools")
pytest.importorskip("cryptography")

from certificates import certificate
from guarded_server import LAST, LIST, Running, rest, running, status
from open_file_limits import open_files
from serving import serving

SOON_S = 1.0
MB = 1 << 20
ALIVE = b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n"
KINDS = ["open", "tokens", "TLS", "TLS and tokens"]


@pytest.fixture(scope="module", params=KINDS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A server with short time limits: with tokens or without them, with TLS or without it."""
    folder = tmp_path_factory.mktemp("bounds")
    files = certificate(folder) if "TLS" in request.param else ()
    has_tokens = "tokens" in request.param
    with running(folder / "store.db", SOON_S, *files, has_tokens=has_tokens) as started:
        started.uses_tls = "TLS" in request.param
        yield started


@contextmanager
def connection(server: Running) -> Iterator[socket.socket]:
    """Connects to a server, with TLS if it has a certificate."""
    with server.connection() as plain, secured(plain, server.uses_tls) as connected:
        yield connected


@contextmanager
def secured(plain: socket.socket, is_tls: bool) -> Iterator[socket.socket]:
    if not is_tls:
        yield plain
        return
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with context.wrap_socket(plain) as connected:
        yield connected


def resident(pid: int) -> int:
    """Returns the resident bytes of a process."""
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True)
    return int(shown.stdout) << 10


def flood(connected: socket.socket, data: bytes, pid: int, most: int) -> int:
    """Sends data again and again, up to `most` bytes, until the server closes the connection or
    reads nothing for a second; returns the largest growth of its memory.
    """
    before = largest = resident(pid)
    connected.settimeout(1)
    sent = 0
    try:
        while sent < most:
            for _ in range(8):
                sent += connected.send(data)
            largest = max(largest, resident(pid))
    except OSError:
        pass
    return max(largest, resident(pid)) - before


@pytest.mark.parametrize("data", [ALIVE * 1000, LIST * 1000], ids=["public", "refused"])
def test_pipelined_requests_without_a_reader_are_not_held(server: Running, data: bytes) -> None:
    with connection(server) as connected:
        assert flood(connected, data, server.process.pid, 64 * MB) < 24 * MB
        began = time.monotonic()
        while True:  # until the server closes the connection
            try:
                connected.sendall(b" ")
            except TimeoutError:
                continue
            except OSError:
                break
            assert time.monotonic() - began < SOON_S + 30
    assert server.has_logged("did not read the response")


def test_pipelined_requests_are_all_answered(server: Running) -> None:
    # More than the server reads at once, split anywhere.
    count = 5000
    data = ALIVE * (count - 1) + ALIVE[:-2] + b"Connection: close\r\n\r\n"
    with connection(server) as connected:
        received = bytearray()
        sent = 0
        while sent < len(data):
            sent += connected.send(data[sent : sent + 10_007])
            # Without reading, both sides would wait for each other.
            received += connected.recv(65536)
        received += rest(connected)
    assert received.count(b'{"status":"alive"}') == count


REFUSED = [
    b"POST /rewards/payout-groups HTTP/1.1\r\nHost: a\r\nContent-Length: 107374182400\r\n",
    b"POST /nowhere HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 107374182400\r\n",
]


@pytest.mark.parametrize("head", REFUSED, ids=["POST", "chunked", "GET"])
def test_the_body_of_an_answered_request_is_not_read_on(server: Running, head: bytes) -> None:
    piece = b"x" * 65536
    if b"chunked" in head:
        piece = b"10000\r\n" + piece + b"\r\n"
    with connection(server) as connected:
        connected.sendall(head + b"Content-Type: application/json\r\n\r\n")
        answer = connected.recv(65536)
        assert 200 <= status(answer) < 500
        assert b"connection: close" in answer
        sent = 0
        with suppress(OSError):
            while sent < 100 * MB:
                sent += connected.send(piece)
    # What the server discards, and what the system has received before.
    assert sent < 32 * MB


def test_a_client_that_sends_a_refused_body_gets_the_response(server: Running) -> None:
    with connection(server) as connected:
        connected.sendall(REFUSED[1] + b"\r\n")
        for _ in range(8):
            connected.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        assert status(rest(connected)) == 404


def test_an_answered_request_without_its_body_times_out(server: Running) -> None:
    began = time.monotonic()
    with connection(server) as connected:
        connected.sendall(REFUSED[0] + b"Content-Type: application/json\r\n\r\n")
        received = rest(connected)
    assert received.count(b"HTTP/1.1 ") == 1
    assert time.monotonic() - began < SOON_S + 5


def test_an_idle_connection_is_closed(server: Running) -> None:
    with connection(server) as connected:
        connected.sendall(ALIVE)
        began = time.monotonic()
        assert status(rest(connected)) == 200
    assert 4 < time.monotonic() - began < 15


def closed(connections: list[socket.socket], count: int) -> int:
    """Waits until the server has closed this many of silent connections; returns how many."""
    by_number = {each.fileno(): each for each in connections}
    waiting = select.poll()
    for number in by_number:
        waiting.register(number, select.POLLIN)
    found = 0
    ends = time.monotonic() + 20
    while found < count and time.monotonic() < ends:
        for number, _ in waiting.poll(1000):
            waiting.unregister(number)
            found += 1
    return found


@pytest.mark.parametrize("is_tls", [False, True], ids=["connections", "handshakes"])
def test_open_sockets_have_a_limit(tmp_path: Path, is_tls: bool) -> None:
    with ExitStack() as stack:
        stack.enter_context(open_files(4096))
        files = certificate(tmp_path) if is_tls else ()
        server = stack.enter_context(running(tmp_path / "store.db", 60, *files))
        silent = [stack.enter_context(server.connection()) for _ in range(1100)]
        assert closed(silent, 100) == 100
        assert server.has_logged("the limit is 1000")
        # They count no more when they have ended.
        for each in silent:
            each.close()
        while True:
            try:
                with server.connection() as connected, secured(connected, is_tls) as asking:
                    asking.sendall(LAST)
                    assert status(rest(asking)) == 200
                    return
            except OSError:
                continue


def test_connections_leave_files_for_the_store(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with open_files(256):
            server = stack.enter_context(running(tmp_path / "store.db", 60))
        for _ in range(300):
            stack.enter_context(server.connection())
        assert status(server.answer(LAST)) == 200


def workers_of(pid: int) -> list[int]:
    """Returns the child processes of a process."""
    shown = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=True)
    pairs = [map(int, line.split()) for line in shown.stdout.splitlines()]
    return [child for child, parent in pairs if parent == pid]


def test_a_flood_leaves_the_memory_of_workers_flat(tmp_path: Path) -> None:
    with serving("--workers", "2", cwd=tmp_path) as server:
        port = int(server.address.rpartition(":")[2])
        workers = workers_of(server.process.pid)
        assert len(workers) == 2
        before = sum(map(resident, workers))
        with socket.create_connection(("127.0.0.1", port)) as connected:
            flood(connected, ALIVE * 1000, workers[0], 32 * MB)
            assert sum(map(resident, workers)) - before < 24 * MB
