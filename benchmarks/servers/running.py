"""Servers in processes of their own, and what wrk measures at them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from servers.callers import CUSTOMER

BENCHMARKS = Path(__file__).parent.parent
SCRIPT = Path(__file__).with_name("wrk.lua")
COMPTROLLER = Path(sys.executable).with_name("comptroller")
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
WARM_UP_S = 1
MEASURED_S = 5
GLANCE_S = 0.001  # so much later than it was told, an address is seen
START_WITHIN_S = 30


@contextmanager
def running(command: Sequence[object]) -> Iterator[str]:
    """A server; its address, as it tells it. What it logs goes to a file."""
    with tempfile.NamedTemporaryFile() as told:
        process = subprocess.Popen(
            [str(word) for word in command], cwd=BENCHMARKS, stdout=told, stderr=told
        )
        try:
            yield _address(process, Path(told.name))
        finally:
            process.terminate()
            try:
                process.wait(START_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes], told: Path) -> str:
    ends = time.monotonic() + START_WITHIN_S
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
    """The command that serves a store."""
    return [COMPTROLLER, "serve", "--db", store.resolve(), "--port", 0, *options]


def client(store: Path, scope: str) -> str:
    """The credentials of a new client of the customer that the sample is of."""
    add = [COMPTROLLER, "clients", "add", "bench", "--customer", CUSTOMER, "--scope", scope]
    add += ["--db", store.resolve(), "--json"]
    made = json.loads(subprocess.run(add, check=True, capture_output=True).stdout)
    return f"{made['client_id']}:{made['client_secret']}"


def token(address: str, credentials: str) -> str:
    """A signed token for a client that was there when the server began."""
    headers = {"Authorization": f"Basic {b64encode(credentials.encode()).decode()}"}
    answer = ask(address, "/oauth2/token", headers, b"grant_type=client_credentials")
    return str(json.loads(answer)["access_token"])


def peer(module: str, database: Path) -> list[object]:
    """The command that serves the application of a module of `servers`."""
    return [sys.executable, "-m", "servers.start", f"servers.{module}", database.resolve()]


def ask(address: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> bytes:
    """One answer; raises for what is no 200."""
    request = urllib.request.Request(address + path, body, dict(headers))
    with urllib.request.urlopen(request, timeout=10) as answer:
        return bytes(answer.read())


def measured(
    address: str, path: str, connections: int, headers: Mapping[str, str], *words: str
) -> dict[str, float]:
    """Requests/s and milliseconds over kept-alive connections, after a warm-up.

    With words the requests are creates, see wrk.lua.
    """
    _wrk(WARM_UP_S, address + path, connections, headers, *words, "a" if words else "")
    told = _wrk(MEASURED_S, address + path, connections, headers, *words, "b" if words else "")
    return {
        "requests/s": told["requests"] / told["seconds"],
        "p50 ms": told["p50"] / 1000,
        "p99 ms": told["p99"] / 1000,
    }


def _wrk(
    seconds: int, url: str, connections: int, headers: Mapping[str, str], *words: str
) -> dict[str, float]:
    command = [_generator(), "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout=60s"]
    command += ["-s", str(SCRIPT)]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    done = subprocess.run(
        [*command, url, "--", *filter(None, words)], capture_output=True, text=True, check=False
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
    """Which one asks, and its version."""
    if shutil.which("wrk") is None:
        return "wrk (not installed)"
    told = subprocess.run(["wrk", "--version"], capture_output=True, text=True, check=False)
    return told.stdout.partition(" [")[0]
