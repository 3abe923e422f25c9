"""Three servers of one PostgreSQL database under kills: no answered write is lost or done twice."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import postgresql_server
import pytest
from several_servers import Fleet, Probe, check_probes, fleet, probe, restart_database
from writing_clients import Clients, check_writes, make_store

pytestmark = pytest.mark.promise(25, minutes=10)

SECONDS = float(os.environ.get("TORTURE_SECONDS", "60"))
SERVERS = 3
CLIENTS = 64
#: The labels of disturbances.
DISTURBANCES = ENDED, KILLED, SERVERS_KILLED = (
    "connections ended",
    "kills of connections",
    "kills of servers",
)


class Disturbances:
    """Kills servers, ends and kills connections at random, and restarts the database once.

    Attributes:
        counts: the disturbances.
        restarts: of each server that was killed, how long the next one took to answer.
        returns: of each server, what it answered after connections were ended.
        around_restart: of each server, what it answered while the database was restarted.
    """

    def __init__(self, servers: Fleet, database: postgresql_server.Server) -> None:
        self._servers = servers
        self._database = database
        self.counts: Counter[str] = Counter()
        self.restarts: list[Probe] = []
        self.returns: list[Probe] = []
        self.around_restart: list[Probe] = []
        self._chance = Random(25)
        self._starting: dict[int, asyncio.Task[Probe]] = {}

    async def run(self) -> None:
        chance = self._chance
        began = time.monotonic()
        while (passed := time.monotonic() - began) < SECONDS:
            await asyncio.sleep(chance.uniform(0.5, 2))
            if not self.around_restart and passed > SECONDS / 2:
                await self._wait_for_starting()
                self.around_restart = await restart_database(self._database, self._servers)
                self.counts["restarts of the database"] += 1
            elif (choice := chance.random()) < 0.4:
                await self._kill_server()
            elif choice < 0.9:
                count = chance.randint(1, 20)
                await self._end(ENDED, self._database.end_connections, count)
            else:
                await self._end(KILLED, self._database.kill_connection)
        await self._wait_for_starting()

    async def _kill_server(self) -> None:
        """Kills one of the servers that answer, unless it is the last one."""
        running = self._running()
        if len(running) > 1:
            number = self._chance.choice(running)
            await asyncio.to_thread(self._servers.replace, number, signal.SIGKILL)
            self.counts[SERVERS_KILLED] += 1
            started = probe(self._servers.addresses[number], [time.monotonic()])
            self._starting[number] = asyncio.create_task(started)

    async def _end(self, label: str, end: Callable[..., int], *count: int) -> None:
        """Ends connections, also those of a server that starts."""
        running = self._running()
        with suppress(RuntimeError):  # the database has not recovered from the last kill
            self.counts[label] += await asyncio.to_thread(end, "several", *count)
        since = [time.monotonic()]
        probes = (probe(self._servers.addresses[number], since) for number in running)
        self.returns += await asyncio.gather(*probes)

    def is_starting(self, number: int) -> bool:
        """Whether a server has not answered since its start."""
        return number in self._starting and not self._starting[number].done()

    def _running(self) -> list[int]:
        """Returns the servers that have answered since their start."""
        for number in [number for number, task in self._starting.items() if task.done()]:
            self.restarts.append(self._starting.pop(number).result())
        return [number for number in range(SERVERS) if number not in self._starting]

    async def _wait_for_starting(self) -> None:
        self.restarts += await asyncio.gather(*self._starting.values())
        self._starting.clear()


def longest_ms(probes: list[Probe]) -> int:
    return round(max(each.seconds for each in probes) * 1000)


def test_three_servers(tmp_path: Path, figures: dict[str, Any]) -> None:
    """64 clients, 3 servers: kill -9 of servers and connections, a restart of the database"""
    try:
        with postgresql_server.run_lock() as lock:
            database = postgresql_server.start(lock)
            address = make_store(database)

            async def run(servers: Fleet) -> tuple[Clients, Disturbances]:
                clients = Clients(servers.entries, CLIENTS)
                disturbances = Disturbances(servers, database)
                running = asyncio.create_task(clients.run())
                supervising = asyncio.create_task(servers.supervise(disturbances.is_starting))
                try:
                    await disturbances.run()
                finally:
                    clients.stop()
                    supervising.cancel()
                    with suppress(asyncio.CancelledError):
                        await supervising
                await running
                return clients, disturbances

            with fleet(address, tmp_path, SERVERS, "--auth", "off") as servers:
                clients, disturbances = asyncio.run(run(servers))
            checked = check_writes(address, clients)
    except postgresql_server.Missing as missing:
        pytest.skip(str(missing))
    figures |= disturbances.counts
    figures["longest ms until each server answered after the restart of the database"] = longest_ms(
        disturbances.around_restart
    )
    figures["after the end of connections, ms"] = longest_ms(disturbances.returns)
    figures["after kill -9 and a start, ms"] = longest_ms(disturbances.restarts)
    figures["answers of servers during the restart of the database"] = shown(
        sum((each.counts for each in disturbances.around_restart), Counter())
    )
    figures["requests of clients"] = shown(clients.counts)
    figures["acknowledged writes lost"] = len(checked.lost)
    figures["executed twice"] = len(checked.repeated)
    figures["records or entries of no acknowledged write"] = len(checked.unknown)
    assert checked.lost == []
    assert checked.repeated == []
    assert checked.unknown == []
    assert checked.findings == []
    assert clients.unexpected == []
    assert disturbances.around_restart
    assert all(disturbances.counts[each] for each in DISTURBANCES), disturbances.counts
    check_probes(disturbances.around_restart + disturbances.returns)
    assert [answer for each in disturbances.restarts for answer in each.unexpected] == []


def shown(counts: Counter[str]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in sorted(counts.items()))
