"""Servers in separate processes, and the measurements of wrk."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from servers.callers import CUSTOMER

BENCHMARKS = Path(__file__).parent.parent
SCRIPT = Path(__file__).with_name("wrk.lua")
COMPTROLLER = Path(sys.executable).with_name("comptroller")
ADDRESS = re.compile(r"https?://127\.0\.0\.1:\d+")
# The servers are on this machine, and their certificates of a day.
ANY_CERTIFICATE = ssl._create_unverified_context()
WARM_UP_S = 1
ROUND_S = 1
GLANCE_S = 0.001  # the time until an address is visible
START_WITHIN_S = 30
ASK_WITHIN_S = 10
SETTLE_WITHIN_S = 5
SETTLE_S = 0.05


class Server(NamedTuple):
    """A running server and the id of its process."""

    address: str
    pid: int


class Usage(NamedTuple):
    """The resource use of a process, by thread."""

    cpu_us: dict[str, float]
    switches: dict[str, int]  # voluntary context switches

    def since(self, before: Usage) -> tuple[float, int]:
        """Returns CPU microseconds and voluntary context switches of the running threads."""
        cpu_us = sum(value - before.cpu_us.get(task, 0) for task, value in self.cpu_us.items())
        switches = sum(
            value - before.switches.get(task, 0) for task, value in self.switches.items()
        )
        return cpu_us, switches


@contextmanager
def running(command: Sequence[object]) -> Iterator[str]:
    """Yields the address of a server in a separate process."""
    with started(command) as server:
        yield server.address


@contextmanager
def started(command: Sequence[object], start_within_s: float = START_WITHIN_S) -> Iterator[Server]:
    """Yields a server in a separate process, which logs to a file."""
    with tempfile.NamedTemporaryFile() as told:
        process = subprocess.Popen(
            [str(word) for word in command], cwd=BENCHMARKS, stdout=told, stderr=told
        )
        try:
            yield Server(_address(process, Path(told.name), start_within_s), process.pid)
        finally:
            process.terminate()
            try:
                process.wait(start_within_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes], told: Path, start_within_s: float) -> str:
    ends = time.monotonic() + start_within_s
    while time.monotonic() < ends:
        has_ended = process.poll() is not None
        said = told.read_text()
        if found := ADDRESS.search(said):
            return found[0]
        if has_ended:
            raise RuntimeError(said.strip().rpartition("\n")[2] or "the server ended")
        time.sleep(GLANCE_S)
    raise RuntimeError("the server told no address")


def ours(store: Path, *options: object) -> list[object]:
    """Returns the command that serves a store."""
    return [COMPTROLLER, "serve", "--db", store.resolve(), "--port", 0, *options]


def client(store: Path, *scopes: str) -> str:
    """Registers a client of the sample's customer; returns its credentials."""
    add = [COMPTROLLER, "clients", "add", f"bench {uuid4()}", "--customer", CUSTOMER]
    add += ["--db", store.resolve(), "--json"]
    for scope in scopes:
        add += ["--scope", scope]
    made = json.loads(subprocess.run(add, check=True, capture_output=True).stdout)
    return f"{made['client_id']}:{made['client_secret']}"


def token(address: str, credentials: str, within_s: float = ASK_WITHIN_S) -> str:
    """Returns a signed token for a client registered before the start of the server."""
    headers = {"Authorization": f"Basic {b64encode(credentials.encode()).decode()}"}
    answer = ask(address, "/oauth2/token", headers, b"grant_type=client_credentials", within_s)
    return str(json.loads(answer)["access_token"])


def peer(module: str, database: Path) -> list[object]:
    """Returns the command that serves the application of a module of `servers`."""
    return [sys.executable, "-m", "servers.start", f"servers.{module}", database.resolve()]


def ask(
    address: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes | None = None,
    within_s: float = ASK_WITHIN_S,
) -> bytes:
    """Sends one request; raises unless the status is 200."""
    request = urllib.request.Request(address + path, body, dict(headers))
    with urllib.request.urlopen(request, timeout=within_s, context=ANY_CERTIFICATE) as answer:
        return bytes(answer.read())


def usage(server: Server) -> Usage | None:
    """Returns the resource use of a server so far, from Linux's /proc, else None."""
    cpu_us, switches = {}, {}
    for task in Path(f"/proc/{server.pid}/task").glob("*"):
        try:
            cpu_us[task.name] = int((task / "schedstat").read_text().split()[0]) / 1000
            status = (task / "status").read_text()
        except OSError:  # the thread ended
            continue
        switches[task.name] = int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return Usage(cpu_us, switches) if cpu_us else None


def measured(
    server: Server,
    path: str,
    connections: int,
    headers: Mapping[str, str],
    *words: str,
    seconds: int = ROUND_S,
    least_bytes: int = 0,
) -> dict[str, float]:
    """Runs a round on kept-alive connections: requests/s, latencies, resource use.

    Raises if a response had an error status, or all together fewer bytes than
    `least_bytes` each. With arguments for wrk.lua the requests are creates. Returns when the
    server has also finished the requests for which the generator no longer waited.
    """
    before = usage(server)
    told = wrk(seconds, server.address + path, connections, headers, *words)
    after = usage(server)
    if told["bytes"] < told["requests"] * least_bytes:
        raise RuntimeError("some responses were not complete")
    found = {
        "requests": told["requests"],
        "requests/s": told["requests"] / told["seconds"],
        "p50 ms": told["p50"] / 1000,
        "p99 ms": told["p99"] / 1000,
    }
    if before is not None and after is not None:
        cpu_us, switches = after.since(before)
        found["CPU us"] = cpu_us / told["requests"]
        found["switches"] = switches / told["requests"]
    _settle(server)
    return found


def _settle(server: Server) -> None:
    ends = time.monotonic() + SETTLE_WITHIN_S
    before = usage(server)
    while before is not None and time.monotonic() < ends:
        time.sleep(SETTLE_S)
        after = usage(server)
        if after is None or after.since(before)[0] < SETTLE_S * 1e6 / 20:
            return
        before = after


def wrk(
    seconds: int, url: str, connections: int, headers: Mapping[str, str], *words: str
) -> dict[str, float]:
    """Returns requests, seconds, and microseconds of a run of wrk; raises if a request failed."""
    command = [_generator(), "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout=60s"]
    command += ["-s", str(SCRIPT)]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    done = subprocess.run(
        [*command, url, "--", *words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"wrk: {done.stderr.strip() or done.stdout.strip()}")
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if told["failed"] or not told["requests"]:
        raise RuntimeError(f"{told['failed']:.0f} of {told['requests']:.0f} requests failed")
    return told


def _generator() -> str:
    found = shutil.which("wrk")
    if found is None:
        raise RuntimeError("rows 4 and 5 need wrk: apt-get install wrk, or brew install wrk")
    return found


def generator() -> str:
    """Returns the name and version of the load generator."""
    if shutil.which("wrk") is None:
        return "wrk (not installed)"
    told = subprocess.run(["wrk", "--version"], capture_output=True, text=True, check=False)
    return told.stdout.partition(" [")[0]
