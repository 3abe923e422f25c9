"""Several servers of one database behind nginx, or as a list of addresses."""

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import pytest
from callers import Answer, Caller, CutOff
from places import ROOT
from postgresql_server import Server
from serving import free_ports

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
_NGINX_PROGRAM = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
_IDENTITIES = "/operator/identity/identities"
#: A probe tries again after this pause.
_PAUSE_S = 0.05
#: The servers answer again so long after the database does.
BACK_WITHIN_S = 5
_START_WITHIN_S = 60


class Fleet:
    """Servers of a database, each on a port of its own, and nginx before them if it is requested.

    Args:
        address: of the database.
        folder: for the state folder, which the servers share, and their logs.
        count: the number of servers.
        words: further options of `serve`.
        with_nginx: whether clients use nginx; else they have the addresses of the servers. The test
            is skipped if nginx is not installed.

    Attributes:
        addresses: of the servers.
        entries: the addresses for clients.
    """

    def __init__(
        self, address: str, folder: Path, count: int, *words: str, with_nginx: bool
    ) -> None:
        if with_nginx and _NGINX_PROGRAM is None:
            pytest.skip("needs nginx")
        self._address = address
        self._folder = folder
        self._words = words
        self._ports = free_ports(count)
        self._log = (folder / "servers.log").open("a")
        self.servers = [self._start(port) for port in self._ports]
        self.addresses = [f"http://127.0.0.1:{port}" for port in self._ports]
        self.entries = self.addresses
        self._nginx = self._start_nginx() if with_nginx else None

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

    def _start_nginx(self) -> subprocess.Popen[str]:
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
        command = [str(_NGINX_PROGRAM), "-c", str(path), "-e", str(folder / "error.log")]
        return subprocess.Popen(command, text=True)

    def wait(self) -> None:
        """Waits until each server answers."""
        for port in self._ports:
            _wait_for_port(port)
        if self._nginx:
            _wait_for_port(int(self.entries[0].rpartition(":")[2]))

    def replace(self, number: int, how: signal.Signals) -> None:
        """Ends a server, and starts the next one on its port."""
        server = self.servers[number]
        assert server.poll() is None, f"server {number} has ended by itself"
        server.send_signal(how)
        assert server.wait(30) == (0 if how == signal.SIGTERM else -how)
        self.servers[number] = self._start(self._ports[number])

    async def supervise(self, is_starting: Callable[[int], bool]) -> None:
        """Starts servers again that ended as they started, as a supervisor does; until cancelled.

        A server does not start while its database is away.
        """
        while True:
            for number, server in enumerate(self.servers):
                if server.poll() == 1:
                    assert is_starting(number), f"server {number} has ended by itself"
                    self.servers[number] = self._start(self._ports[number])
            await asyncio.sleep(_PAUSE_S)

    def metrics(self) -> list[str]:
        """Returns the metrics of each server."""
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
def fleet(
    address: str, folder: Path, count: int, *words: str, with_nginx: bool = True
) -> Iterator[Fleet]:
    """Yields servers that listen."""
    servers = Fleet(address, folder, count, *words, with_nginx=with_nginx)
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


class Probe(NamedTuple):
    """What a server answered until it executed a write again.

    Attributes:
        seconds: from the given instant to the first answer 200.
        counts: answers by status, and refused or lost connections.
        unexpected: answers with another status than 200 and 503, or a 503 without `Retry-After`.
    """

    seconds: float
    counts: Counter[str]
    unexpected: list[Answer]


async def probe(address: str, since: Sequence[float]) -> Probe:
    """Writes to one server, again and again, until it is back after a disturbance.

    Args:
        address: of the server.
        since: the instant (`time.monotonic`) from which the server should be back; empty as long as
            the disturbance goes on. Only the answer to a request that was sent after it counts.
    """
    counts: Counter[str] = Counter()
    unexpected: list[Answer] = []
    body = json.dumps({"id": "probe", "metadata": {"at": address}}).encode()
    until = time.monotonic() + 2 * _START_WITHIN_S
    while True:
        sent = time.monotonic()
        begin = since[0] if since else None
        assert sent < until, f"{address} does not answer: {counts}"
        caller = Caller(address)
        try:
            answer = await caller.ask("PUT", _IDENTITIES, body)
        except (OSError, EOFError, CutOff):
            counts["lost connections"] += 1
        else:
            counts[f"answers {answer.status}"] += 1
            may_retry = answer.status == 503 and "retry-after" in answer.fields
            if answer.status != 200 and not may_retry:
                unexpected.append(answer)
            if answer.status == 200 and begin is not None:
                return Probe(time.monotonic() - begin, counts, unexpected)
        finally:
            caller.hang_up()
        await asyncio.sleep(_PAUSE_S)


async def restart_database(database: Server, servers: Fleet) -> list[Probe]:
    """Restarts the database; returns what each server answered meanwhile and until it was back.

    Checks that servers have answered 503.
    """
    restarted: list[float] = []
    probes = [asyncio.create_task(probe(each, restarted)) for each in servers.addresses]
    await asyncio.sleep(_PAUSE_S)
    await asyncio.to_thread(database.restart)
    restarted.append(time.monotonic())
    found = await asyncio.gather(*probes)
    assert any(each.counts["answers 503"] for each in found), found
    return found


def check_probes(probes: list[Probe], within_s: float = BACK_WITHIN_S) -> None:
    """Checks that each server answered each request, with 503 or 200 only, and was back in time."""
    unexpected = [answer for each in probes for answer in each.unexpected]
    assert not unexpected, unexpected
    lost = [each for each in probes if each.counts["lost connections"]]
    assert not lost, lost
    late = [each for each in probes if each.seconds >= within_s]
    assert not late, late
