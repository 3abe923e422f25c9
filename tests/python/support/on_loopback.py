"""A connected service whose server was started by `comptroller serve`, with registered clients.

Starting Python and importing the package would take most of a test's time, so each server is a fork
of a process that has imported it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import comptroller
import msgspec
import pytest

for needed in ("httptools", "joserfc", "httpx2"):
    pytest.importorskip(needed)

import httpx2  # noqa: E402
from comptroller.http.oauth import clients  # noqa: E402

# Starts a server for each line on standard input (a store and options), until it ends.
PROGRAM = """
import os, shlex, signal, sys
import uvloop
from comptroller.cli import main, program, serve
from comptroller.http.oauth import authority, token_endpoint
from comptroller.http.server import server
from comptroller.http import app, log

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        code = main(["serve", "--port", "0", "--db", *shlex.split(line)])
        print("ended with", code, flush=True)
        os._exit(code)
os.killpg(0, signal.SIGKILL)
"""

# A cheap hash, because the secrets are only used by the tests.
SECRET, COST, SALT = "secret", {"n": 16, "r": 1, "p": 1}, b"salt"
HASH = clients.SecretHash(
    **COST, salt=SALT, digest=hashlib.scrypt(SECRET.encode(), salt=SALT, dklen=32, **COST)
)

# Loading the CA certificates of the system takes as long as a test.
TLS = ssl.create_default_context()

Start = Callable[..., Any]


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Yields a function that serves a store with command line options, in a context whose value
    is the address of the server.
    """
    with (
        TemporaryFile("w+") as log,
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        ) as process,
    ):

        @contextmanager
        def served(path: Path, *options: str) -> Iterator[str]:
            assert process.stdin
            assert process.stdout
            print(shlex.join([str(path), *options]), file=process.stdin, flush=True)
            lines = [process.stdout.readline() for _ in range(3)]
            found = re.search(r" at (http://\S+)$", lines[1].rstrip())
            log.seek(0)
            assert found, (lines, log.read())
            try:
                yield found[1]
            finally:
                os.kill(int(lines[0]), signal.SIGKILL)

        yield served


def register(path: Path, client_id: str, customer: str | None, scopes: list[str] | None) -> str:
    """Registers a client of a store; returns its id, with a suffix if another client has it."""
    registry = clients.file_of(str(path))
    with registry.changing():
        known = clients.read(registry)
        while client_id in known:
            if (known[client_id].customer, known[client_id].scopes) == (customer, scopes):
                return client_id
            client_id += "-too"
        client = clients.Client(
            client_id=client_id,
            name=client_id,
            customer=customer,
            scopes=scopes,
            secret=HASH,
            created_at=datetime.now(UTC),
        )
        client.granted_scopes()
        registry.write(msgspec.json.encode([*known.values(), client]))
    return client_id


def opener(path: Path, start: Start, closing: ExitStack) -> Callable[..., comptroller.Service]:
    """Connects to the server of a store for a caller, whom it registers as a client."""
    address = closing.enter_context(start(path))

    def connected(
        customer: str | None = None, scopes: Any = None, client_id: str | None = None
    ) -> comptroller.Service:
        named = [scopes] if isinstance(scopes, str) else scopes
        # The names that `comptroller.open` uses.
        name = register(path, client_id or customer or "desk", customer, named)
        return closing.enter_context(
            comptroller.connect(
                address,
                client_id=name,
                client_secret=SECRET,
                transport=httpx2.HTTPTransport(verify=TLS),
            )
        )

    return connected


@pytest.fixture
def open_as(store_path: Path, start: Start) -> Iterator[Callable[..., comptroller.Service]]:
    """Connects to a server of the test's store instead of opening it."""
    with ExitStack() as closing:
        yield opener(store_path, start, closing)


@pytest.fixture(scope="module")
def shared_open_as(shared_path: Path, start: Start) -> Iterator[Callable[..., comptroller.Service]]:
    """Connects to a server of the module's shared store instead of opening it."""
    with ExitStack() as closing:
        yield opener(shared_path, start, closing)


@pytest.fixture
def operator_actor() -> str:
    """The created_by and deleted_by of the operator, whose client is `desk`."""
    return "operator:desk"
