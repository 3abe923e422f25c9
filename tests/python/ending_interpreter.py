"""Ends while daemon threads are inside calls: `python ending_interpreter.py FOLDER ACTION`."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import comptroller
from comptroller import _core

THREADS = 4
#: The calls that release the GIL, by the names of `actions`.
ACTIONS = (
    *("list", "refused", "write", "check", "export", "load", "load in parts", "stream", "lines"),
    *("backup", "open", "lane", "deferred", "sample"),
)
GET = b"GET /rewards/claims HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer none\r\n\r\n"


def _rows(number: int) -> Iterator[dict[str, str]]:
    for row in range(20_000):
        yield {"id": f"{number}-{row}", "created_at": "2026-01-31T12:00:00Z"}


def _lane() -> _core.Lane:
    return _core.Lane([], bounds_s=[], large_bytes=1, large_body_header=b"", replay_header=b"")


def actions(svc: comptroller.Service, folder: Path) -> dict[str, Callable[[int], Any]]:
    """Returns the actions, which get a unique number."""
    host: Any = svc.host
    store, principal = host.store, host.principal
    lane, writes = _lane(), _core.DeferredWrites()
    sample = _core.sample("claims", 10**9, 1, None)

    def deferred(number: int) -> None:
        body = b'{"id":"deferred-%d"}' % number
        writes.submit(store, principal, "identities.put", [], body)
        writes.take()

    def lines(_number: int) -> None:
        stream: Any = svc.identities.stream()
        _core.arrow_lines(stream.__arrow_c_stream__(), "identities").next()

    def opened(_number: int) -> None:
        with comptroller.open(folder / "other.db") as other:
            other.identities.list()

    def refused(number: int) -> None:
        with contextlib.suppress(comptroller.NotFound):
            svc.identities.get(f"unknown-{number}")

    return {
        "list": lambda _: svc.identities.list(limit=1000),
        "refused": refused,
        "write": lambda number: svc.identities.put(id=f"written-{number}"),
        "check": lambda _: svc.check(),
        "export": lambda number: svc.export("identities", folder / f"{number}.ndjson"),
        "load": lambda number: svc.load("identities", _rows(number), progress=False),
        "load in parts": lambda number: svc.load(
            "identities", _rows(number), keep_going=True, progress=False
        ),
        "stream": lambda _: svc.identities.stream().to_polars(),
        "lines": lines,
        "backup": lambda number: svc.backup(folder / f"{number}.backup"),
        "open": opened,
        "lane": lambda _: (lane.read(store, GET), lane.end_reads()),
        "deferred": deferred,
        "sample": lambda _: sample.next(1 << 16),
    }


def main(folder: Path, name: str) -> None:
    """Starts the threads, and returns while they are inside calls."""
    svc = comptroller.open(folder / "store.db")
    svc.load("identities", _rows(0), progress=False)
    action = actions(svc, folder)[name]
    numbers = count(1)
    begun = threading.Semaphore(0)

    def repeat() -> None:
        while True:
            begun.release()
            action(next(numbers))

    for _ in range(THREADS):
        threading.Thread(target=repeat, daemon=True).start()
    for _ in range(2 * THREADS):
        begun.acquire()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
