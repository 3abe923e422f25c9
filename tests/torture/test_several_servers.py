"""Three servers of one PostgreSQL database under kills: no answered write is lost or done twice."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import postgresql_server
import pytest
from several_servers import BACK_WITHIN_S, Clients, Fleet, check_writes, fleet, make_store

pytestmark = pytest.mark.promise(25, minutes=10)

SECONDS = float(os.environ.get("TORTURE_SECONDS", "60"))
SERVERS = 3
CLIENTS = 64


async def disturb(servers: Fleet, database: Any, clients: Clients) -> Counter[str]:
    """Kills servers and connections at random, and restarts the database once, in the middle."""
    chance = Random(25)
    counts: Counter[str] = Counter()
    began = time.monotonic()
    is_restarted = False
    while (passed := time.monotonic() - began) < SECONDS:
        await asyncio.sleep(chance.uniform(0.5, 2))
        if not is_restarted and passed > SECONDS / 2:
            is_restarted = True
            await asyncio.to_thread(database.restart)
            restarted = time.monotonic()
            await asyncio.wait_for(clients.wait_for(1), BACK_WITHIN_S)
            counts["ms until an answer after the restart"] = round(
                (time.monotonic() - restarted) * 1000
            )
            counts["restarts of the database"] += 1
        elif chance.random() < 0.4:
            await asyncio.to_thread(servers.replace, chance.randrange(SERVERS), signal.SIGKILL)
            counts["kills of servers"] += 1
        else:
            ended = await asyncio.to_thread(
                database.end_connections, "several", chance.randint(1, 20)
            )
            counts["connections ended"] += ended
    return counts


def test_three_servers(tmp_path: Path, figures: dict[str, Any]) -> None:
    """64 clients, 3 servers: kill -9 of servers and connections, a restart of the database"""
    try:
        with postgresql_server.run_lock() as lock:
            database = postgresql_server.start(lock)
            address = make_store(database)

            async def run(servers: Fleet) -> tuple[Clients, Counter[str]]:
                clients = Clients(servers.entries, CLIENTS)
                running = asyncio.create_task(clients.run())
                try:
                    counts = await disturb(servers, database, clients)
                finally:
                    clients.stop()
                await running
                return clients, counts

            with fleet(address, tmp_path, SERVERS, "--auth", "off") as servers:
                clients, counts = asyncio.run(run(servers))
            check_writes(address, clients)
    except postgresql_server.Missing as missing:
        pytest.skip(str(missing))
    figures |= counts
    figures["answered"] = clients.counts["answered"]
    figures["lost connections"] = clients.counts["lost connections"]
    figures["answers 502, 503 and 504"] = sum(
        clients.counts[f"answers {status}"] for status in (502, 503, 504)
    )
    figures["answered writes lost, or executed twice"] = 0
