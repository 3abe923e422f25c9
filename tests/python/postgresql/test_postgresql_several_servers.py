"""Several servers of one database, which are killed, restarted and lose their connections."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from postgresql_server import Connection, Server
from several_servers import Fleet, check_probes, fleet, probe, restart_database
from writing_clients import Clients, OneTimeClients, check_writes, make_store

httpx2 = pytest.importorskip("httpx2")

_SERVERS = 3
_CLIENTS = 8
#: On a machine that other tests keep busy; `make torture` requires 5 s.
_BACK_WITHIN_S = 20
#: nginx tries a server again a second after it failed; until then the next one must not end.
_TRIED_AGAIN_S = 1.5


def check(address: str, clients: Clients) -> None:
    """Checks that each acknowledged write was executed once, no other twice, and the store."""
    checked = check_writes(address, clients)
    assert checked.lost == []
    assert checked.repeated == []
    assert checked.unknown == []
    assert checked.findings == []
    assert clients.unexpected == []


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
            await probe(servers.addresses[number], [time.monotonic()])
        elif event == "connections":
            database.end_connections("several", 10)
            probes = [probe(each, [time.monotonic()]) for each in servers.addresses]
            check_probes(await asyncio.gather(*probes), _BACK_WITHIN_S)
        else:
            check_probes(await restart_database(database, servers))


@pytest.mark.parametrize("with_nginx", [True, False], ids=["nginx", "addresses"])
def test_no_answered_write_is_lost_or_executed_twice(
    own_server: Server, tmp_path: Path, with_nginx: bool
) -> None:
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

    options = ("--auth", "off")
    with fleet(address, tmp_path, _SERVERS, *options, with_nginx=with_nginx) as servers:
        clients = asyncio.run(run(servers))
    check(address, clients)


def test_nginx_passes_long_loads_and_exports_on(own_server: Server, tmp_path: Path) -> None:
    """It limits neither their size nor their time, holds no progress back, and hides metrics."""
    address = own_server.create("long_loads")
    identity = b'{"id":"%07d","created_at":"2026-01-01T00:00:00Z","metadata":{"x":"%s"}}\n'
    lines = b"".join(identity % (number, b"x" * 100) for number in range(15_000))
    assert len(lines) > 2 << 20
    session = closing(Connection(address))
    with fleet(address, tmp_path, _SERVERS, "--auth", "off") as servers, session as other:
        (entry,) = servers.entries
        load = f"{entry}/operator/load/identities"
        kind = {"content-type": "application/x-ndjson"}
        # The load waits for the lock. Its progress arrives meanwhile.
        other.execute("BEGIN")
        other.execute("LOCK TABLE identities IN ACCESS EXCLUSIVE MODE")
        headers = {**kind, "prefer": "progress"}
        with httpx2.stream("POST", load, content=lines, headers=headers, timeout=30) as answer:
            assert answer.status_code == 200
            pieces = answer.iter_bytes()
            assert next(pieces).strip() == b""
            other.execute("COMMIT")
            assert json.loads(b"".join(pieces))["inserted"] == 15_000
        exported = httpx2.get(f"{entry}/operator/export/identities", timeout=30)
        assert exported.status_code == 200
        assert len(exported.content) > len(lines)
        assert exported.content.count(b"\n") == 15_000
        assert httpx2.get(f"{entry}/metrics").status_code == 404
        assert httpx2.get(f"{entry}/readyz").status_code == 200


def test_a_rolling_restart_fails_no_request(own_server: Server, tmp_path: Path) -> None:
    """Each server in turn ends by SIGTERM and is started again, while clients write.

    Of the requests that nginx receives, only a POST may get 502; it is repeated with its key.
    """
    address = make_store(own_server)

    async def run(servers: Fleet) -> tuple[Clients, OneTimeClients]:
        clients = Clients(servers.entries, _CLIENTS)
        once = OneTimeClients(clients, servers.entries[0], _CLIENTS)
        async with asyncio.TaskGroup() as group:
            group.create_task(clients.run())
            group.create_task(once.run())
            for number in range(_SERVERS):
                await clients.wait_for(20)
                await asyncio.to_thread(servers.replace, number, signal.SIGTERM)
                await asyncio.to_thread(servers.wait)
                await asyncio.sleep(_TRIED_AGAIN_S)
            await clients.wait_for(20)
            clients.stop()
            once.stop()
        return clients, once

    with fleet(address, tmp_path, _SERVERS, "--auth", "off") as servers:
        clients, once = asyncio.run(run(servers))
        for metrics in servers.metrics():
            assert "comptroller_requests_total" in metrics
    check(address, clients)
    repeated = {each for each in clients.counts if each.startswith("answers ")}
    # A server that ends rolls its loads back.
    loads = {"answers 502 to loads", "answers 503 to loads"}
    assert repeated <= {"answers 502 to POST", "answers 409 to POST", *loads}
    assert clients.counts["lost connections"] == 0
    assert once.lost == {}
    for method in ("GET", "PUT", "DELETE"):
        assert once.answers[method, 200] == once.sent[method] > 0
    assert once.answers["POST", 200] + once.answers["POST", 502] == once.sent["POST"]
    assert once.answers["POST", 200] == once.answers["DELETE", 200]
