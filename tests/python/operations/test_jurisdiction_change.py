"""A change of a group's jurisdiction completes, even if its process ends."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import comptroller
import pytest
from comptroller import Service
from examples import GROUP, loaded, short_line

CLAIMS = 12_000
OTHERS = 9
GROUPS = [f"00000000-0000-4000-8000-{number:012d}" for number in range(1, OTHERS + 2)]

CHANGE = f"""
import builtins, sys, comptroller
builtins.kept = comptroller.open(sys.argv[1])
builtins.kept.payout_groups.update("{GROUP}", jurisdiction="FR")
print("changed", flush=True)
"""


@pytest.fixture(name="path")
def _path(store_path: Path) -> Path:
    with comptroller.open(store_path) as svc:
        groups = [short_line("payout-groups", id=id, jurisdiction="DE") for id in GROUPS]
        loaded(svc, "payout-groups", *groups)
        claims = (
            short_line(
                "claims", id=f"c{number}", payout_group_id=GROUPS[max(0, number - CLAIMS + 1)]
            )
            for number in range(CLAIMS + OTHERS)
        )
        loaded(svc, "claims", *claims)
    return store_path


def assert_lists_are_right(svc: Service) -> None:
    for jurisdiction, count in (("FR", CLAIMS), ("DE", OTHERS)):
        ids = [claim.id for claim in svc.claims.iter(jurisdiction=jurisdiction, limit=1000)]
        assert (len(ids), len(set(ids))) == (count, count)
        streamed = svc.claims.stream(columns=["id"], jurisdiction=jurisdiction).to_polars()
        assert sorted(streamed["id"]) == sorted(ids)
    assert [claim.id for claim in svc.claims.list(jurisdiction="FR", id="c5")] == ["c5"]
    assert svc.check()["findings"] == []


def wait_until_finished(path: Path) -> None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        deadline = time.monotonic() + 120
        while connection.execute("SELECT count(*) FROM jurisdiction_changes").fetchone()[0]:
            assert time.monotonic() < deadline
            os.sched_yield()


def test_a_killed_change_is_finished_after_the_next_opening(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHANGE + "sys.stdin.read()", path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"changed\n"
        process.kill()
    with comptroller.open(path, read_only=True) as svc:
        assert_lists_are_right(svc)
    with comptroller.open(path) as svc:
        assert_lists_are_right(svc)
        wait_until_finished(path)
        assert_lists_are_right(svc)


def test_a_program_may_end_during_a_change(path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CHANGE, path], capture_output=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"changed\n", b"")
    with comptroller.open(path) as svc:
        assert_lists_are_right(svc)


def test_a_fork_during_a_change_leaves_the_work_to_the_parent(path: Path) -> None:
    with comptroller.open(path) as svc:
        svc.payout_groups.update(GROUP, jurisdiction="FR")
        child = os.fork()
        if child == 0:
            refused = False
            try:
                svc.payout_groups.get(GROUP)
            except comptroller.Closed:
                refused = True
            svc.close()
            os._exit(0 if refused else 1)
        assert os.waitpid(child, 0)[1] == 0
        wait_until_finished(path)
        assert_lists_are_right(svc)


def test_a_store_may_be_closed_during_a_change(path: Path) -> None:
    for jurisdiction in ("NL", "FR"):
        with comptroller.open(path) as svc:
            svc.payout_groups.update(GROUP, jurisdiction=jurisdiction)
    with comptroller.open(path, read_only=True) as svc:
        assert_lists_are_right(svc)


def test_loads_run_during_a_change(path: Path) -> None:
    with comptroller.open(path) as svc:
        svc.payout_groups.update(GROUP, jurisdiction="FR")
        more = [
            short_line("claims", id=f"more{number}", payout_group_id=GROUPS[1])
            for number in range(2_000)
        ]
        assert loaded(svc, "claims", *more).inserted == len(more)
        wait_until_finished(path)
        assert len(list(svc.claims.iter(jurisdiction="DE", limit=1000))) == OTHERS + len(more)
        assert svc.check()["findings"] == []
