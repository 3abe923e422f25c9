"""A bulk load that fails at any point leaves the store unchanged, or completely loaded.

A limit on the size of files simulates a full disk: a write beyond it fails, or kills the process by
the default action of SIGXFSZ. The limits affect the temporary files of a load, the private copy
with the new tables, and the write-ahead log.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import comptroller
import pytest
from examples import LINES

ROWS = 4000

# Loads into a store for each limit, in a separate process, and prints the outcomes.
PROGRAM = """
import json, os, resource, signal, sys, comptroller
ways, source = json.loads(sys.argv[1]), sys.argv[2]
ends = []
for store, limit, kills in ways:
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if kills else signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        end = 2
        try:
            svc = comptroller.open(store)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            end = 0 if svc.load("claims", source).committed else 2
        except comptroller.Unavailable:
            end = 1
        os._exit(end)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(ends))
"""
COMMITTED, REFUSED, KILLED = 0, 1, -25  # SIGXFSZ


@pytest.fixture(name="source", scope="module")
def _source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("claims") / "claims.ndjson"
    chance = random.Random(5)
    with path.open("w") as lines:
        for number in range(ROWS):
            line = {**LINES["claims"], "id": f"claim-{number}", "claim_type": f"TYPE_{number % 50}"}
            line["error_message"] = "e" * chance.randrange(400)
            lines.write(json.dumps(line) + "\n")
    return path


def furnish(path: Path) -> None:
    with comptroller.open(path) as svc:
        svc.load("payout-groups", [LINES["payout-groups"]])
        svc.identities.put(id="alice")


@pytest.mark.skipif(sys.platform != "linux", reason="where the signal of the limit has this number")
@pytest.mark.parametrize("kills", [True, False], ids=["killed", "full disk"])
def test_a_failed_load_leaves_nothing_or_everything(
    tmp_path: Path, source: Path, kills: bool
) -> None:
    original = tmp_path / "original.db"
    furnish(original)
    complete = tmp_path / "complete.db"
    shutil.copyfile(original, complete)
    with comptroller.open(complete) as svc:
        svc.load("claims", source)
    before, after = original.stat().st_size, complete.stat().st_size
    limits = [before + step * (after - before) // 15 for step in range(15)]
    # The log is 0.6 % larger than the private copy, so usually only it exceeds some of these.
    limits += [*(after + step * after // 2000 for step in range(1, 15)), 2 * after]
    stores = [tmp_path / f"{number}.db" for number in range(len(limits))]
    for store in stores:
        shutil.copyfile(original, store)
    ways = [(str(store), limit, kills) for store, limit in zip(stores, limits, strict=True)]
    command = [sys.executable, "-c", PROGRAM, json.dumps(ways), str(source)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    ends = json.loads(done.stdout)
    assert ends[0] == (KILLED if kills else REFUSED)
    assert ends[-1] == COMMITTED
    for store, end in zip(stores, ends, strict=True):
        with comptroller.open(store) as svc:
            assert not store.with_name(store.name + "-filling").exists()
            found = svc.check()
            assert found["ok"], (end, found)
            if end == COMMITTED:
                assert found["rows"]["claims"] == ROWS
            else:
                assert found["rows"]["claims"] == 0
                assert svc.load("claims", source).inserted == ROWS
                assert svc.check()["ok"]


def test_files_of_a_killed_process_are_removed(
    store_path: Path, source: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"not a part of the store")
    furnish(store_path)
    left = store_path.with_name(store_path.name + "-filling")
    left.write_bytes(b"half a copy")
    with comptroller.open(store_path):
        assert not left.exists()
    with comptroller.open(store_path) as svc:
        left.symlink_to(other)
        assert svc.load("claims", source).inserted == ROWS
        assert not left.exists()
        assert other.read_bytes()
        assert svc.check()["ok"]


def test_an_interrupted_load_changes_nothing(store_path: Path, source: Path) -> None:
    furnish(store_path)
    before = store_path.read_bytes()

    class Stop(Exception):
        pass

    calls = 0

    def progress(*_: object) -> None:
        nonlocal calls
        calls += 1
        raise Stop

    with comptroller.open(store_path) as svc, pytest.raises(Stop):
        svc.load("claims", source, progress=progress)
    assert calls == 1
    assert store_path.read_bytes() == before
