"""Other writes continue while a load reads its file; the result is as if they came before it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import comptroller
import pytest
from comptroller import Service
from examples import LINES
from held_writer import while_writing
from test_load_ways import (
    BY_STATEMENTS,
    ROWS,
    claim,
    duplicates,
    everything,
    file_of,
    furnished,
    of,
    orchestration,
)

NEW_GROUP = "10000000-0000-4000-8000-000000000000"
Write = Callable[[Service], object]


def in_thread(work: Callable[[], object]) -> None:
    """Runs `work` in another thread, because the thread of a load cannot write. Waits for it."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert not failures


class Beside:
    """The progress callback of a load, which writes while the load reads its file."""

    def __init__(self, svc: Service, write: Write) -> None:
        self._svc = svc
        self._write: Write | None = write
        self.last = (0, 0)

    def __call__(self, read: int, _total: int | None, rows: int) -> None:
        assert read >= self.last[0]
        assert rows >= self.last[1]
        self.last = (read, rows)
        if self._write:
            write, self._write = self._write, None
            in_thread(lambda: write(self._svc))


def groups(svc: Service, *numbers: int, **members: str) -> None:
    ids = [f"00000000-0000-4000-8000-{number:012}" for number in numbers]
    lines = [{**LINES["payout-groups"], "id": identifier, **members} for identifier in ids]
    assert svc.load("payout-groups", lines).committed


def has_begun_again(path: Path) -> bool:
    """Whether the store lacks the gap before the new symbols of a prepared load."""
    with closing(sqlite3.connect(path)) as connection:
        keys = connection.execute("SELECT max(key), count(*) FROM symbols").fetchone()
    return bool(keys[0] == keys[1])


def customers(svc: Service) -> None:
    for number in range(20):
        svc.identities.put(id=f"i-{number}", customer_id=f"other-{number}")


CONTINUED: dict[str, Write] = {
    "a record of another kind": lambda svc: svc.identities.put(id="new"),
    "new texts": lambda svc: groups(svc, 1000, jurisdiction="MT", customer_id="new"),
    "several writes": lambda svc: [svc.identities.put(id=f"i-{n}") for n in range(50)],
    "a dry run": lambda svc: svc.load("claims", of(claim), dry_run=True),
}
BEGUN_AGAIN: dict[str, Write] = {
    "a record of the table": lambda svc: svc.claims.put(claim(7, error_message="written first")),
    "a text of the load": lambda svc: svc.identities.put(id="new", customer_id="of-the-file"),
    "the jurisdiction of a group": lambda svc: groups(
        svc, 3, jurisdiction="JP", updated_at="2027-01-01T00:00:00Z"
    ),
    "a group that claims name": lambda svc: groups(svc, 30, jurisdiction="MT"),
    "the customer of a group": lambda svc: groups(svc, 31, customer_id="another"),
    "more new texts than the gap has keys": lambda svc: groups(svc, *range(1000, 5100)),
    "indexes of all customers": customers,
}


@pytest.mark.parametrize("name", [*CONTINUED, *BEGUN_AGAIN])
def test_the_result_is_that_of_a_load_after_the_other_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write = {**CONTINUED, **BEGUN_AGAIN}[name]
    lines = [*duplicates(), claim(ROWS + 1, customer_id="of-the-file", payout_group_id=NEW_GROUP)]
    source = file_of(lines, tmp_path / "lines.ndjson")
    with furnished(tmp_path / "beside.db") as svc:
        result = svc.load("claims", source, progress=Beside(svc, write))
        assert svc.check()["ok"]
    assert has_begun_again(tmp_path / "beside.db") == (name in BEGUN_AGAIN)
    monkeypatch.setenv(BY_STATEMENTS, "1")
    with furnished(tmp_path / "after.db") as svc:
        write(svc)
        assert svc.load("claims", source) == result
    beside, after = (everything(tmp_path / name) for name in ("beside.db", "after.db"))
    for kind in ("claims", "customers", "schema", "jurisdiction_changes", "operator_indexes"):
        assert beside[kind] == after[kind]


def test_orchestrations_are_loaded_beside_other_writes(tmp_path: Path) -> None:
    source = file_of(of(orchestration), tmp_path / "lines.ndjson")
    with comptroller.open(tmp_path / "store.db") as svc:
        beside = Beside(svc, lambda svc: groups(svc, 1, asset_type="NEW"))
        assert svc.load("orchestrations", source, progress=beside).inserted == ROWS
        assert svc.check()["ok"]
        assert len(svc.payout_groups.list()) == 1
    assert not has_begun_again(tmp_path / "store.db")


def test_two_loads_of_one_table_run_beside_each_other(tmp_path: Path) -> None:
    first = file_of(of(claim), tmp_path / "first.ndjson")
    second = file_of(of(claim, ROWS + 10), tmp_path / "second.ndjson")
    with furnished(tmp_path / "store.db") as svc:
        beside = Beside(svc, lambda svc: svc.load("claims", first))
        result = svc.load("claims", second, progress=beside)
        assert (result.inserted, result.unchanged) == (10, ROWS)
        assert svc.check()["ok"]


def test_loads_of_two_tables_continue_beside_each_other(tmp_path: Path) -> None:
    claims = file_of(of(claim), tmp_path / "claims.ndjson")
    orchestrations = file_of(of(orchestration, 2 * ROWS), tmp_path / "orchestrations.ndjson")
    path = tmp_path / "store.db"
    with furnished(path) as svc:
        beside = Beside(svc, lambda svc: svc.load("claims", claims))
        assert svc.load("orchestrations", orchestrations, progress=beside).inserted == 2 * ROWS
        assert svc.check()["ok"]
        assert svc.check()["rows"]["claims"] == ROWS
    with closing(sqlite3.connect(path)) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM symbols ORDER BY key")]
    assert sum(later - key > 1000 for key, later in pairwise(keys)) == 2


def test_an_older_backup_restored_meanwhile_is_not_mixed_with_the_load(tmp_path: Path) -> None:
    """Its symbols are not those that the load read."""
    source = file_of(of(claim, customer_id="new"), tmp_path / "lines.ndjson")
    path, backup = tmp_path / "store.db", tmp_path / "backup.db"

    def restore(svc: Service) -> None:
        with closing(sqlite3.connect(backup)) as older, closing(sqlite3.connect(path)) as present:
            older.backup(present)
        svc.identities.put(id="i", customer_id="another-new")

    with comptroller.open(path) as svc:
        svc.backup(backup)
        svc.identities.put(id="i", customer_id="new")
        assert svc.load("claims", source, progress=Beside(svc, restore)).inserted == ROWS
        assert svc.check()["ok"]
    with comptroller.open(path, customer="new") as svc:
        assert svc.claims.list(limit=1).items


@pytest.mark.parametrize("dry_run", [False, True])
def test_closing_the_service_ends_a_load_that_has_no_writer_yet(
    tmp_path: Path, dry_run: bool
) -> None:
    source = file_of(of(claim), tmp_path / "lines.ndjson")
    with furnished(tmp_path / "store.db") as svc, pytest.raises(comptroller.errors.Closed):
        svc.load("claims", source, progress=Beside(svc, Service.close), dry_run=dry_run)
    with comptroller.open(tmp_path / "store.db") as svc:
        assert not svc.claims.list().items


@pytest.mark.parametrize("options", [{"dry_run": True}, {}], ids=["dry run", "rejected"])
def test_a_load_that_stores_nothing_does_not_wait_for_the_writer(
    tmp_path: Path, options: dict[str, bool]
) -> None:
    lines = list(of(claim))
    if not options:
        lines.append(claim(ROWS + 1, amount="-1"))
    source = file_of(lines, tmp_path / "lines.ndjson")
    holds, end = threading.Event(), threading.Event()

    def hold(svc: Service) -> None:
        """Starts a load that has the writer until `end` is set."""

        def load() -> None:
            while_writing(svc, lambda: (holds.set(), end.wait()))

        threads.append(threading.Thread(target=load))
        threads[0].start()
        assert holds.wait(60)

    threads: list[threading.Thread] = []

    with furnished(tmp_path / "store.db") as svc:
        result = svc.load("claims", source, progress=Beside(svc, hold), **options)
        assert (result.committed, result.inserted) == (False, ROWS)
        assert threads[0].is_alive()
        end.set()
        threads[0].join()
