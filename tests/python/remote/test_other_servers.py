"""Every ASGI server of docs/how-to/mount.md serves the application shown there."""

from __future__ import annotations

import importlib.util
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import comptroller
import pytest
from command_line import claim, lines
from places import ROOT
from serving import free_ports

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")
pytest.importorskip("joserfc")

import httpx2
from comptroller.http.oauth import clients

DOCS = ROOT / "docs" / "how-to" / "mount.md"
COMMANDS = {
    "uvicorn": ["--host", "127.0.0.1", "--port", "{port}"],
    "hypercorn": ["--bind", "127.0.0.1:{port}"],
    "granian": ["--interface", "asgi", "--host", "127.0.0.1", "--port", "{port}"],
}
SOON_S = 60
ODD = "a/b%2F?#"


def program() -> str:
    """The application of docs/how-to/mount.md, which serves the store rewards.db."""
    if not DOCS.exists():
        pytest.skip("the source distribution carries no docs")
    blocks = re.findall(
        r"^```python\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (shown,) = (block for block in blocks if "FastAPI" in block)
    assert isinstance(shown, str)
    return shown


@contextmanager
def running(server: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Yields the application under a server, and its mount path, when it answers."""
    (folder / "books.py").write_text(program())
    (port,) = free_ports(1)
    words = [word.format(port=port) for word in COMMANDS[server]]
    address = f"http://127.0.0.1:{port}/books"
    log = folder / "log"
    with (
        log.open("wb") as written,
        subprocess.Popen(
            [sys.executable, "-m", server, *words, "books:api"],
            cwd=folder,
            stdout=written,
            stderr=written,
        ) as process,
    ):
        try:
            deadline = time.monotonic() + SOON_S
            while not is_ready(address):
                assert not has_ended(process), log.read_text()
                assert time.monotonic() < deadline, log.read_text()
            yield process, address
            assert "Traceback" not in log.read_text()
        finally:
            process.kill()


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a server stops within a short time."""
    try:
        process.wait(0.05)
    except subprocess.TimeoutExpired:
        return False
    return True


def is_ready(address: str) -> bool:
    try:
        return httpx2.get(address + "/readyz", timeout=1).status_code == 200
    except httpx2.TransportError:
        return False


@pytest.mark.parametrize("server", COMMANDS)
def test_a_server_reads_writes_loads_exports_and_stops(server: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(server) is None:
        pytest.skip(f"{server} is not installed")
    store = tmp_path / "rewards.db"
    comptroller.open(store).close()
    client, secret = clients.add(clients.file_of(str(store)), "desk", None, None)
    with running(server, tmp_path) as (process, address):
        with comptroller.connect(
            address, client_id=client.client_id, client_secret=secret
        ) as service:
            # An encoded slash reaches the application unchanged.
            service.identities.put(id=ODD)
            assert service.identities.get(ODD).id == ODD
            sent = tmp_path / "sent.ndjson"
            sent.write_bytes(lines(*(claim(f"c-{n}") for n in range(5_000))))
            assert service.load("claims", sent).inserted == 5_000
            assert sum(1 for _ in service.claims.iter()) == 5_000
            assert service.export("claims", tmp_path / "taken.ndjson") == 5_000
            with pytest.raises(comptroller.NotFound):
                service.claims.get("c-5000")
        process.send_signal(signal.SIGTERM)
        ended = process.wait(SOON_S)
        assert ended in (0, -signal.SIGTERM)
    with comptroller.open(store, read_only=True) as kept:
        assert kept.identities.get(ODD).id == ODD
        assert kept.claims.get("c-4999").id == "c-4999"
        assert kept.check()["ok"]
