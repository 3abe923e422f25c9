"""A server, and a client that reads an export slowly."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import comptroller
from serving import Serving, serving

#: Their export does not fit into the buffers of the system.
CLAIMS = 40_000


def connect(server: Serving, sent: bytes) -> socket.socket:
    """Sends a part of a request, or a request, from a client with a small buffer."""
    place = urlsplit(server.address)
    connected = socket.socket()
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connected.settimeout(30)
    connected.connect((place.hostname, place.port))
    connected.sendall(sent)
    return connected


@contextmanager
def exporting(store_path: Path) -> Iterator[tuple[Serving, socket.socket]]:
    """Serves a store, of which a client has begun to read an export."""
    with comptroller.open(store_path) as svc, comptroller.sample("claims", CLAIMS) as lines:
        svc.load("claims", lines)
    export = b"GET /operator/export/claims HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with (
        serving("--db", str(store_path), "--auth", "off", cwd=store_path.parent) as server,
        connect(server, export) as connected,
    ):
        assert connected.recv(12) == b"HTTP/1.1 200"
        yield server, connected
