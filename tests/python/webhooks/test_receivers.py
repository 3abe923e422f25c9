"""The receivers of the guide: each accepts a delivered request once, and refuses an altered one."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import comptroller
import pytest
from places import ROOT
from receiver import Received, Receiver, delivering
from test_signatures import NPM

for needed in ("httpx2", "standardwebhooks", "flask", "fastapi"):
    pytest.importorskip(needed)
import httpx2  # noqa: E402

GUIDE = ROOT / "docs" / "how-to" / "receive-webhooks.md"
if not GUIDE.exists():
    pytest.skip("the source distribution carries no docs", allow_module_level=True)


def block(title: str) -> str:
    """Returns the program below a title."""
    found = re.search(
        rf"^## {title}\n\n```\w+\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.M | re.S
    )
    assert found
    return found[1]


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Received]:
    """Returns a secret, and a request that it signed."""
    path = tmp_path_factory.mktemp("webhooks") / "store.db"
    with comptroller.open(path) as svc, Receiver() as receiver, delivering(svc):
        made = svc.webhooks.create(url=receiver.url)
        svc.identities.put(id="alice")
        return svc.webhooks.secret(made.id).secret, receiver.take(1)[0]


def bodies(request: Received) -> list[tuple[bytes, int]]:
    """Returns bodies and the status that a receiver answers."""
    return [(request.body, 204), (request.body, 204), (request.body + b" ", 401)]


def test_flask(
    delivered: tuple[str, Received],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    secret, request = delivered
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    names: dict[str, Any] = {"__name__": "receiver_of_the_guide"}
    exec(compile(block("Flask"), "flask", "exec"), names)
    client = names["app"].test_client()
    for body, status in bodies(request):
        answer = client.post("/hooks", data=body, headers=request.headers)
        assert answer.status_code == status
    assert capsys.readouterr().out == "identity.updated alice\n"


def test_fastapi(
    delivered: tuple[str, Received],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    secret, request = delivered
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    names: dict[str, Any] = {"__name__": "receiver_of_the_guide"}
    exec(compile(block("FastAPI"), "fastapi", "exec", dont_inherit=True), names)

    async def post() -> list[int]:
        transport = httpx2.ASGITransport(names["api"])
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            headers = {k: v for k, v in request.headers.items() if k != "content-length"}
            return [
                (await client.post("/hooks", content=body, headers=headers)).status_code
                for body, _ in bodies(request)
            ]

    assert asyncio.run(post()) == [status for _, status in bodies(request)]
    assert capsys.readouterr().out == "identity.updated alice\n"


def test_node(delivered: tuple[str, Received], tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (NPM / "node_modules" / "standardwebhooks").is_dir():
        pytest.skip("node, or its package standardwebhooks, is missing")
    secret, request = delivered
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = block("Node").replace(
        '"127.0.0.1");', '"127.0.0.1", () => console.log("listening"));'
    )
    with subprocess.Popen(
        [node, "-e", program],
        cwd=NPM,
        env={**os.environ, "WEBHOOK_SECRET": secret, "PORT": str(port)},
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            assert started.stdout
            assert started.stdout.readline() == "listening\n"
            headers = {k: v for k, v in request.headers.items() if k != "content-length"}
            for body, status in bodies(request):
                answer = httpx2.post(
                    f"http://127.0.0.1:{port}/hooks", content=body, headers=headers
                )
                assert answer.status_code == status
            assert started.stdout.readline() == "identity.updated alice\n"
        finally:
            started.kill()
