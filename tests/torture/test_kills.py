"""Processes that write are killed at 500 moments: no answered write is lost, and none is half."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import comptroller
import pytest
from comptroller import Service
from comptroller.bulk.archiving import first_unarchived
from examples import GROUP, ndjson, short_line
from places import SUPPORT
from power_operations import make_earlier_store, write_inputs

pytest.importorskip("duckdb")
pytest.importorskip("httpx2")

from receiver import Received, Receiver, process

pytestmark = pytest.mark.promise(1)

CLAIMS = 3_000
#: The claims of a load that stores batches.
BATCHED = 20_000
#: The claims of 4,000 that have further events.
MOVED_CLAIMS = 400
#: 500 kills, by test.
KILLS = {
    "writers": 130,
    "two_processes": 50,
    "forked_children": 30,
    "checkpoints": 40,
    "loads": 40,
    "loads_in_batches": 20,
    "migrations": 60,
    "moves": 60,
    "archives": 60,
    "deliveries": 10,  # after each, the next process waits up to 15 s for the lease
}
#: The least share of the kills that must strike inside an operation, where this can be seen.
STRUCK = 0.1

Kill = Callable[..., list[str]]


class Killer:
    """Runs programs of `killed_writers` on a store, kills them at random moments, and checks it."""

    def __init__(self, kill: Kill, figures: dict[str, Any], seed: str) -> None:
        self._kill = kill
        self._figures = figures
        self.chance = Random(seed)

    def killed(self, program: str, store: Path, kill: int, **more: Any) -> list[str]:
        """Kills after `kill` acknowledgements, and up to 3 ms."""
        delay = more.pop("delay", self.chance.uniform(0, 0.003))
        acknowledged = self._kill(program=program, store=str(store), kill=kill, delay=delay, **more)
        self.count("kills")
        return acknowledged

    def check(
        self, store: Path, acknowledged: list[str], has: Callable[[Service, str], Any]
    ) -> None:
        """Checks that the store is sound, that it has what was acknowledged, and can be written."""
        with comptroller.open(store) as svc:
            found = svc.check()
            assert found["ok"], found
            for name in acknowledged:
                has(svc, name)
            svc.identities.put(id="afterwards", metadata={"number": str(self.chance.random())})
        self.count("stores sound after a kill")
        if acknowledged:
            self.count("answered writes found", len(acknowledged))

    def count(self, label: str, count: int = 1) -> None:
        self._figures[label] = self._figures.get(label, 0) + count


@pytest.fixture(name="killer")
def _killer(figures: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[Killer]:
    command = [sys.executable, str(SUPPORT / "killed_writers.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdin is not None
        assert starter.stdout is not None
        given, answers = starter.stdin, starter.stdout

        def kill(**order: Any) -> list[str]:
            given.write(json.dumps(order) + "\n")
            given.flush()
            acknowledged: list[str] = json.loads(answers.readline())
            return acknowledged

        yield Killer(kill, figures, request.node.name)
        given.close()


def read_killed(store: Path, sql: str) -> int:
    """Returns a number of a copy of a killed store, so that the next opening finds its log."""
    with TemporaryDirectory() as folder:
        for ending in ("", "-wal"):
            file = Path(f"{store}{ending}")
            if file.exists():
                shutil.copyfile(file, f"{folder}/copy{ending}")
        with closing(sqlite3.connect(f"{folder}/copy")) as connection:
            return int(connection.execute(sql).fetchone()[0])


def has_begun_checkpoint(store: Path) -> bool:
    """Whether a process died after it began to copy the log into the file, and before its end.

    The index of the log has the number of frames that are in the file, and of those to be copied.
    """
    index = Path(f"{store}-shm").read_bytes()
    (copied,), (attempted,) = (struct.unpack_from("=I", index, place) for place in (96, 128))
    return bool(copied < attempted)


def has_write(svc: Service, name: str) -> None:
    """Checks what `write_one` writes under this name."""
    turn = int(name.rpartition("-")[2]) % 4
    if turn in (1, 3):
        assert svc.claims.get(name).onchain_status == ("PENDING" if turn == 1 else "SUBMITTED")
        return
    identity = svc.identities.get(name)
    assert identity.user_disabled if turn == 0 else identity.status == "DISABLED"


def has_identity(svc: Service, name: str) -> None:
    assert svc.identities.get(name).id == name


def test_writers(tmp_path: Path, killer: Killer) -> None:
    """kill -9 of a process with four threads that write"""
    written: list[str] = []
    for kill in range(KILLS["writers"]):
        names = killer.killed(
            "write", tmp_path / "store.db", killer.chance.randint(1, 25), prefix=f"k{kill}"
        )
        killer.check(tmp_path / "store.db", names, has_write)
        written += names
    assert len(written) > KILLS["writers"]
    with comptroller.open(tmp_path / "store.db") as svc:
        for name in written:
            has_write(svc, name)
        for identity in svc.identities.iter():
            if identity.id.startswith("k") and int(identity.id.rpartition("-")[2]) % 4 == 0:
                assert identity.user_disabled, identity.id


def test_two_processes(tmp_path: Path, killer: Killer, figures: dict[str, Any]) -> None:
    """kill -9 of one of two processes that write, then of the other"""
    for kill in range(KILLS["two_processes"]):
        prefixes = {"prefix": f"one{kill}", "others": [f"two{kill}"]}
        names = killer.killed(
            "write", tmp_path / "store.db", killer.chance.randint(1, 25), **prefixes
        )
        killer.check(tmp_path / "store.db", names, has_write)
    assert figures["answered writes found"] > KILLS["two_processes"]


def test_forked_children(tmp_path: Path, killer: Killer, figures: dict[str, Any]) -> None:
    """kill -9 of a process whose forked children live on"""
    for kill in range(KILLS["forked_children"]):
        names = killer.killed(
            "fork_and_write", tmp_path / "store.db", killer.chance.randint(8, 40), prefix=f"k{kill}"
        )
        names = [name for name in names if name != "forked"]
        killer.check(tmp_path / "store.db", names, has_write)
    assert figures["answered writes found"] > KILLS["forked_children"]


def test_checkpoints(tmp_path: Path, killer: Killer, figures: dict[str, Any]) -> None:
    """kill -9 of a writer near its checkpoint"""
    for kill in range(KILLS["checkpoints"]):
        store = tmp_path / f"{kill}.db"
        # The first checkpoint precedes the answer to write 127.
        writes, delay = killer.chance.randint(121, 127), killer.chance.uniform(0, 0.02)
        names = killer.killed("write_large", store, writes, delay=delay, prefix="k")
        killer.count("kills during a checkpoint", has_begun_checkpoint(store))
        killer.check(store, names, has_identity)
        store.unlink()
    assert figures["kills during a checkpoint"] >= KILLS["checkpoints"] * STRUCK


def test_loads(tmp_path: Path, killer: Killer) -> None:
    """kill -9 of a load in a private copy"""
    path = Path(comptroller.sample("claims", rows=CLAIMS, out=tmp_path / "claims.ndjson"))
    pieces = path.stat().st_size // (1 << 15)
    for kill in range(KILLS["loads"]):
        store = tmp_path / f"{kill}.db"
        # The build and the adoption follow the last piece.
        late = kill % 2 == 0
        names = killer.killed(
            "load",
            store,
            pieces if late else killer.chance.randint(1, pieces),
            delay=killer.chance.uniform(0, 0.15 if late else 0.003),
            path=str(path),
        )
        killer.count("kills between the last piece and the answer", late and "done" not in names)
        killer.check(store, [], has_identity)
        with comptroller.open(store) as svc:
            rows = svc.check()["rows"]["claims"]
            assert rows in ((CLAIMS,) if "done" in names else (0, CLAIMS))
            assert svc.load("claims", path).rejected == 0
            assert svc.check()["rows"]["claims"] == CLAIMS
        store.unlink()


def test_loads_in_batches(tmp_path: Path, killer: Killer, figures: dict[str, Any]) -> None:
    """kill -9 of a load that stores batches"""
    path = tmp_path / "claims.ndjson"
    path.write_bytes(ndjson(short_line("claims", id=str(number)) for number in range(BATCHED)))
    pieces = path.stat().st_size // (1 << 15)
    for kill in range(KILLS["loads_in_batches"]):
        store = tmp_path / f"{kill}.db"
        options = {"path": str(path), "keep_going": True}
        delay = killer.chance.uniform(0, 0.1)
        killer.killed("load", store, killer.chance.randint(1, pieces), delay=delay, **options)
        killer.check(store, [], has_identity)
        with comptroller.open(store) as svc:
            kept = svc.check()["rows"]["claims"]
            assert {claim.id for claim in svc.claims.iter(limit=1000)} == {*map(str, range(kept))}
        killer.count("kills between two batches", 0 < kept < BATCHED)
        store.unlink()
    assert figures["kills between two batches"] >= KILLS["loads_in_batches"] * STRUCK


def test_migrations(tmp_path: Path, killer: Killer, figures: dict[str, Any]) -> None:
    """kill -9 of the migration of a store of an earlier version"""
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    write_inputs(inputs)
    make_earlier_store(tmp_path / "earlier.db", inputs)
    new = shutil.copyfile(tmp_path / "earlier.db", tmp_path / "new.db")
    began = time.monotonic()
    with comptroller.open(new) as svc:
        seconds = time.monotonic() - began
        expected = svc.check()["rows"]
    earlier = read_killed(tmp_path / "earlier.db", "PRAGMA user_version")
    for kill in range(KILLS["migrations"]):
        store = Path(shutil.copyfile(tmp_path / "earlier.db", tmp_path / f"{kill}.db"))
        names = killer.killed("migrate", store, 1, delay=killer.chance.uniform(0, 1.5 * seconds))
        is_new = read_killed(store, "PRAGMA user_version") > earlier
        killer.count("kills during the migration", Path(f"{store}-filling").exists())
        killer.count("files with the earlier version", not is_new)
        killer.count(
            "files with the new version, without an answer", is_new and "done" not in names
        )
        with comptroller.open(store) as svc:
            rows = svc.check()["rows"]
            rows["identities"] -= len(svc.identities.list())
            assert rows == expected
        killer.check(store, ["migrated"] if "done" in names else [], has_identity)
        store.unlink()
    assert figures["kills during the migration"] >= KILLS["migrations"] * STRUCK
    assert figures["files with the new version, without an answer"] > 0


def test_moves(tmp_path: Path, killer: Killer, figures: dict[str, Any]) -> None:
    """kill -9 of changes of jurisdictions, which go on after the answer"""
    store = tmp_path / "store.db"
    with comptroller.open(store) as svc:
        svc.load("payout-groups", [short_line("payout-groups", id=GROUP, jurisdiction="DE")])
        claims = [short_line("claims", id=f"c{number}") for number in range(CLAIMS)]
        assert svc.load("claims", claims).committed
    for _ in range(KILLS["moves"]):
        kills = 2 * killer.chance.randint(1, 3)
        names = killer.killed("move", store, kills, delay=killer.chance.uniform(0, 0.05))
        moving = read_killed(store, "SELECT count(*) FROM jurisdiction_changes")
        killer.count("kills during a move", moving > 0)
        answered = [name for name in names if not name.startswith("to ")]
        possible = {answered[-1], names[-1].removeprefix("to ")}
        with comptroller.open(store, read_only=True) as svc:
            assert_moved(svc, possible)
        killer.check(store, answered, lambda svc, _name: None)
        with comptroller.open(store) as svc:
            assert_moved(svc, possible)
    assert figures["kills during a move"] >= KILLS["moves"] * STRUCK


def assert_moved(svc: Service, possible: set[str]) -> None:
    jurisdiction = svc.payout_groups.get(GROUP).jurisdiction
    assert jurisdiction in possible
    for each in ("DE", "FR", "NL"):
        count = sum(1 for _ in svc.claims.iter(jurisdiction=each, limit=1000))
        assert count == (CLAIMS if each == jurisdiction else 0)


def test_archives(tmp_path: Path, killer: Killer) -> None:
    """kill -9 of archives of the journal"""
    files: dict[Path, list[Path]] = {}
    for kill in range(KILLS["archives"]):
        store = tmp_path / f"{kill // 10}.db"
        names = killer.killed(
            "archive",
            store,
            killer.chance.randint(1, 4),
            delay=killer.chance.uniform(0, 0.25),
            prefix=f"k{kill}",
        )
        done = [name.partition(" ")[2] for name in names if not name.startswith("to ")]
        archived = files.setdefault(store, [])
        archived += map(Path, done)
        begun = Path(names[-1].removeprefix("to ")) if names[-1].startswith("to ") else None
        with comptroller.open(store) as svc:
            if begun and is_archived(svc, begun):
                archived.append(begun)
            assert all(file.exists() for file in archived)
            assert svc.journal.verify(archives=archived).ok
        killer.check(store, [], has_identity)


def is_archived(svc: Service, file: Path) -> bool:
    """Whether the store no longer has the entries of this file."""
    if not file.exists():
        return False
    import duckdb

    rows = duckdb.execute(f"SELECT max(sequence) FROM '{file}'").fetchone()
    assert rows is not None
    return first_unarchived(svc.journal) > int(rows[0])


def test_deliveries(tmp_path: Path, killer: Killer, figures: dict[str, Any]) -> None:
    """kill -9 of the delivery of webhooks: each event arrives, in order, some again"""
    path = tmp_path / "store.db"
    rows = 4_000
    with comptroller.open(path) as svc, Receiver() as receiver:
        svc.webhooks.create(url=receiver.url)
        claims = [
            short_line("claims", id=f"c{number}", onchain_status="PENDING")
            for number in range(rows)
        ]
        svc.load("claims", claims)
        # Events of the same records, which follow each other while many others wait.
        for claim in claims[:: rows // MOVED_CLAIMS]:
            svc.claims.submit(claim["id"], tx_hash="0x1")
            svc.claims.confirm(claim["id"])
        events = rows + 2 * MOVED_CLAIMS

        def ids(received: list[Received]) -> set[str]:
            return {each.headers["webhook-id"] for each in received if is_whole(each)}

        for _ in range(KILLS["deliveries"]):
            more = len(receiver.received) + 1
            with process(path) as deliverer:
                receiver.take(more)
                threading.Event().wait(killer.chance.uniform(0, 0.05))
                os.kill(deliverer.pid, signal.SIGKILL)
                deliverer.wait()
        with process(path):
            receiver.wait(lambda got: len(ids(got)) == events, 120)
    first = first_arrivals(receiver.received)
    out_of_order = [
        record
        for record, types in first.items()
        if types != ["claim.created", "claim.submitted", "claim.confirmed"][: len(types)]
    ]
    figures["kills"] = KILLS["deliveries"]
    figures["events"] = events
    figures["requests cut by a kill"] = sum(not is_whole(each) for each in receiver.received)
    figures["sent again"] = sum(map(is_whole, receiver.received)) - events
    figures["lost"] = events - sum(map(len, first.values()))
    figures["records with events out of order"] = len(out_of_order)
    assert out_of_order == []
    assert len(first) == rows
    assert sum(map(len, first.values())) == events


def is_whole(received: Received) -> bool:
    """Whether the body arrived: a kill can follow the head."""
    return len(received.body) == int(received.headers["content-length"])


def first_arrivals(received: list[Received]) -> dict[str, list[str]]:
    """Returns the types of the events of each record, in the order of their first arrivals."""
    first: dict[str, list[str]] = {}
    known: set[str] = set()
    for each in filter(is_whole, received):
        if each.headers["webhook-id"] not in known:
            known.add(each.headers["webhook-id"])
            first.setdefault(each.event["data"]["id"], []).append(each.type)
    return first
