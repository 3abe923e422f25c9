"""A service that is closed while another thread or task uses it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")

import httpx2
from comptroller import errors
from fake_remote import CLAIM, LOST, NEW_ADDRESS, Elsewhere

LINES = (json.dumps(CLAIM) + "\n").encode() * 1_000


class Endless(ThreadingHTTPServer):
    """A server whose exports are long: `began` is set in the middle of one, which then waits for
    `closed`.
    """

    def __init__(self) -> None:
        began, closed = self.began, self.closed = Event(), Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                if "/export/" not in self.path:
                    page = b'{"items":[],"next_page_cursor":""}'
                    self.send_header("content-length", str(len(page)))
                    self.end_headers()
                    self.wfile.write(page)
                    return
                self.end_headers()
                with suppress(OSError):  # the client closes the connection
                    for _ in range(100):  # more than the buffers of the sockets hold
                        self.wfile.write(LINES)
                    began.set()
                    closed.wait(30)
                    for _ in range(100):
                        self.wfile.write(LINES)

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def endless() -> Iterator[Endless]:
    with Endless() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.closed.set()
            server.shutdown()
            thread.join()


def test_an_export_of_a_closed_service_is_closed(endless: Endless, tmp_path: Path) -> None:
    svc = comptroller.connect(endless.address)
    with ThreadPoolExecutor(1) as elsewhere:
        exported = elsewhere.submit(svc.export, "claims", tmp_path / "claims.ndjson")
        assert endless.began.wait(30)
        svc.close()
        endless.closed.set()
        with pytest.raises(errors.Closed):
            exported.result(timeout=30)
    assert list(tmp_path.iterdir()) == []


def test_an_awaited_export_of_a_closed_service_is_closed(endless: Endless, tmp_path: Path) -> None:
    async def work() -> None:
        svc = comptroller.connect_async(endless.address)
        exported = asyncio.create_task(svc.export("claims", tmp_path / "claims.ndjson"))
        assert await asyncio.to_thread(endless.began.wait, 30)
        await svc.close()
        endless.closed.set()
        with pytest.raises(errors.Closed):
            await asyncio.wait_for(exported, 30)

    asyncio.run(work())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("attempts", [1, 4])
def test_a_request_that_the_close_ends_is_not_repeated(attempts: int) -> None:
    def close(_request: httpx2.Request) -> Any:
        svc.close()
        return LOST

    there = Elsewhere(claims=close, addresses=close)
    svc = there.connect(attempts=attempts)
    with pytest.raises(errors.Closed):
        svc.claims.list()
    svc = there.connect(attempts=attempts)
    with pytest.raises(errors.OutcomeUnknown, match="closed; the write may have been executed"):
        svc.reward_addresses.create(**NEW_ADDRESS)
    assert len(there.requests) == 2
    assert there.clock.sleeps == []
