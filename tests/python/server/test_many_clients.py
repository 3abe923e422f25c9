"""Many concurrent clients are all answered, and leave no resources behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("httptools")
pytest.importorskip("joserfc")
pytest.importorskip("httpx2")

import httpx2
from comptroller.http.oauth import clients
from concurrent_clients import Place, act

CLIENTS = 64
SECONDS = float(os.environ.get("COMPTROLLER_SOAK_SECONDS", "1"))
SOON_S = 60
KEPT = 8  # descriptors of connections to the store, which are pooled

# The server of `comptroller serve`, with a page that shows its resources.
PROGRAM = """
import asyncio, json, os, sys, tempfile, threading
from pathlib import Path

import comptroller
from comptroller.values import KINDS
from comptroller.http.server import serving
from comptroller.http import app
from comptroller.http.oauth.authority import local_authority

async def held(exchange):
    counts = {
        "tasks": len(asyncio.all_tasks()),
        "descriptors": len(os.listdir("/dev/fd")),
        "threads": threading.active_count(),
    }
    await exchange.answer(200, b"application/json", json.dumps(counts).encode())

path = sys.argv[1]
with comptroller.open(path) as service, serving.listen("127.0.0.1", 0) as bound:
    with tempfile.TemporaryDirectory() as folder:
        comptroller.sample("all", 500, out=Path(folder))
        for kind in KINDS:
            service.load(kind, Path(folder) / f"{kind}.ndjson")
    authority = local_authority(path, issuer="https://books.example")
    resources = {**authority.resources, "/held": {"GET": held}}
    serving.serve(
        app(service, authenticator=authority.authenticator, resources=resources),
        bound,
        started=lambda: print(bound.getsockname()[1], flush=True),
    )
"""


class Running:
    """Starts a server in a separate process."""

    def __init__(self, process: subprocess.Popen[str], store: Path, log: Path) -> None:
        assert process.stdout
        self.process = process
        self.log = log
        self.port = int(process.stdout.readline())
        self.address = f"http://127.0.0.1:{self.port}"
        self._store = store

    def place(self) -> Place:
        """Returns the address, for an operator's client."""
        client, secret = clients.add(clients.file_of(str(self._store)), "crowd", None, None)
        answer = httpx2.post(
            self.address + "/oauth2/token",
            data={"grant_type": "client_credentials"},
            auth=(client.client_id, secret),
        )
        return Place(self.port, answer.json()["access_token"])

    def held(self) -> dict[str, int]:
        """Returns the numbers of tasks, descriptors and threads while one request is answered."""
        counts: dict[str, int] = httpx2.get(self.address + "/held", timeout=SOON_S).json()
        return counts

    def is_as(self, before: dict[str, int]) -> bool:
        """Whether the server has no more resources than before."""
        counts = self.held()
        return (
            counts["tasks"] <= before["tasks"]
            and counts["descriptors"] <= before["descriptors"] + KEPT
            and counts["threads"] < 2 * CLIENTS
        )


@contextmanager
def running(store: Path) -> Iterator[Running]:
    log = store.with_name("log")
    with (
        log.open("w") as written,
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(store)],
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
        ) as process,
    ):
        try:
            yield Running(process, store, log)
        finally:
            process.kill()


def test_all_clients_are_answered_and_nothing_is_left(tmp_path: Path) -> None:
    with running(tmp_path / "store.db") as server:
        place = server.place()
        asyncio.run(act(place, CLIENTS, 0))  # creates the resources that stay
        before = server.held()
        done = asyncio.run(act(place, CLIENTS, SECONDS))
        assert {status for _what, status in done} == {0, 200}
        deadline = time.monotonic() + SOON_S
        while not server.is_as(before):
            assert time.monotonic() < deadline, (before, server.held())
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(SOON_S) == 0
        assert server.log.read_text() == ""
