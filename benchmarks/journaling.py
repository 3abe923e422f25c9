"""Row 11: the journal: its verification, the change feed, webhooks, creates, the history."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import comptroller
import msgspec
import stores

CONTENDERS = ("verify", "feed", "history", "deliveries", "creates", "life_of_a_control")

CREATES = 20_000
CLIENTS = 64
EVENTS = 20_000
LIVES = 2_000
HISTORIES = 5
CONTROL = {"type": "SELL_ONLY", "reason_code": "REVIEW"}


class Page(msgspec.Struct):
    """A page of the change feed, whose changes are not decoded."""

    items: list[msgspec.Raw]
    next_cursor: str
    has_more: bool


def verify(folder: Path) -> dict[str, float]:
    with comptroller.open(stores.need_store(folder), read_only=True) as svc:
        started = time.perf_counter()
        assert svc.journal.verify().ok
        return {"seconds": time.perf_counter() - started}


def feed(folder: Path) -> dict[str, float]:
    """Reads the whole feed, whose changes are those of a load, as pages of JSON."""
    with comptroller.open(stores.need_store(folder), read_only=True) as svc:
        changes, parameters = 0, [("limit", "1000")]
        started = time.perf_counter()
        while True:
            answer = svc.host.call("changes.list", parameters, None, None)
            page = msgspec.json.decode(answer, type=Page)
            changes += len(page.items)
            parameters = [("limit", "1000"), ("after", page.next_cursor)]
            if not page.has_more:
                return {"rate": changes / (time.perf_counter() - started)}


def history(folder: Path) -> dict[str, float]:
    """Reads the history of the newest claim with its entries; the first report is not counted."""
    with comptroller.open(stores.need_store(folder), read_only=True) as svc:
        claim = svc.claims.list(limit=1)[0]
        svc.reports.history(claim.id)
        started = time.perf_counter()
        for _ in range(HISTORIES):
            svc.reports.history(claim.id)
        return {"seconds": (time.perf_counter() - started) / HISTORIES}


def deliveries(folder: Path) -> dict[str, float]:
    from comptroller.webhooks.delivering import delivering
    from comptroller.webhooks.endpoint import Counts

    counts = Counts()
    with _new_store(folder) as (svc, _), _receiver() as url:
        svc.webhooks.create(url=url)
        with (folder / "claims.ndjson").open("rb") as lines:
            svc.load("claims", [json.loads(next(lines)) for _ in range(EVENTS)])
        started = time.perf_counter()
        with delivering(svc.host.store, counts):
            while counts.delivered < EVENTS:
                time.sleep(0.005)
            return {"rate": EVENTS / (time.perf_counter() - started)}


def creates(folder: Path) -> dict[str, float]:
    """Creates controls in threads, each create durable before it returns."""
    with _new_store(folder) as (svc, _):
        svc.load("identities", [_identity(number) for number in range(CREATES)])

        def create(first: int) -> None:
            for number in range(first, CREATES, CLIENTS):
                body = json.dumps({"identity_id": f"user-{number}"} | CONTROL).encode()
                svc.host.call("controls.create", [], body, None)

        threads = [threading.Thread(target=create, args=(each,)) for each in range(CLIENTS)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"rate": CREATES / (time.perf_counter() - started)}


def life_of_a_control(folder: Path) -> dict[str, float]:
    """Creates and deletes controls; measures the pages of the journal's table and indexes."""
    found = {}
    for name, has_keys in (("bytes", False), ("bytes with key", True)):
        with _new_store(folder) as (svc, path):
            svc.load("identities", [_identity(number) for number in range(LIVES)])
            before = _journal_bytes(path)
            for number in range(LIVES):
                keys = [f"{number}-{what}" if has_keys else None for what in ("create", "delete")]
                control = svc.controls.create(
                    identity_id=f"user-{number}", idempotency_key=keys[0], **CONTROL
                )
                svc.controls.delete(
                    control_id=control.id, reason="resolved", idempotency_key=keys[1]
                )
            found[name] = (_journal_bytes(path) - before) / (2 * LIVES)
    return found


def _identity(number: int) -> dict[str, str]:
    created_at = "2026-01-01T00:00:00Z"
    return {"id": f"user-{number}", "customer_id": "acme", "created_at": created_at}


def _journal_bytes(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute(
            "SELECT sum(pgsize) FROM dbstat WHERE name IN"
            " (SELECT name FROM sqlite_schema WHERE tbl_name = 'journal')"
        ).fetchone()
    return int(size)


@contextmanager
def _new_store(folder: Path) -> Iterator[tuple[comptroller.Service, Path]]:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "store.db"
        with comptroller.open(path, actor="operator:desk") as svc:
            yield svc, path


@contextmanager
def _receiver() -> Iterator[str]:
    """Starts a process that answers each request with 204; yields its URL."""
    command = [sys.executable, Path(__file__).parent / "servers" / "receiver.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
        finally:
            process.terminate()
