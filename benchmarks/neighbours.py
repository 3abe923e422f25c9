"""The time of a get over HTTP while another client sends the most expensive requests.

python benchmarks/neighbours.py [CLAIMS]
"""

from __future__ import annotations

import http.client
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

import comptroller
from comptroller.arguments import KINDS
from servers.running import ours, running

SECONDS = 10
NEIGHBOURS = 4
LISTS = "/rewards/"
ORCHESTRATIONS = "/v2/orchestration/orchestrations"
CONTROLS = "/v2/identity/controls"
# The most expensive requests: on the event loop, in a thread, over a whole table.
EXPENSIVE = {
    "nothing": None,
    "8 profiles, 100 records": (
        ORCHESTRATIONS,
        [("customer_id", "default"), *(("profile_id", f"p{n}") for n in range(8))],
    ),
    "100 profiles, 1,000 records": (
        ORCHESTRATIONS,
        [("limit", "1000"), *(("profile_id", f"p{n}") for n in range(100))],
    ),
    "1,000 claims": (LISTS + "claims", [("limit", "1000")]),
    "controls of a past time": (CONTROLS, [("active_at", "2000-01-01T00:00:00Z")]),
    "groups by a common prefix": (LISTS + "payout-groups", [("name_prefix", "G")]),
}


def _connect(address: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(address.removeprefix("http://"))


def _get(connection: http.client.HTTPConnection, path: str) -> bytes:
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise RuntimeError(body.decode())
    return body


def _repeat(address: str, path: str) -> None:
    connection = _connect(address)
    while True:
        _get(connection, path)


def _latencies(address: str, path: str) -> list[float]:
    """Measures the milliseconds of gets with a pause of 2 ms between them."""
    connection = _connect(address)
    taken = []
    end = time.perf_counter() + SECONDS
    while (began := time.perf_counter()) < end:
        _get(connection, path)
        taken.append((time.perf_counter() - began) * 1e3)
        time.sleep(0.002)
    return sorted(taken)


def main(claims: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        comptroller.sample("all", claims, out=Path(folder))
        with comptroller.open(str(store)) as service:
            for kind in KINDS:
                service.load(kind, Path(folder) / f"{kind}.ndjson")
            claim = service.claims.list(limit=1).items[0].id
        with running(ours(store, "--auth", "off")) as address:
            for name, request in EXPENSIVE.items():
                path = "" if request is None else f"{request[0]}?{urlencode(request[1])}"
                count = NEIGHBOURS if path else 0
                others = [
                    multiprocessing.Process(target=_repeat, args=(address, path), daemon=True)
                    for _ in range(count)
                ]
                for other in others:
                    other.start()
                taken = _latencies(address, f"/rewards/claims/{claim}")
                for other in others:
                    other.kill()
                p50, p99 = (taken[int(len(taken) * part)] for part in (0.5, 0.99))
                print(f"{name:28} {len(taken):6,} gets  p50 {p50:6.2f} ms  p99 {p99:6.2f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
