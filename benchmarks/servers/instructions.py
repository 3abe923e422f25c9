"""Row 4: the instructions of the whole server for a list of 20, counted by callgrind."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import stores
from servers import lists
from servers.running import client, ours, started, token

WARM_UP, REQUESTS = 960, 1_920  # of each shape; multiples of the connections
START_WITHIN_S = 300  # everything takes about 50 times as long
TOTALS = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
HOW = (
    f"For the instructions, a server under callgrind answers {REQUESTS:,} lists of 20 of each shape"
    f" on {lists.CONNECTIONS} connections, after {WARM_UP:,} that are not counted. The figures are"
    " those of all threads of the server per request; they do not depend on the load of the"
    " machine."
)
NOT_MEASURED = "They were not measured: valgrind is not installed."


def per_list(folder: Path, keep: Path | None = None) -> dict[str, float]:
    """Returns the instructions of a list of 20 by shape; empty if valgrind is not installed.

    `keep` is a folder for the profiles, which callgrind_annotate reads.
    """
    if shutil.which("valgrind") is None:
        print(f"  instructions: {NOT_MEASURED}", file=sys.stderr)
        return {}
    store = stores.need_store(folder)
    credentials = client(store, lists.SCOPE)
    found = {}
    with tempfile.TemporaryDirectory() as place:
        profile = (keep or Path(place)) / "profile"
        counting = ["valgrind", "--tool=callgrind", "--trace-children=no"]
        counting += [f"--log-file={place}/log", f"--callgrind-out-file={profile}", sys.executable]
        with started([*counting, *ours(store)], START_WITHIN_S) as server:
            bearer = token(server.address, credentials, START_WITHIN_S)
            with _connections(server.address) as connections:
                for number, (name, (query, headers)) in enumerate(lists.SHAPES.items()):
                    sent = _request(server.address, query, bearer, headers)
                    _ask(connections, sent, WARM_UP)
                    _dump(server.pid)
                    _ask(connections, sent, REQUESTS)
                    _dump(server.pid)
                    counts = TOTALS.search(Path(f"{profile}.{2 * number + 2}").read_text())
                    assert counts
                    found[name] = int(counts[1]) / REQUESTS
                    print(f"  instructions as {name}: {found[name]:,.0f}", file=sys.stderr)
    return found


def _dump(pid: int) -> None:
    """Writes the counts since the last call to the next file of the profile."""
    subprocess.run(["callgrind_control", "--dump", str(pid)], check=True, capture_output=True)


def _request(address: str, query: str, bearer: str, headers: Mapping[str, str]) -> bytes:
    sent = {"Host": urlsplit(address).netloc, "Authorization": f"Bearer {bearer}", **headers}
    fields = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    return f"GET {lists.path_of(20)}{query} HTTP/1.1\r\n{fields}\r\n".encode()


@contextmanager
def _connections(address: str) -> Iterator[Sequence[socket.socket]]:
    place = urlsplit(address)
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                socket.create_connection((place.hostname, place.port), START_WITHIN_S)
            )
            for _ in range(lists.CONNECTIONS)
        ]


def _ask(connections: Sequence[socket.socket], request: bytes, requests: int) -> None:
    """Sends a request on all connections at once, and again after all responses."""
    for _ in range(requests // len(connections)):
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
