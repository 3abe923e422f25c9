"""A backup is a consistent copy, taken while others write, and opens as a store."""

from __future__ import annotations

import resource
import sys
import threading
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import InvalidRequest, Service, Unavailable, Unusable
from examples import KINDS, LINES, loaded, short_line


def test_a_backup_is_an_equal_store(operator: Service, tmp_path: Path) -> None:
    for kind in KINDS:
        loaded(operator, kind, LINES[kind])
    operator.backup(tmp_path / "copy.db")
    with comptroller.open(tmp_path / "copy.db") as copy:
        assert copy.check()["ok"]
        for kind in KINDS:
            for service, name in ((operator, "one"), (copy, "other")):
                assert service.export(kind, tmp_path / name) == 1
            assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
        # The backup is a separate store with the same secrets and keys.
        copy.identities.put(id="bob")
        assert len(operator.identities.list()) == 1


def test_a_cursor_continues_in_a_backup(operator: Service, tmp_path: Path) -> None:
    loaded(operator, "claims", *(short_line("claims", id=f"c{n}") for n in range(4)))
    first = operator.claims.list(limit=2)
    operator.backup(tmp_path / "copy.db")
    with comptroller.open(tmp_path / "copy.db", read_only=True) as copy:
        rest = copy.claims.list(limit=2, page_cursor=first.next_page_cursor)
        assert {claim.id for claim in [*first, *rest]} == {"c0", "c1", "c2", "c3"}


def test_a_backup_under_writers_holds_every_write_answered_before_it(
    operator: Service, tmp_path: Path
) -> None:
    answered = [-1, -1]
    stop = threading.Event()

    def write(thread: int) -> None:
        for number in range(100_000):
            # Both or neither, because they are one transaction.
            operator.identities.put(id=f"t{thread}-{number}", user_disabled=True)
            answered[thread] = number
            if stop.is_set():
                return

    writers = [threading.Thread(target=write, args=(n,)) for n in range(2)]
    for writer in writers:
        writer.start()
    try:
        copies = []
        for number in range(4):
            before = list(answered)
            path = tmp_path / f"copy-{number}.db"
            operator.backup(path)
            copies.append((path, before))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    for path, before in copies:
        with comptroller.open(path) as copy:
            assert copy.check()["ok"]
            found = {identity.id: identity for identity in copy.identities.iter()}
            for thread, last in enumerate(before):
                assert all(f"t{thread}-{number}" in found for number in range(last + 1))
            assert all(identity.user_disabled for identity in found.values())


@pytest.mark.parametrize("place", ["absent/copy.db", "file/copy.db", "folder", "file"])
def test_an_unwritable_destination_is_unusable(
    operator: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Unusable):
        operator.backup(place)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "mine"


def test_a_backup_never_replaces_a_file(operator: Service, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(Unusable, match="exists already"):
        operator.backup(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the descriptors in /proc")
def test_a_backup_that_fails_closes_and_removes_its_file(operator: Service, tmp_path: Path) -> None:
    loaded(operator, "claims", *(short_line("claims", id=f"c{n}") for n in range(2000)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    files = sorted(tmp_path.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, before[1]))  # simulates a full disk
    try:
        for _ in range(5):
            with pytest.raises(Unavailable, match="cannot back up to"):
                operator.backup(tmp_path / "copy.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(list(Path("/proc/self/fd").iterdir())) == opened
    assert sorted(tmp_path.iterdir()) == files
    operator.backup(tmp_path / "copy.db")


def test_a_link_at_a_predictable_name_keeps_its_target(operator: Service, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    for beside in (".part", "-journal"):
        (tmp_path / f"copy.db{beside}").symlink_to("precious")
        (tmp_path / f"rows{beside}").symlink_to("precious")
    operator.backup(tmp_path / "copy.db")
    operator.export("claims", tmp_path / "rows")
    assert (tmp_path / "precious").read_text() == "mine"


def test_one_of_two_backups_to_one_name_is_refused(operator: Service, tmp_path: Path) -> None:
    loaded(operator, "claims", *(short_line("claims", id=f"c{n}") for n in range(2000)))
    outcomes: list[object] = []
    barrier = threading.Barrier(4)

    def back_up() -> None:
        barrier.wait()
        try:
            operator.backup(tmp_path / "copy.db")
            outcomes.append(None)
        except Unusable as error:
            outcomes.append("exists already" in str(error))

    threads = [threading.Thread(target=back_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["None", "True", "True", "True"]
    with comptroller.open(tmp_path / "copy.db") as copy:
        assert copy.check()["ok"]
        assert len(list(copy.claims.iter())) == 2000
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_a_read_only_service_makes_a_backup(store_path: Path, tmp_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        loaded(svc, "claims", *(short_line("claims", id=f"c{n}") for n in range(100)))
    with comptroller.open(store_path, read_only=True) as svc:
        svc.backup(tmp_path / "copy.db")
    with comptroller.open(tmp_path / "copy.db") as copy:
        assert len(copy.claims.list()) == 100
    beside = {
        path.name.removeprefix("copy.db").removeprefix("store.db") for path in tmp_path.iterdir()
    }
    assert not {name for name in beside if "." in name}


def test_a_client_cannot_make_a_backup(acme: Service, tmp_path: Path) -> None:
    with pytest.raises(comptroller.Forbidden):
        acme.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_a_backup_needs_a_name(operator: Service) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="destination"):
        operator.backup("")


@pytest.mark.parametrize("own", ["", "-wal", "-shm", "-lock", "-opening-lock", "-filling"])
def test_a_backup_cannot_replace_a_file_of_the_store(
    operator: Service, store_path: Path, own: str
) -> None:
    with pytest.raises(InvalidRequest, match="open store"):
        operator.backup(f"{store_path}{own}")
    assert operator.check()["ok"]


def test_a_backup_returns_the_state_of_its_journal(operator: Service, tmp_path: Path) -> None:
    operator.identities.put(id="alice")
    state = operator.backup(tmp_path / "copy.db")
    assert state == operator.journal.state()
    assert state.checkpoint is None  # there is no key yet
    checkpoint = operator.journal.checkpoint()
    operator.identities.put(id="bob")
    state = operator.backup(tmp_path / "later.db")
    assert state.checkpoint == operator.journal.checkpoint() != checkpoint
    with comptroller.open(tmp_path / "later.db") as copy:
        assert copy.journal.state() == comptroller.bulk.exported.JournalState(
            state.size, state.root
        )
        assert copy.journal.verify(state.checkpoint, operator.journal.key()).ok


@pytest.mark.parametrize("name", ["a.ndjson", "a.csv", "a.parquet", "a.xlsx", "-"])
def test_an_export_has_the_state_of_the_journal(
    operator: Service, tmp_path: Path, name: str
) -> None:
    for module in ("duckdb", "xlsxwriter", "polars"):
        pytest.importorskip(module)
    operator.journal.key()
    loaded(operator, "identities", LINES["identities"])
    exported = operator.export("identities", name if name == "-" else tmp_path / name)
    assert exported == 1
    assert exported.journal is not None
    assert exported.journal.checkpoint == operator.journal.checkpoint()
    assert exported.journal.root == operator.journal.state().root


def test_a_client_does_not_get_the_state_of_the_journal(
    operator: Service, store_path: Path, tmp_path: Path
) -> None:
    operator.identities.put(id="alice", customer_id="acme")
    with comptroller.open(store_path, customer="acme") as client:
        exported = client.export("identities", tmp_path / "identities.ndjson")
    assert (exported, exported.journal) == (1, None)


def test_the_commands_print_the_state_of_the_journal(
    operator: Service, store_path: Path, tmp_path: Path, run: Any
) -> None:
    operator.identities.put(id="alice", customer_id="acme")
    line = f"journal: 2 entries, root {operator.journal.state().root}"
    db = ("--db", str(store_path))
    assert line in run("backup", str(tmp_path / "copy.db"), *db).out
    assert line in run("export", "identities", str(tmp_path / "x.csv"), *db).out
    ended = run("export", "identities", "-", *db)
    assert (line in ended.err, "journal" in ended.out) == (True, False)
    checkpoint = operator.journal.checkpoint()
    assert checkpoint in run("backup", str(tmp_path / "other.db"), *db).out
    for command in (("backup", "json.db"), ("export", "identities", "json.csv")):
        shown = run(*command[:-1], str(tmp_path / command[-1]), "--json", *db)
        assert shown.json["journal"]["checkpoint"] == checkpoint
