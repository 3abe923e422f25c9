"""An answered write survives kill -9; an unanswered one is complete or absent."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import Service
from examples import accounted, ndjson, short_line
from places import SUPPORT

WRITING = SUPPORT / "killed_writers.py"
KILLS_OF_LOADS = 20

Killed = Callable[..., list[str]]


@pytest.fixture(name="killed")
def _killed() -> Iterator[Killed]:
    """Runs a program that writes, kills it, and returns its acknowledged writes."""
    command = [sys.executable, str(WRITING)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdin is not None
        assert starter.stdout is not None
        given, answers = starter.stdin, starter.stdout

        def killed(program: str, store: Path, kill: int, **more: Any) -> list[str]:
            order = {"program": program, "store": str(store), "kill": kill, **more}
            given.write(json.dumps(order) + "\n")
            given.flush()
            acknowledged: list[str] = json.loads(answers.readline())
            return acknowledged

        yield killed
        given.close()


def assert_is_there(svc: Service, name: str) -> None:
    """Returns what `write_one` writes under this name."""
    turn = int(name.rpartition("-")[2]) % 4
    if turn == 0:
        assert svc.identities.get(name).user_disabled
    elif turn == 1:
        assert svc.claims.get(name).onchain_status == "PENDING"
    elif turn == 2:
        assert svc.identities.get(name).status == "DISABLED"
    else:
        assert svc.claims.get(name).onchain_status == "SUBMITTED"


def assert_nothing_is_half(svc: Service) -> None:
    for identity in svc.identities.iter():
        if int(identity.id.rpartition("-")[2]) % 4 == 0:
            assert identity.user_disabled, identity.id


def test_answered_writes_survive_fifty_kills(store_path: Path, killed: Killed) -> None:
    chance = random.Random(50)
    written: list[str] = []
    for kill in range(50):
        acknowledged = killed("write", store_path, chance.randint(1, 25), prefix=f"k{kill}")
        assert acknowledged
        written += acknowledged
        with comptroller.open(store_path) as svc:
            found = svc.check()
            assert found["ok"], found
            for name in acknowledged:
                assert_is_there(svc, name)
    with comptroller.open(store_path) as svc:
        for name in written:
            assert_is_there(svc, name)
        assert_nothing_is_half(svc)


@pytest.fixture(name="claims", scope="module")
def _claims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("claims") / "claims.ndjson"
    return Path(comptroller.sample("claims", rows=6000, out=path))


def exported(store: Path, path: Path) -> bytes:
    with comptroller.open(store) as svc:
        svc.export("claims", path)
        assert svc.check()["ok"]
    return path.read_bytes()


def test_a_killed_and_repeated_load_equals_an_uninterrupted_one(
    tmp_path: Path, claims: Path, killed: Killed
) -> None:
    with comptroller.open(tmp_path / "undisturbed.db") as svc:
        assert accounted(svc.load("claims", claims)).inserted == 6000
    expected = exported(tmp_path / "undisturbed.db", tmp_path / "expected")
    pieces = claims.stat().st_size // (1 << 15)
    store = tmp_path / "killed.db"
    chance = random.Random(20)
    interrupted = 0
    for kill in range(KILLS_OF_LOADS):
        acknowledged = killed("load", store, chance.randint(1, pieces), path=str(claims))
        with comptroller.open(store) as svc:
            kept = svc.check()["rows"]["claims"]
        assert kept == (6000 if "done" in acknowledged else 0)
        if not kept:
            interrupted += 1
            continue
        # The kill came after the end of the load: the next one is of an empty store again.
        assert exported(store, tmp_path / "found") == expected
        store = tmp_path / f"killed-{kill}.db"
    assert interrupted >= KILLS_OF_LOADS // 2
    with comptroller.open(store) as svc:
        assert accounted(svc.load("claims", claims)).rejected == 0
    assert exported(store, tmp_path / "found") == expected


def test_a_killed_load_that_keeps_going_loses_only_its_last_batch(
    tmp_path: Path, killed: Killed
) -> None:
    # Reading is a few megabytes ahead of storing, so many batches are committed when the last piece
    # is read.
    path = tmp_path / "claims.ndjson"
    rows = 60_000
    line = json.dumps(short_line("claims", id="?")).encode() + b"\n"
    path.write_bytes(b"".join(line.replace(b"?", b"%d" % n) for n in range(rows)))
    pieces = path.stat().st_size // (1 << 15)
    store = tmp_path / "killed.db"
    killed("load", store, pieces, path=str(path), keep_going=True)
    with comptroller.open(store) as svc:
        kept = svc.check()["rows"]["claims"]
        assert 1000 < kept <= rows
        rest = path.read_bytes().splitlines(keepends=True)[kept - 1000 :]
        result = accounted(svc.load("claims", io.BytesIO(b"".join(rest)), keep_going=True))
        assert (result.unchanged, result.inserted) == (1000, rows - kept)


def test_a_killed_store_opens_read_only(store_path: Path, killed: Killed) -> None:
    acknowledged = killed("write", store_path, 10, prefix="k")
    with comptroller.open(store_path, read_only=True) as svc:
        for name in acknowledged:
            assert_is_there(svc, name)
        assert svc.check()["ok"]


def test_a_writer_continues_after_another_was_killed(store_path: Path, killed: Killed) -> None:
    with comptroller.open(store_path) as svc:
        for kill in range(5):
            acknowledged = killed("write", store_path, 8, prefix=f"k{kill}")
            for name in acknowledged:
                assert_is_there(svc, name)
            svc.identities.put(id=f"survivor-{kill}-1")
            svc.load("claims", [json.loads(ndjson([short_line("claims", id=f"s-{kill}")]))])
        assert svc.check()["ok"]
