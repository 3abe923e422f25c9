"""A guarded server in a separate process, which tests address in bytes."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = """
import json, sys, comptroller
from comptroller.http.server import serving
from comptroller.http import EveryoneIsOperator, app
from comptroller.http.oauth.authority import local_authority
from comptroller.http.log import Log
from comptroller.http.server.short_operations import ShortOperations

path, within_s, has_tokens, tls = json.loads(sys.argv[1])
with comptroller.open(path) as svc, serving.listen("127.0.0.1", 0) as bound:
    if has_tokens:
        authority = local_authority(path, issuer="http://127.0.0.1")
        served = app(svc, authenticator=authority.authenticator, resources=authority.resources)
        operations = ShortOperations(served, authority.authenticator, Log())
    else:
        served, operations = app(svc, authenticator=EveryoneIsOperator(on_loopback=False)), None
    serving.serve(
        served,
        bound,
        operations=operations,
        receive_within_s=within_s,
        tls_cert=tls[0] if tls else None,
        tls_key=tls[1] if tls else None,
        started=lambda: print(bound.getsockname()[1], flush=True),
    )
print("ended", flush=True)
"""
LIST = b"GET /rewards/claims HTTP/1.1\r\nHost: here\r\n\r\n"
LAST = LIST[:-2] + b"Connection: close\r\n\r\n"


class Running:
    """Starts a server in a separate process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self.process = process
        self.port = int(process.stdout.readline())
        self.uses_tls = False

    def has_logged(self, text: str) -> bool:
        """Waits until the server has logged a text."""
        assert self.process.stderr
        giving_up = threading.Timer(30, self.process.kill)
        giving_up.start()
        try:
            return any(text in line for line in self.process.stderr)
        finally:
            giving_up.cancel()

    @contextmanager
    def connection(self) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connected:
            yield connected

    def answer(self, *pieces: bytes) -> bytes:
        """Returns all bytes until the server closes the connection."""
        with self.connection() as connected:
            for piece in pieces:
                connected.sendall(piece)
            return rest(connected)

    def is_listening(self) -> bool:
        try:
            self.answer(LAST)
        except (
            ConnectionError
        ):  # the connection was refused, or reset while it waited to be accepted
            return False
        return True

    def ended(self) -> tuple[int, str]:
        out, err = self.process.communicate(timeout=30)
        assert "Traceback" not in err
        return self.process.returncode, out.strip()


def rest(connected: socket.socket) -> bytes:
    received = b""
    try:
        while piece := connected.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


@contextmanager
def running(
    path: Path, receive_within_s: float, *certificate: Path, has_tokens: bool = False
) -> Iterator[Running]:
    """Runs a server of which everyone is the operator; with tokens, one that needs them."""
    given = json.dumps([str(path), receive_within_s, has_tokens, [*map(str, certificate)]])
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def status(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    assert found, answer
    return int(found[1])
