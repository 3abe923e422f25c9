"""A server keeps no memory of the requests that it answered."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import comptroller
import pytest
from callers import Caller, resources
from serving import serving

pytestmark = pytest.mark.promise(17, minutes=5, alone=True)

REQUESTS = 100_000
CALLERS = 16
CLAIMS = 400_000
#: Their pages fill the cache of the writer, 64 MiB.
LOADED = 100_000
GROWTH = 1.05


async def send(address: str, requests: int, ids: list[str]) -> None:
    """Sends lists, gets, and puts that change nothing from several connections."""

    async def repeat(number: int) -> None:
        caller = Caller(address)
        for turn in range(number, requests, CALLERS):
            id = ids[turn % len(ids)]
            method, path, body = (
                ("GET", f"/rewards/claims?limit={turn % 50 + 1}", b""),
                ("GET", f"/rewards/claims/{id}", b""),
                ("GET", "/rewards/claims?statuses=FAILED&limit=5", b""),
                ("PUT", "/operator/identity/identities", json.dumps({"id": id}).encode()),
            )[turn // CALLERS % 4]
            answer = await caller.ask(method, path, body)
            assert answer.status == 200, answer
        caller.hang_up()

    await asyncio.gather(*(repeat(number) for number in range(CALLERS)))


async def load(address: str, lines: bytes) -> None:
    caller = Caller(address)
    how = {"Content-Type": "application/x-ndjson"}
    answer = await caller.ask("POST", "/operator/load/claims", lines, **how)
    assert json.loads(answer.body)["committed"], answer
    caller.hang_up()


def test_requests_leave_no_memory(tmp_path: Path, figures: dict[str, Any]) -> None:
    """100,000 lists, gets and puts leave the memory of a server with full caches within 5 %"""
    store = tmp_path / "store.db"
    lines = comptroller.sample("claims", CLAIMS, out=tmp_path / "claims.ndjson")
    with comptroller.open(store) as service:
        service.load("claims", lines)
        ids = [claim.id for claim in service.claims.list(limit=1000)]
    with serving("--db", str(store), "--auth", "off", cwd=tmp_path) as server:
        with comptroller.sample("claims", LOADED, seed=2) as more:
            asyncio.run(load(server.address, more.read()))
        asyncio.run(send(server.address, REQUESTS // 4, ids))
        before = resources(server.process.pid)
        asyncio.run(send(server.address, REQUESTS, ids))
        after = resources(server.process.pid)
    figures["requests"] = REQUESTS
    figures["MiB before"] = before.rss_mib
    figures["MiB after"] = after.rss_mib
    assert after.rss_mib <= before.rss_mib * GROWTH
    assert after.threads <= before.threads
