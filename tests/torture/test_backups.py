"""A backup that is made while the store is written is consistent and complete, and serves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
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
THREADS = 4

# Writes from several threads. Prints the number of each answered write, so that the reader of the
# output knows which were answered before it began a backup.
WRITER = """
import itertools, os, sys, threading, time
import comptroller

service = comptroller.open(sys.argv[1])
numbers = itertools.count()

def work():
    while True:
        number = next(numbers)
        service.identities.put(id=f"i-{number}", user_disabled=True)
        os.write(1, b"%d\\n" % number)
        time.sleep(0.1)  # so that the store grows slowly

threads = [threading.Thread(target=work, daemon=True) for _ in range(int(sys.argv[2]))]
for thread in threads:
    thread.start()
sys.stdin.read()
os._exit(0)
"""


class Writer:
    """A process that writes until it is killed, and what it acknowledged."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log

    def answered(self) -> set[str]:
        """Returns the ids of the answered writes."""
        lines = self._log.read_bytes()
        return {f"i-{int(line)}" for line in lines[: lines.rfind(b"\n") + 1].split()}

    def wait_for_more(self) -> None:
        """Waits until it has answered a write since now."""
        before = self._log.stat().st_size
        while self._log.stat().st_size == before:
            assert self.process.poll() is None


@contextmanager
def writing(store: Path) -> Iterator[Writer]:
    log = store.with_name("answered")
    with log.open("wb") as output:
        command = [sys.executable, "-c", WRITER, str(store), str(THREADS)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output)
        try:
            yield Writer(process, log)
        finally:
            process.kill()
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
    required = found = 0
    with writing(store) as writer:
        for _ in range(BACKUPS):
            writer.wait_for_more()
            before = writer.answered()
            copy = tmp_path / "copy.db"
            back_up(store, copy)
            stored = identities(copy)
            assert before <= stored
            required += len(before)
            found += len(stored)
            copy.unlink()
    figures["backups"] = BACKUPS
    figures["writes answered before a backup, found in it"] = required
    figures["writes answered meanwhile, found in it"] = found - required


@pytest.mark.parametrize("keeps_log", [False, True], ids=["steps of the guide", "old log kept"])
def test_restore(tmp_path: Path, figures: dict[str, Any], keeps_log: bool) -> None:
    """A backup replaces the store of a killed program: the restored store is right, or refused"""
    store = make_store(tmp_path / "store.db")
    copy = tmp_path / "copy.db"
    with writing(store) as writer:
        writer.wait_for_more()
        back_up(store, copy)
        writer.wait_for_more()
    stored, answered = identities(copy), writer.answered()
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
