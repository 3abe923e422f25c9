"""Several servers of one database, which are killed, restarted and lose their connections."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from random import Random

import pytest
from postgresql_server import Server
from several_servers import BACK_WITHIN_S, Clients, Fleet, check_writes, fleet, make_store

pytest.importorskip("httpx2")

_SERVERS = 3
_CLIENTS = 8


async def disturb(
    servers: Fleet, database: Server, clients: Clients, answers: int, seed: int
) -> None:
    """Kills a server, ends connections, and restarts the database, between so many answers."""
    chance = Random(seed)
    for event in ("server", "connections", "database", "server"):
        await clients.wait_for(answers)
        if event == "server":
            number = chance.randrange(_SERVERS)
            await asyncio.to_thread(servers.replace, number, signal.SIGKILL)
        elif event == "connections":
            database.end_connections("several", 10)
        else:
            await asyncio.to_thread(database.restart)
            await asyncio.wait_for(clients.wait_for(1), BACK_WITHIN_S)


def test_no_answered_write_is_lost_or_executed_twice(own_server: Server, tmp_path: Path) -> None:
    address = make_store(own_server)

    async def run(servers: Fleet) -> Clients:
        clients = Clients(servers.entries, _CLIENTS)
        running = asyncio.create_task(clients.run())
        try:
            await disturb(servers, own_server, clients, 40, 1)
            await clients.wait_for(40)
        finally:
            clients.stop()
        await running
        return clients

    with fleet(address, tmp_path, _SERVERS, "--auth", "off") as servers:
        clients = asyncio.run(run(servers))
    check_writes(address, clients)


def test_a_rolling_restart_fails_no_request(own_server: Server, tmp_path: Path) -> None:
    """Each server in turn ends by SIGTERM and is started again, while clients write."""
    address = make_store(own_server)

    async def run(servers: Fleet) -> Clients:
        clients = Clients(servers.entries, _CLIENTS)
        running = asyncio.create_task(clients.run())
        for number in range(_SERVERS):
            await clients.wait_for(20)
            await asyncio.to_thread(servers.replace, number, signal.SIGTERM)
            await asyncio.to_thread(servers.wait)
        await clients.wait_for(20)
        clients.stop()
        await running
        return clients

    with fleet(address, tmp_path, _SERVERS, "--auth", "off") as servers:
        clients = asyncio.run(run(servers))
        for metrics in servers.metrics():
            assert "comptroller_requests_total" in metrics
    check_writes(address, clients)
    assert clients.counts["answers 503"] == 0
