"""Long reads and large answers give way to short ones."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import comptroller
import pytest

pytest.importorskip("httptools")

from comptroller.http.server.connection import Connection
from comptroller.http.server.server import Server
from serving import Serving, serving

PIECES, PIECE = 16, 4 << 10  # the system takes them all at once


def lowest_priority(server: Serving) -> int:
    """Returns the largest nice value of a thread of a server."""
    threads = Path(f"/proc/{server.process.pid}/task").iterdir()
    return max(os.getpriority(os.PRIO_PROCESS, int(thread.name)) for thread in threads)


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has no priority")
@pytest.mark.parametrize("path", ["/rewards/claims?limit=1000", "/operator/export/claims"])
def test_a_long_read_has_a_lower_priority_than_the_event_loop(store_path: Path, path: str) -> None:
    with comptroller.open(store_path):
        pass
    with serving("--db", str(store_path), "--auth", "off", cwd=store_path.parent) as server:
        own = os.getpriority(os.PRIO_PROCESS, server.process.pid)
        assert server.get("/rewards/claims?limit=1").status_code == 200
        assert lowest_priority(server) == own
        assert server.get(path).status_code == 200
        assert lowest_priority(server) == own + 5
        assert os.getpriority(os.PRIO_PROCESS, server.process.pid) == own


def test_the_event_loop_goes_on_between_the_pieces_of_a_large_answer() -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        counting = asyncio.create_task(count_turns())
        for _ in range(PIECES):
            body = {"type": "http.response.body", "body": bytes(PIECE), "more_body": True}
            await send(body)
        counting.cancel()
        await send({"type": "http.response.body"})

    async def request() -> int:
        server = Server(application, None, None, 10)  # type: ignore[arg-type]
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(lambda: Connection(server), "127.0.0.1", 0)
        async with listening:
            reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            writer.write(b"GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n")
            received = len(await reader.read())
            writer.close()
            await writer.wait_closed()
        return received

    assert asyncio.run(request()) > PIECES * PIECE
    assert turns >= PIECES - 1
