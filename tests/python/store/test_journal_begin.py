"""A store of an earlier version gets its journal when it is first opened for writing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import comptroller
import pytest

CLAIMS = 60_000
BEFORE_THE_JOURNAL = 6


@pytest.fixture(scope="module")
def old_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the last version without a journal, with many claims."""
    folder = tmp_path_factory.mktemp("old")
    path = folder / "old.db"
    comptroller.sample("all", rows=CLAIMS, out=folder)
    with comptroller.open(path) as svc:
        for result in svc.load_all(folder).values():
            assert result.committed
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"""
            DROP TABLE journal;
            DROP TABLE journal_archives;
            DROP TABLE journal_batch_keys;
            DROP TABLE webhooks;
            DROP TABLE webhook_deliveries;
            DROP TABLE webhook_lease;
            PRAGMA user_version = {BEFORE_THE_JOURNAL};
            PRAGMA wal_checkpoint(TRUNCATE);
            """
        )
    return path


@pytest.fixture
def path(old_store: Path, tmp_path: Path) -> Path:
    """A copy of the old store."""
    copy = tmp_path / "store.db"
    copy.write_bytes(old_store.read_bytes())
    return copy


def test_the_records_are_in_the_first_entry(path: Path) -> None:
    seen: list[tuple[int, int | None, int]] = []
    with comptroller.open(path, progress=lambda *done: seen.append(done)) as svc:
        total = sum(svc.check()["rows"].values())
        (entry,) = svc.journal.list()
        assert (entry.operation, entry.actor) == ("journal.begin", "comptroller")
        assert entry.batch is not None
        assert sum(part["count"] for part in entry.batch["records"]) == total
        assert svc.journal.verify().ok
    assert len(seen) > CLAIMS / 10_000
    assert [done[2] for done in seen] == sorted(done[2] for done in seen)
    assert seen[-1] == (0, None, total)
    comptroller.open(path, progress=lambda *done: seen.clear()).close()
    assert seen, "a store with a journal is not read again"


def test_an_exception_of_the_callback_leaves_the_store_without_a_journal(path: Path) -> None:
    def interrupt(done: int, total: int | None, rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        comptroller.open(path, progress=interrupt)
    with comptroller.open(path) as svc:
        assert svc.journal.verify().ok


def test_an_alteration_of_an_old_record_is_named(path: Path) -> None:
    comptroller.open(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE claims SET amount = '0.125' WHERE key = 777")
        connection.execute("DELETE FROM claims WHERE key = 888")
    with comptroller.open(path) as svc:
        findings = [(each.check, each.message) for each in svc.journal.verify().findings]
    assert findings == [
        ("claims", "the record with key 888 is missing; it was inserted by entry 0"),
        ("claims", "the record with key 777 is not as it was inserted by entry 0"),
    ]


_OPENED = """
import resource, sys, comptroller
comptroller.open(":memory:").close()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
comptroller.open(sys.argv[1]).close()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux")
def test_the_first_entry_takes_little_memory(path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _OPENED, str(path)], capture_output=True, text=True, check=True
    )
    assert int(ended.stdout) * 1024 < path.stat().st_size
