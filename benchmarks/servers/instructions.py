"""Row 4: the instructions of the whole server for a list of 20, counted by callgrind."""

from __future__ import annotations

import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import stores
from servers import lists
from servers.running import client, ours, started, token

REQUESTS = (1_920, 5_760)  # multiples of the connections
START_WITHIN_S = 300  # everything takes about 50 times as long
COLLECTED = re.compile(r"Collected : (\d+)")
LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
HOW = (
    "For the instructions, the server runs twice under callgrind and answers"
    f" {REQUESTS[0]:,} and {REQUESTS[1]:,} lists of 20 on {lists.CONNECTIONS} connections. The"
    " figure is the difference of the instructions, divided by the difference of the requests."
)
NOT_MEASURED = "They were not measured: valgrind is not installed."


def per_list(folder: Path) -> float | None:
    """Returns the instructions of a list of 20; None if valgrind is not installed."""
    if shutil.which("valgrind") is None:
        print(f"  instructions: {NOT_MEASURED}", file=sys.stderr)
        return None
    store = stores.need_store(folder)
    credentials = client(store, lists.SCOPE)
    with ThreadPoolExecutor(len(REQUESTS)) as threads:
        fewer, more = threads.map(
            lambda requests: _instructions(store, credentials, requests), REQUESTS
        )
    counted = (more - fewer) / (REQUESTS[1] - REQUESTS[0])
    print(f"  instructions: {counted:,.0f} per list of 20", file=sys.stderr)
    return counted


def _instructions(store: Path, credentials: str, requests: int) -> int:
    """Returns the instructions of a server from start to end, with this many lists."""
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "log"
        counting = ["valgrind", "--tool=callgrind", "--trace-children=no", f"--log-file={log}"]
        counting += [f"--callgrind-out-file={Path(place) / 'profile'}", sys.executable]
        with started([*counting, *ours(store)], START_WITHIN_S) as server:
            _ask(server.address, token(server.address, credentials, START_WITHIN_S), requests)
        found = COLLECTED.search(log.read_text())
        if found is None:
            raise RuntimeError("callgrind did not say how many instructions it counted")
        return int(found[1])


def _ask(address: str, bearer: str, requests: int) -> None:
    """Sends a request on all connections at once, and again after all responses."""
    place = urlsplit(address)
    request = (
        f"GET {lists.path_of(20)} HTTP/1.1\r\nHost: {place.netloc}\r\n"
        f"Authorization: Bearer {bearer}\r\n\r\n"
    ).encode()
    with ExitStack() as stack:
        connections = [
            stack.enter_context(
                socket.create_connection((place.hostname, place.port), START_WITHIN_S)
            )
            for _ in range(lists.CONNECTIONS)
        ]
        for _ in range(requests // lists.CONNECTIONS):
            for connection in connections:
                connection.sendall(request)
            _require_answers(connections)


def _require_answers(connections: Sequence[socket.socket]) -> None:
    for connection in connections:
        answer = b""
        while True:
            data = connection.recv(1 << 16)
            answer += data
            head, found, body = answer.partition(b"\r\n\r\n")
            length = LENGTH.search(head + b"\r\n")
            if found and length is not None and len(body) >= int(length[1]):
                break
            if not data:
                raise RuntimeError("the server closed a connection")
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(answer.partition(b"\r\n")[0].decode())
