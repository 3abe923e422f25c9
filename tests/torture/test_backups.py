"""A backup that is made while the store is written is consistent and complete, and serves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import comptroller
import pytest
from serving import serving

pytestmark = pytest.mark.promise(16, minutes=10)

BACKUPS = 50
CLAIMS = 20_000
#: Processes that write at once, and the threads of each.
WRITERS = 3
THREADS = 4
#: Writes that are answered while backups run, in all.
LEAST_WRITES = 500

# Writes from several threads. Prints the name of each answered write, so that the reader of the
# output knows which were answered before it began a backup.
WRITER = """
import itertools, os, sys, threading, time
import comptroller

service = comptroller.open(sys.argv[1])
numbers = itertools.count()

def work():
    while True:
        name = f"i-{os.getpid()}-{next(numbers)}"
        service.identities.put(id=name, user_disabled=True)
        os.write(1, name.encode() + b"\\n")
        time.sleep(0.02)  # so that the store does not grow faster than it is checked

threads = [threading.Thread(target=work, daemon=True) for _ in range(int(sys.argv[2]))]
for thread in threads:
    thread.start()
sys.stdin.read()
os._exit(0)
"""


class Writers:
    """Processes that write until they are killed, and what they acknowledged."""

    def __init__(self, processes: list[subprocess.Popen[bytes]], log: Path) -> None:
        self._processes = processes
        self._log = log

    def answered(self) -> set[str]:
        """Returns the ids of the answered writes."""
        lines = self._log.read_bytes()
        return set(lines[: lines.rfind(b"\n") + 1].decode().split())

    def wait_for_more(self) -> None:
        """Waits until they have answered a write since now."""
        before = self._log.stat().st_size
        while self._log.stat().st_size == before:
            assert all(process.poll() is None for process in self._processes)


@contextmanager
def writing(store: Path, writers: int = 1) -> Iterator[Writers]:
    log = store.with_name("answered")
    with log.open("wb") as output:
        command = [sys.executable, "-c", WRITER, str(store), str(THREADS)]
        processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output) for _ in range(writers)
        ]
        try:
            yield Writers(processes, log)
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.communicate()


def back_up(store: Path, copy: Path) -> None:
    command = [sys.executable, "-m", "comptroller", "backup", str(copy), "--db", str(store)]
    subprocess.run(command, check=True, capture_output=True)


def identities(store: Path) -> set[str]:
    """Returns the ids of a sound store, each of which must be complete."""
    with comptroller.open(store) as service:
        found = service.check()
        assert found["ok"], found
        rows = list(service.identities.iter(limit=1000))
    assert all(row.user_disabled for row in rows)
    return {row.id for row in rows}


def served_identities(store: Path) -> int:
    """Serves a store; returns the number of identities that a list of its first page has."""
    with serving("--db", str(store), "--auth", "off", cwd=store.parent) as server:
        answer = server.get("/v2/identity/identities?limit=1000")
        assert answer.status_code == 200, answer.text
        return len(json.loads(answer.text)["items"])


def make_store(path: Path) -> Path:
    with comptroller.open(path) as service:
        service.load("claims", comptroller.sample("claims", CLAIMS))
    return path


def test_backups_under_write_load(tmp_path: Path, figures: dict[str, Any]) -> None:
    """50 backups under write load are sound and hold every write answered before they began."""
    store = make_store(tmp_path / "store.db")
    required = found = written = 0
    seconds = 0.0
    with writing(store, WRITERS) as writers:
        for _ in range(BACKUPS):
            writers.wait_for_more()
            before = writers.answered()
            copy = tmp_path / "copy.db"
            began = time.monotonic()
            back_up(store, copy)
            seconds += time.monotonic() - began
            written += len(writers.answered()) - len(before)
            stored = identities(copy)
            assert before <= stored
            required += len(before)
            found += len(stored)
            copy.unlink()
    figures["backups"] = BACKUPS
    figures["writers"] = f"{WRITERS} processes with {THREADS} threads"
    figures["writes answered while backups ran"] = written
    figures["per second"] = written / seconds
    figures["writes answered before a backup, found in it"] = required
    figures["writes answered meanwhile, found in it"] = found - required
    assert written >= LEAST_WRITES


@pytest.mark.parametrize("keeps_log", [False, True], ids=["steps of the guide", "old log kept"])
def test_restore(tmp_path: Path, figures: dict[str, Any], keeps_log: bool) -> None:
    """A backup replaces the store of a killed program: the restored store is right, or refused"""
    store = make_store(tmp_path / "store.db")
    copy = tmp_path / "copy.db"
    with writing(store) as writers:
        writers.wait_for_more()
        back_up(store, copy)
        writers.wait_for_more()
    stored, answered = identities(copy), writers.answered()
    beside = [path for path in tmp_path.glob("store.db-*") if not keeps_log]
    assert keeps_log or Path(f"{store}-wal") in beside
    for path in beside:
        path.unlink()
    shutil.copyfile(copy, store)
    try:
        found = identities(store)
    except comptroller.Unusable as error:
        assert keeps_log
        figures["outcome"] = str(error)
        return
    # With its log the store has the writes that followed the backup.
    assert found == stored or (keeps_log and answered <= found)
    assert served_identities(store) == min(len(found), 1000)
    figures["outcome"] = "the backup" if found == stored else "the backup and later writes"
