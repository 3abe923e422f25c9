"""Archives of the journal: old entries in Parquet files, while the tree goes on."""

from __future__ import annotations

import hashlib
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import comptroller
import pytest
from comptroller.bulk.archiving import first_unarchived
from held_writer import while_writing

pytest.importorskip("duckdb")
polars = pytest.importorskip("polars")

LATER = "2100-01-01"


def identities(svc: comptroller.Service, *names: str) -> None:
    for name in names:
        svc.identities.put(id=name, customer_id="acme")


def loaded(svc: comptroller.Service, *names: str) -> None:
    time = "2026-03-01T00:00:00Z"
    rows = [{"id": name, "created_at": time, "updated_at": time} for name in names]
    assert svc.load("identities", rows, customer_id="acme").committed


@pytest.fixture
def store(store_path: Path) -> Path:
    """A store with ten entries."""
    with comptroller.open(store_path) as svc:
        identities(svc, "alice", "bob")
        loaded(svc, *(f"loaded-{number}" for number in range(20)))
        svc.identities.update(id="alice", metadata={"ref": "1"})
        identities(svc, *(f"more-{number}" for number in range(5)))
    return store_path


def test_an_archive_has_the_entries_that_the_store_had(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "old.parquet"
    with comptroller.open(store) as svc:
        before, root = list(svc.journal.texts()), svc.journal.state().root
        archived = svc.journal.archive(LATER, file)
        assert (archived.first, archived.size, archived.root) == (0, len(before), root)
        assert archived.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
        rows = polars.read_parquet(file)
        assert rows["entry"].to_list() == before
        assert rows["sequence"].to_list() == list(range(len(before)))
        assert rows["leaf"][3] == hashlib.sha256(b"\0" + before[3].encode()).hexdigest()
        (entry,) = svc.journal.list()
        assert (entry.sequence, entry.operation) == (len(before), "journal.archive")
        assert entry.archive is not None
        assert entry.archive["file_sha256"] == archived.sha256
        assert entry.archive["records"][0]["count"] == 27
        with pytest.raises(
            comptroller.NotFound, match=r"entry 1 was moved to an archive; entry 10 has the"
        ):
            svc.journal.prove(1)


def test_the_journal_goes_on_after_an_archive(store: Path, tmp_path: Path) -> None:
    with comptroller.open(store) as svc:
        key, first = svc.journal.key(), svc.journal.checkpoint()
        size = svc.journal.archive(LATER, tmp_path / "1.parquet").size
        identities(svc, "carol", "dave")
        loaded(svc, "erin")
        middle = svc.journal.checkpoint()
        result = svc.journal.verify(first, key)
        assert (result.ok, result.archived, result.size) == (True, size, size + 4)
        again = svc.journal.archive(LATER, tmp_path / "2.parquet")
        assert (again.first, again.size) == (size, size + 4)
        identities(svc, "frank")
    archives = [tmp_path / "2.parquet", tmp_path / "1.parquet"]
    with comptroller.open(store) as svc:
        assert svc.check()["ok"]
        assert svc.journal.verify(middle, key).ok
        for checkpoint in (None, first, middle, svc.journal.checkpoint()):
            assert svc.journal.verify(checkpoint, key if checkpoint else None, archives).ok
        with pytest.raises(comptroller.InvalidRequest, match="all archived; give their files"):
            svc.journal.verify(first, key)
        with pytest.raises(comptroller.InvalidRequest, match="the file with entry 0 is missing"):
            svc.journal.verify(archives=archives[:1])
        with pytest.raises(comptroller.InvalidRequest, match=f"entry {size} is missing"):
            svc.journal.verify(archives=archives[1:])
        for sequence in range(size + 4, svc.journal.state().size):
            assert json.loads(svc.journal.prove(sequence).entry)["sequence"] == sequence


def test_only_entries_before_the_time_are_archived(store: Path, tmp_path: Path) -> None:
    with comptroller.open(store) as svc:
        entries = svc.journal.list()
        archived = svc.journal.archive(entries[4].recorded_at, tmp_path / "old.parquet")
        assert archived.size == 4
        assert [entry.sequence for entry in svc.journal.list(limit=2)] == [4, 5]
        assert svc.journal.verify(archives=[tmp_path / "old.parquet"]).ok
        svc.identities.update(id="alice", metadata={"ref": "2"})
        assert svc.journal.verify().ok


#: What another program does after an archive, and what finds it.
ATTACKS = [
    (
        "UPDATE identities SET ref_id = 'x' WHERE id = 'alice'",
        "identities: the record with key 1 is not as it was inserted by entry 10",
    ),
    (
        "DELETE FROM identities WHERE id = 'loaded-4'",
        "identities: the record with key 7 is missing; it was inserted by entry 10",
    ),
    (
        "UPDATE identities SET ref_id = 'x' WHERE id = 'carol'",
        "identities: the record with key 28 ref_id is not as it was written by entry 11",
    ),
    ("UPDATE journal_archives SET hashes = zeroblob(64)", "entries were removed, but not by"),
    ("DELETE FROM journal_archives", "journal"),
    ("UPDATE journal_archives SET size = 8", "journal"),
]


@pytest.mark.parametrize(("attack", "finding"), ATTACKS)
def test_an_alteration_is_found_without_the_file(
    store: Path, tmp_path: Path, attack: str, finding: str
) -> None:
    with comptroller.open(store) as svc:
        svc.journal.archive(LATER, tmp_path / "old.parquet")
        identities(svc, "carol")
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute(attack).rowcount
    with comptroller.open(store, read_only=True) as svc:
        findings = svc.journal.verify().findings
        assert any(finding in f"{each.check}: {each.message}" for each in findings), findings


def test_an_altered_file_is_found(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "old.parquet"
    with comptroller.open(store) as svc:
        svc.journal.archive(LATER, file)
        rows = polars.read_parquet(file)
        for altered in (
            rows.with_columns(polars.col("entry").str.replace('"alice"', '"mallory"')),
            rows.with_columns(actor=polars.lit("mallory")),  # beside the entry
        ):
            altered.write_parquet(file)
            result = svc.journal.verify(archives=[file])
            assert not result.ok
            assert "is not as it was written" in result.findings[0].message
        file.write_text("no file of Parquet")
        with pytest.raises(
            comptroller.InvalidRequest, match="is no archive of a journal; give files that"
        ):
            svc.journal.verify(archives=[file])


#: Files that are no archives, by what writes them.
FOREIGN: list[Callable[[Path], object]] = [
    lambda file: file.write_text("no file of Parquet"),
    lambda file: file.write_bytes(b""),
    lambda file: polars.DataFrame({"id": ["a"]}).write_parquet(file),
    lambda file: polars.DataFrame({"sequence": ["a"], "entry": ["b"]}).write_parquet(file),
    lambda file: polars.DataFrame({"sequence": [None], "entry": ["b"]}).write_parquet(file),
    lambda file: polars.DataFrame({"sequence": [0], "entry": [None]}).write_parquet(file),
]


@pytest.mark.parametrize("write", FOREIGN)
def test_another_file_is_refused_in_words(
    store: Path, tmp_path: Path, write: Callable[[Path], object]
) -> None:
    file = tmp_path / "other.parquet"
    write(file)
    with comptroller.open(store) as svc, pytest.raises(comptroller.InvalidRequest) as refused:
        svc.journal.verify(archives=[file])
    expected = (
        f"archives: {file} is no archive of a journal; give files that `journal archive` wrote"
    )
    assert refused.value.detail == expected


def test_files_of_an_archive_are_given_once_and_exist(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "[1]*.parquet"  # no pattern of other files
    with comptroller.open(store) as svc:
        svc.journal.archive(LATER, file)
        assert svc.journal.verify(archives=file).ok
        assert svc.journal.verify(archives=str(file)).ok
        with pytest.raises(comptroller.InvalidRequest, match="of another file; give each file"):
            svc.journal.verify(archives=[file, file])
        with pytest.raises(comptroller.Unusable, match="cannot be read: No such file"):
            svc.journal.verify(archives=[tmp_path / "missing.parquet"])
        for name in ("2.csv", "2", "2.parquet.gz"):
            with pytest.raises(comptroller.InvalidRequest, match=r"end it in \.parquet"):
                svc.journal.archive(LATER, tmp_path / name)


def test_an_entry_in_a_file_that_is_no_json_is_a_finding(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "old.parquet"
    with comptroller.open(store) as svc:
        svc.journal.archive(LATER, file)
        rows = polars.read_parquet(file)
        forged = '{"actor":"x","operation":"journal.archive"'
        rows.with_columns(
            entry=polars.when(polars.col("sequence") == 3)
            .then(polars.lit(forged))
            .otherwise(polars.col("entry"))
        ).write_parquet(file)
        assert "is not as it was written" in svc.journal.verify(archives=[file]).findings[0].message


def test_what_cannot_be_archived_stays(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "old.parquet"
    with comptroller.open(store) as svc:
        size = len(svc.journal.list())
        with pytest.raises(comptroller.InvalidRequest, match="no entry"):
            svc.journal.archive("2000-01-01", file)
        with pytest.raises(comptroller.InvalidRequest, match="must be a date"):
            svc.journal.archive("yesterday", file)
        assert not file.exists()
        file.write_text("mine")
        with pytest.raises(comptroller.Unusable, match="exists already"):
            svc.journal.archive(LATER, file)
        assert file.read_text() == "mine"
        with pytest.raises(comptroller.InvalidRequest, match="open store"):
            svc.journal.archive(LATER, store)
        assert len(svc.journal.list()) == size
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE identities SET ref_id = 'x' WHERE id = 'bob'")
    with comptroller.open(store) as svc:
        with pytest.raises(comptroller.Unusable, match="no entry was archived"):
            svc.journal.archive(LATER, tmp_path / "other.parquet")
        assert not (tmp_path / "other.parquet").exists()
        assert len(svc.journal.list()) == size


def test_the_table_refuses_to_delete_entries_that_are_not_archived(
    store: Path, tmp_path: Path
) -> None:
    with comptroller.open(store) as svc:
        svc.journal.archive(LATER, tmp_path / "old.parquet")
        identities(svc, "carol")
    with (
        closing(sqlite3.connect(store)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="is never deleted"),
    ):
        connection.execute("DELETE FROM journal")


_KILLED = """
import os, sys, signal, comptroller
renamed = []
def killing(event, args):
    if renamed and event == "open":  # the folder is made durable
        os.kill(os.getpid(), signal.SIGKILL)
    if event == "os.rename" and sys.argv[3] == "before":
        renamed.append(args)
svc = comptroller.open(sys.argv[1])
sys.addaudithook(killing)
svc.journal.archive("2100-01-01", sys.argv[2])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_archive_loses_nothing(store: Path, tmp_path: Path, when: str) -> None:
    file = tmp_path / "old.parquet"
    with comptroller.open(store) as svc:
        texts = list(svc.journal.texts())
    ended = subprocess.run(
        [sys.executable, "-c", _KILLED, str(store), str(file), when], check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert polars.read_parquet(file)["entry"].to_list() == texts
    with comptroller.open(store) as svc:
        assert svc.journal.verify().ok
        if when == "before":
            assert list(svc.journal.texts()) == texts
        else:
            assert svc.journal.verify(archives=[file]).archived == len(texts)


def test_the_commands(run: Any, store: Path, tmp_path: Path) -> None:
    db, file = ("--db", str(store)), str(tmp_path / "old.parquet")
    ended = run("journal", "archive", "--before", LATER, "--out", file, *db)
    assert "entries 0 to 9 moved to" in ended.out
    shown = run("journal", "verify", *db)
    assert "The first 10 are archived; --archive FILE verifies them too." in shown.out
    assert "No record and no entry was altered." in shown.out
    shown = run("journal", "verify", "--archive", file, *db)
    assert (shown.code, "are archived" in shown.out) == (0, False)
    assert "journal.archive" in run("journal", "list", *db).out
    assert "The first 10 entries are in archives" in run("journal", "list", *db).out
    assert "in archives" not in run("journal", "list", "--after", "9", *db).out
    ended = run("journal", "archive", "--before", "2000-01-01", "--out", "2.parquet", *db)
    assert (ended.code, "no entry" in ended.err) == (1, True)
    ended = run("journal", "show", "3", *db)
    assert (ended.code, "entry 3 was moved to an archive; entry 10 has" in ended.err) == (1, True)


def test_the_change_feed_goes_on_after_an_archive(store: Path, tmp_path: Path) -> None:
    with comptroller.open(store) as svc:
        earlier = list(svc.changes.iter())
        end = svc.changes.list(after="end").next_cursor
        svc.journal.archive(LATER, tmp_path / "old.parquet")
        identities(svc, "carol")
        assert [change.id for change in svc.changes.iter(after=end)] == ["carol"]
        with pytest.raises(comptroller.InvalidRequest, match="moved to an archive"):
            svc.changes.list(after=earlier[3].cursor)


def test_a_feed_from_the_beginning_begins_with_the_records_of_the_archive(
    store: Path, tmp_path: Path
) -> None:
    with comptroller.open(store) as svc:
        svc.journal.archive(LATER, tmp_path / "1.parquet")
        identities(svc, "carol")
        svc.journal.archive(LATER, tmp_path / "2.parquet")
        identities(svc, "dave")
        changes = list(svc.changes.iter())
        ids = [change.id for change in changes]
        assert sorted(ids) == sorted(each.id for each in svc.identities.iter())
        assert (ids[-1], changes[-2].operation) == ("dave", "journal.archive")
        for number, change in enumerate(changes):
            assert list(svc.changes.iter(after=change.cursor)) == changes[number + 1 :]


def test_events_that_a_webhook_has_not_had_are_not_archived(store: Path, tmp_path: Path) -> None:
    with comptroller.open(store) as svc:
        webhook = svc.webhooks.create(url="https://hooks.example.com/")
        identities(svc, "carol")
        file = tmp_path / "old.parquet"
        for _ in range(2):
            with pytest.raises(comptroller.Unusable, match=f"webhook {webhook.id} has not had"):
                svc.journal.archive(LATER, file)
            assert list(tmp_path.glob("old.parquet*")) == []
        svc.webhooks.delete(webhook.id)
        assert svc.journal.archive(LATER, file).size > 10
        assert svc.journal.verify(archives=file).ok


_WAITING = """
import sys, comptroller
with comptroller.open(sys.argv[1]) as svc:
    try:
        svc.journal.archive("2100-01-01", sys.argv[2])
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_an_archive_that_waits_for_another_write_can_be_interrupted(
    store: Path, tmp_path: Path
) -> None:
    file = tmp_path / "old.parquet"

    def interrupt() -> None:
        command = [sys.executable, "-c", _WAITING, str(store), str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiting:
            while not file.exists():
                assert waiting.poll() is None
            waiting.send_signal(signal.SIGINT)
            assert waiting.communicate(timeout=30)[0] == "interrupted\n"

    with comptroller.open(store) as svc:
        texts = list(svc.journal.texts())
        while_writing(svc, interrupt)
        assert list(svc.journal.texts()) == texts
        assert not file.exists()
        assert svc.journal.archive(LATER, file).size == len(texts)


def test_an_interrupt_after_the_entries_were_removed_keeps_the_file(
    store: Path, tmp_path: Path
) -> None:
    def interrupt(frame: FrameType, event: str, _value: object) -> None:
        if (event, frame.f_code.co_name) == ("return", "remove_archived"):
            raise KeyboardInterrupt

    file = tmp_path / "old.parquet"
    with comptroller.open(store) as svc:
        texts = list(svc.journal.texts())
        before = sys.getprofile()
        sys.setprofile(interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                svc.journal.archive(LATER, file)
        finally:
            sys.setprofile(before)
        assert first_unarchived(svc.journal) == len(texts)
        assert polars.read_parquet(file)["entry"].to_list() == texts
        assert svc.journal.verify(archives=file).archived == len(texts)


def test_a_client_that_missed_nothing_goes_on_after_an_archive(store: Path, tmp_path: Path) -> None:
    with comptroller.open(store) as svc, comptroller.open(store, customer="globex") as client:
        place = client.changes.list().next_cursor
        identities(svc, "carol")  # of another customer
        page = client.changes.list(after=place)
        assert (page.items, page.has_more) == ((), False)
        svc.journal.archive(LATER, tmp_path / "old.parquet")
        svc.identities.put(id="dave", customer_id="globex")
        (change,) = client.changes.iter(after=page.next_cursor)
        assert change.id == "dave"


def test_what_was_known_before_an_archive_is_not_guessed(store: Path, tmp_path: Path) -> None:
    with comptroller.open(store) as svc:
        before = svc.journal.list()[0].recorded_at
        svc.journal.archive(LATER, tmp_path / "old.parquet")
        with pytest.raises(comptroller.InvalidRequest, match="before the first entry"):
            svc.reports.history("alice", as_of_recorded=before)
