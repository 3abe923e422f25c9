"""Requests of any bytes get an answer of the client's fault, or none; the server goes on."""

from __future__ import annotations

import random
import re
import socket
from collections import deque
from collections.abc import Iterator
from threading import Thread

import pytest

pytest.importorskip("httptools")

from guarded_server import LAST, LIST, Running, rest, running, status

ROUNDS = 1000
REQUESTS = [
    LIST + LAST,
    b"POST /rewards/payout-groups HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
    b"Content-Length: 17\r\n\r\n" + b'{"ledger": "INK"}' + LAST,
    b"POST /v2/identity/controls HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n"
    b"Content-Type: application/json\r\nIdempotency-Key: k\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n"
    + LAST,
    b"GET /rewards/claims?limit=1&statuses=PENDING&page_cursor=%41 HTTP/1.1\r\nHost: here\r\n"
    b"Expect: 100-continue\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n{}",
    b"HEAD http://here/readyz?a=b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + LAST,
]
PIECES = [
    *(b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b";", b"%", b"%zz", b"\xff", b"a" * 9000),
    *(b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"-1", b"+5", b"1e3", b"../"),
    *(b"Host: b\r\n", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"gzip, "),
    *(b"HTTP/1.1", b"HTTP/9.9"),
]
UNSUPPORTED = (501, 505)  # a coding, or a version of HTTP
ANSWER = re.compile(rb"^HTTP/1\.1 (\d{3}) ", re.MULTILINE)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("bytes") / "store.db", 0.3) as server:
        warnings = Thread(target=deque, args=(server.process.stderr, 0))  # reads and drops them
        warnings.start()
        yield server
        server.process.kill()
        warnings.join()


def changed(random: random.Random) -> bytes:
    """Returns a request with some of its bytes replaced, removed, doubled or inserted."""
    sent = random.choice(REQUESTS)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(sent) + 1)
        end = min(len(sent), at + random.choice([0, 0, 1, 2, 30]))
        piece = random.choice([*PIECES, bytes([random.randrange(256)]), sent[at:end] * 2, b""])
        sent = sent[:at] + piece + sent[end:]
    return sent


def answered(server: Running, *pieces: bytes) -> bytes:
    """Returns what the server sends to a client that sends no more than these pieces."""
    with server.connection() as connected:
        try:
            for piece in pieces:
                connected.sendall(piece)
            connected.shutdown(socket.SHUT_WR)
        except OSError:  # the server has closed the connection
            pass
        return rest(connected)


@pytest.mark.parametrize("seed", range(4))
def test_changed_requests(server: Running, seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(ROUNDS // 4):
        sent = changed(chosen)
        at = chosen.randrange(len(sent) + 1)
        received = answered(server, sent[:at], sent[at:])
        found = [int(each) for each in ANSWER.findall(received)]
        assert all(each < 500 or each in UNSUPPORTED for each in found), (sent, received)
        assert found or received == b"", sent
    assert status(server.answer(LAST)) == 200
