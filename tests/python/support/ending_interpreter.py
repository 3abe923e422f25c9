"""Ends with exit code 7 while daemon threads are inside calls: `FOLDER CALL`."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import comptroller
from comptroller import _core

CODE = 7
THREADS = 4


def _rows(number: int) -> Iterator[dict[str, str]]:
    for row in range(20_000):
        yield {"id": f"{number}-{row}", "created_at": "2026-01-31T12:00:00Z"}


class _Calls:
    """Calls that release the GIL. Each gets a unique number."""

    def __init__(self, folder: Path) -> None:
        self.svc = comptroller.open(folder / "store.db")
        self._folder = folder
        host: Any = self.svc.host
        self._store, self._principal = host.store, host.principal
        self._responder = _core.Responder([], bounds_s=[], large_bytes=1)
        self._fields = _core.collect_fields()[1]()[0]
        self._writes = _core.DeferredWrites()
        self._sample = _core.sample("claims", 10**9, 1, None)

    def list(self, _number: int) -> None:
        self.svc.identities.list(limit=1000)

    def refuse(self, number: int) -> None:
        with suppress(comptroller.NotFound):
            self.svc.identities.get(f"unknown-{number}")

    def write(self, number: int) -> None:
        self.svc.identities.put(id=f"written-{number}")

    def check(self, _number: int) -> None:
        self.svc.check()

    def export(self, number: int) -> None:
        self.svc.export("identities", self._folder / f"{number}.ndjson")

    def load(self, number: int) -> None:
        self.svc.load("identities", _rows(number), progress=False)

    def load_in_parts(self, number: int) -> None:
        self.svc.load("identities", _rows(number), keep_going=True, progress=False)

    def load_file(self, number: int) -> None:
        path = self._folder / f"{number}.ndjson"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in _rows(number)))
        self.svc.load("identities", path, progress=lambda *_: None)

    def stream(self, _number: int) -> None:
        self.svc.identities.stream().to_polars()

    def lines(self, _number: int) -> None:
        stream: Any = self.svc.identities.stream()
        _core.arrow_lines(stream.__arrow_c_stream__(), "identities").next()

    def backup(self, number: int) -> None:
        self.svc.backup(self._folder / f"{number}.backup")

    def open(self, _number: int) -> None:
        with comptroller.open(self._folder / "other.db") as other:
            other.identities.list()

    def respond(self, _number: int) -> None:
        self._responder.read(self._store, b"/", self._fields, True, 0.0)
        self._responder.end_reads()

    def deferred(self, number: int) -> None:
        body = b'{"id":"deferred-%d"}' % number
        self._writes.submit(self._store, self._principal, "identities.put", [], body)
        self._writes.take()

    def sample(self, _number: int) -> None:
        self._sample.next(1 << 16)


CALLS = [name for name in vars(_Calls) if not name.startswith("_")]


def main(folder: Path, name: str) -> None:
    """Returns while threads are inside calls."""
    calls = _Calls(folder)
    calls.svc.load("identities", _rows(0), progress=False)
    call: Callable[[int], None] = getattr(calls, name)
    numbers = count(1)
    begun = threading.Semaphore(0)

    def repeat() -> None:
        while True:
            begun.release()
            call(next(numbers))

    for _ in range(THREADS):
        threading.Thread(target=repeat, daemon=True).start()
    for _ in range(2 * THREADS):
        begun.acquire()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
    sys.stdout.write("last words")
    sys.exit(CODE)
