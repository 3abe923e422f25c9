"""Several servers of one database behind nginx, or as a list of addresses, and clients of them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import comptroller
from callers import Answer, Caller, CutOff
from places import ROOT
from postgresql_server import Server

_NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {servers}
}}
"""
#: A client tries again after this pause.
_PAUSE_S = 0.05
#: The servers answer again so long after the database does.
BACK_WITHIN_S = 5
_START_WITHIN_S = 60


def free_ports(count: int) -> list[int]:
    """Returns ports for servers that are started again on them."""
    found = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in found]
    for each in found:
        each.close()
    return ports


def make_store(server: Server) -> str:
    """Returns the address of a store with the records that all clients share."""
    address = server.create("several")
    with comptroller.open(address) as svc:
        for number in range(Clients.SHARED):
            svc.identities.put(id=f"shared-{number}", customer_id="acme")
    return address


class Fleet:
    """Servers of a database, each on a port of its own, and nginx before them if it is installed.

    Args:
        address: of the database.
        folder: for the state folder, which the servers share, and their logs.
        count: the number of servers.
        words: further options of `serve`.
    """

    def __init__(self, address: str, folder: Path, count: int, *words: str) -> None:
        self._address = address
        self._folder = folder
        self._words = words
        self._ports = free_ports(count)
        self._log = (folder / "servers.log").open("a")
        self.servers = [self._start(port) for port in self._ports]
        self.entries = [f"http://127.0.0.1:{port}" for port in self._ports]
        self._nginx = self._start_nginx() if shutil.which("nginx") else None

    def _start(self, port: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "comptroller", "serve", "--port", str(port)]
        state = ["--state", str(self._folder / "state")]
        return subprocess.Popen(
            [*command, *state, *self._words],
            env={**os.environ, "COMPTROLLER_DB": self._address},
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            text=True,
        )

    def _start_nginx(self) -> subprocess.Popen[bytes]:
        """Starts nginx with the configuration of the guide, on ports of this machine."""
        (port,) = free_ports(1)
        text = (ROOT / "docs/how-to/deployment/nginx-servers.conf").read_text(encoding="utf-8")
        addresses = iter(self._ports)
        text = re.sub(
            r"server 10\.0\.0\.\d+:8080", lambda _: f"server 127.0.0.1:{next(addresses)}", text
        )
        text = text.replace("listen 80;", f"listen 127.0.0.1:{port};")
        folder = self._folder / "nginx"
        folder.mkdir()
        path = folder / "nginx.conf"
        path.write_text(_NGINX.format(folder=folder, servers=text))
        self.entries = [f"http://127.0.0.1:{port}"]
        return subprocess.Popen(["nginx", "-c", path, "-e", folder / "error.log"])

    def wait(self) -> None:
        """Waits until each server answers."""
        for port in self._ports:
            _wait_for_port(port)
        if self._nginx:
            _wait_for_port(int(self.entries[0].rpartition(":")[2]))

    def replace(self, number: int, how: signal.Signals) -> None:
        """Ends a server, and starts the next one on its port."""
        server = self.servers[number]
        server.send_signal(how)
        assert server.wait(30) == (0 if how == signal.SIGTERM else -how)
        self.servers[number] = self._start(self._ports[number])

    def metrics(self) -> list[str]:
        """Returns the metrics of each server."""
        from urllib.request import urlopen

        return [
            urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30).read().decode()
            for port in self._ports
        ]

    def close(self) -> None:
        for process in (*self.servers, *([self._nginx] if self._nginx else [])):
            process.terminate()
        for process in (*self.servers, *([self._nginx] if self._nginx else [])):
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
        self._log.close()


@contextmanager
def fleet(address: str, folder: Path, count: int, *words: str) -> Iterator[Fleet]:
    """Yields servers that listen."""
    servers = Fleet(address, folder, count, *words)
    try:
        servers.wait()
        yield servers
    finally:
        servers.close()


def _wait_for_port(port: int) -> None:
    until = time.monotonic() + _START_WITHIN_S
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert time.monotonic() < until, f"nothing listens on port {port}"
        time.sleep(_PAUSE_S)


class Clients:
    """Clients that write with keys, each until its writes are answered.

    Each creates payout groups of its own, whose names tell how often they were created, and changes
    controls of identities that all clients share.

    Args:
        entries: the addresses; a client uses the next one after a failure.
        count: the number of clients.
    """

    SHARED = 8

    def __init__(self, entries: list[str], count: int) -> None:
        self._entries = entries
        self._count = count
        self.counts: Counter[str] = Counter()
        self.created: dict[str, str] = {}  # the ids of acknowledged groups, by name
        self.sent: set[str] = set()  # the names of all groups
        self.answered_at: list[float] = []
        self._is_over = asyncio.Event()

    async def run(self) -> None:
        """Sends requests until `stop`, and then the ones that were not answered yet."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._count):
                group.create_task(self._run_one(number))

    def stop(self) -> None:
        self._is_over.set()

    async def _run_one(self, number: int) -> None:
        chance = Random(number)
        entries = cycle(self._entries[number % len(self._entries) :] + self._entries)
        caller = [Caller(next(entries))]
        turn = 0

        async def send(method: str, path: str, body: dict[str, Any], key: str) -> Answer:
            while True:
                try:
                    answer = await caller[0].ask(
                        method, path, json.dumps(body).encode(), Idempotency_Key=key
                    )
                except (OSError, EOFError, CutOff):
                    self.counts["lost connections"] += 1
                else:
                    if answer.status < 500 and not _is_in_flight(answer):
                        self.answered_at.append(time.monotonic())
                        return answer
                    self.counts[f"answers {answer.status}"] += 1
                caller[0].hang_up()
                caller[0] = Caller(next(entries))
                await asyncio.sleep(_PAUSE_S)

        while not self._is_over.is_set():
            turn += 1
            name = f"of-{number}-{turn}"
            if turn % 2:
                self.sent.add(name)
                answer = await send("POST", "/rewards/payout-groups", _group(name), name)
                assert answer.status == 200, answer
                self.created[name] = json.loads(answer.body)["group"]["id"]
            else:
                body = {
                    "identity_id": f"shared-{chance.randrange(self.SHARED)}",
                    "type": chance.choice(["FROZEN", "SELL_ONLY", "CLOSED"]),
                    "reason_code": "R",
                }
                answer = await send("POST", "/operator/identity/controls", body, name)
                assert answer.status in (200, 409), answer
                if answer.status == 200 and chance.random() < 0.9:
                    control = json.loads(answer.body)["id"]
                    ending = {"control_id": control, "reason": "done"}
                    answer = await send(
                        "DELETE", "/operator/identity/controls", ending, f"{name}-deleted"
                    )
                    assert answer.status == 200, answer
            self.counts["answered"] += 1
        caller[0].hang_up()

    async def wait_for(self, answers: int) -> None:
        """Waits for a number of further answers."""
        until = self.counts["answered"] + answers
        while self.counts["answered"] < until:
            await asyncio.sleep(_PAUSE_S)


def _is_in_flight(answer: Answer) -> bool:
    return answer.status == 409 and json.loads(answer.body)["code"] == "idempotency-in-flight"


def _group(name: str) -> dict[str, Any]:
    return {
        "ledger": "ETHEREUM",
        "asset_type": "ETH",
        "jurisdiction": "CH",
        "name": name,
        "claimer_address": f"0x{1:040x}",
    }


def check_writes(address: str, clients: Clients) -> None:
    """Checks that each acknowledged write was executed once, no other twice, and the store."""
    with comptroller.open(address) as svc:
        found = list(svc.payout_groups.iter())
        names = Counter(each.name for each in found)
        assert [name for name, times in names.items() if times > 1] == []
        by_name = {each.name: each.id for each in found}
        lost = {name for name, id in clients.created.items() if by_name.get(name) != id}
        assert not lost
        assert names.keys() <= clients.sent
        checked = svc.check()
        assert checked["ok"], checked["findings"]
        result = svc.journal.verify()
        assert result.ok, result.findings
