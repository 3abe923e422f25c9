"""Copies of a store between files and databases: all of it, or nothing."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import comptroller
import msgspec
import pytest
from command_line import Run
from comptroller import InvalidRequest, Service, Unavailable, Unusable
from comptroller._core import Principal, Store
from examples import KINDS
from paired_stores import Requests, Side
from postgresql_server import Connection, Server

_REQUESTS = 2_000
_LOAD_EVERY = 20
_numbers = count()
Place = Callable[[], str]

# Copies a store, and waits for its end after the first rows.
PROGRAM = """
import sys
import comptroller
def wait(_done, _total, rows):
    print(rows, flush=True)
    sys.stdin.read()
comptroller.open(sys.argv[1], read_only=True).copy_to(sys.argv[2], progress=wait)
"""

# Writes, and kills itself.
KILLED = """
import os, signal, sys
import comptroller
comptroller.open(sys.argv[1]).identities.put(id="killed")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store file with random records, histories, answers and webhooks."""
    folder = tmp_path_factory.mktemp("original")
    path, parquet, claims = (folder / f"original.{end}" for end in ("db", "parquet", "ndjson"))
    with closing(Store(str(path))) as store:
        side, requests = Side(store), Requests(7)
        for number in range(_REQUESTS):
            if number % _LOAD_EVERY == 0:
                side.load(*requests.lines(), requests.known)
            request = requests.next()
            requests.learn(request, side.call(request, requests.known))
    with comptroller.open(path) as svc:
        for number in range(20):  # an operator's lists then have indexes of their own
            svc.identities.put(id=f"customer-{number}", customer_id=f"customer-{number}")
        for webhook in list(svc.webhooks.list()):  # they would keep entries from the archive
            svc.webhooks.delete(webhook.id)
        svc.journal.archive(next(iter(svc.journal.list(id="customer-0"))).recorded_at, parquet)
        svc.webhooks.create(url="https://kept.example")
        svc.webhooks.delete(svc.webhooks.create(url="https://deleted.example").id)
        comptroller.sample("claims", rows=6_000, out=claims)
        svc.load("claims", claims)
    return path


@pytest.fixture
def new_database(server: Server) -> Iterator[Place]:
    """Creates empty databases; returns their addresses."""
    names = []

    def create() -> str:
        names.append(f"copy_{os.getpid()}_{next(_numbers)}")
        return server.create(names[-1])

    yield create
    for name in names:
        server.drop(name)


@pytest.fixture
def new_file(tmp_path: Path) -> Place:
    """Returns paths of files that do not exist."""
    return lambda: str(tmp_path / f"copy-{next(_numbers)}.db")


@pytest.fixture(params=["file", "database"])
def new_place(request: pytest.FixtureRequest) -> Place:
    place: Place = request.getfixturevalue(f"new_{request.param}")
    return place


def _rows(path: str) -> dict[str, list[Any]]:
    """Returns the rows of each table of a store file."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_stat1'"
            )
        ]
        return {
            name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}"))) for name in tables
        }


def _definitions(path: str) -> list[Any]:
    """Returns the tables, indexes, triggers and views of a store file."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY 2").fetchall()


def _exports(svc: Service, folder: Path) -> dict[str, bytes]:
    exports = {}
    for kind in KINDS:
        path = folder / f"{next(_numbers)}.ndjson"
        svc.export(kind, path)
        exports[kind] = path.read_bytes()
    return exports


def test_a_round_trip_keeps_every_row(original: Path, new_database: Place, new_file: Place) -> None:
    first, second, last = new_database(), new_database(), new_file()
    for source, destination in ((str(original), first), (first, second), (second, last)):
        with comptroller.open(source, read_only=True) as svc:
            copied = svc.copy_to(destination)
            checked = svc.check()
        assert copied.rows == checked["rows"]
    assert _rows(last) == _rows(str(original))
    assert _definitions(last) == _definitions(str(original))
    empty = {name for name, rows in _rows(last).items() if not rows}
    assert empty <= {"jurisdiction_changes", "webhook_deliveries"}


def test_a_copy_of_a_file_to_a_file_keeps_every_row(original: Path, new_file: Place) -> None:
    place = new_file()
    with comptroller.open(original) as svc:
        svc.copy_to(place)
        assert _rows(place) == _rows(str(original))


def test_a_copy_continues_the_store(original: Path, new_place: Place, tmp_path: Path) -> None:
    place = new_place()
    with comptroller.open(original, read_only=True) as svc:
        head = svc.copy_to(place).journal
        before = _exports(svc, tmp_path)
    with comptroller.open(place) as copy:
        assert _exports(copy, tmp_path) == before
        report = copy.journal.verify()
        assert (report.ok, report.size, report.root) == (True, head.size, head.root)
        # New records have keys that were never used.
        copy.webhooks.create(url="https://next.example")
        copy.identities.put(id="after-the-copy")
        for _ in range(2):
            control = copy.controls.create(
                identity_id="after-the-copy", type="SELL_ONLY", reason_code="TEST"
            )
            copy.controls.delete(control_id=control.id, reason="done")
        assert copy.check()["findings"] == []


@pytest.mark.parametrize(
    ("operation", "cursor", "parameter"),
    [
        ("claims.list", "next_page_cursor", "page_cursor"),
        ("identities.list", "next_page_cursor", "page_cursor"),
        ("changes.list", "next_cursor", "after"),
    ],
)
def test_cursors_stay_valid(
    original: Path, new_place: Place, operation: str, cursor: str, parameter: str
) -> None:
    def page(store: Store, after: str = "") -> Any:
        parameters = [("limit", "5"), *([(parameter, after)] if after else [])]
        answer, _replayed = store.call(Principal(), operation, parameters, None, None)
        # The cursor of a page is encrypted with a random number.
        members = json.loads(answer)
        return members, members.pop(cursor)

    place = new_place()
    with comptroller.open(original, read_only=True) as svc:
        svc.copy_to(place)
    with closing(Store(str(original), True)) as store, closing(Store(place)) as copy:
        first, after = page(store)
        assert page(copy)[0] == first
        assert page(copy, after)[0] == page(store, after)[0] != first


def test_kept_answers_stay_valid(new_place: Place, tmp_path: Path) -> None:
    path, place = tmp_path / "answers.db", new_place()
    request = ("identities.put", [], b'{"id": "alice", "ref_id": "r"}', "key-1")
    with closing(Store(str(path))) as store:
        answer, _replayed = store.call(Principal(), *request)
    with comptroller.open(path, read_only=True) as svc:
        svc.copy_to(place)
    with closing(Store(place)) as store:
        assert store.call(Principal(), *request) == (answer, True)


def test_the_progress_counts_rows(original: Path, new_place: Place) -> None:
    calls: list[tuple[int, int | None, int]] = []
    with comptroller.open(original, read_only=True) as svc:
        svc.copy_to(new_place(), progress=lambda *call: calls.append(call))
    rows = [rows for _done, _total, rows in calls]
    assert rows == sorted(rows)
    assert rows[0] > 0


def test_a_used_destination_is_refused(
    original: Path, new_database: Place, new_file: Place
) -> None:
    database, file = new_database(), new_file()
    for place in (database, file):
        comptroller.open(place).close()
    with comptroller.open(original, read_only=True) as svc:
        with pytest.raises(InvalidRequest, match="destination: has a store already"):
            svc.copy_to(database)
        with pytest.raises(Unusable, match="exists already"):
            svc.copy_to(file)
        with pytest.raises(InvalidRequest, match="is a file of the open store"):
            svc.copy_to(original)
        with pytest.raises(InvalidRequest, match="is not the name of a file"):
            svc.copy_to(":memory:")
        with pytest.raises(InvalidRequest, match="does not begin with postgresql://"):
            svc.copy_to("postgres:/nothing")
    assert _rows(file)["identities"] == []


def test_a_database_of_another_program_is_refused(
    original: Path, server: Server, new_database: Place
) -> None:
    place = new_database()
    server.execute("CREATE TABLE mine (number integer)", place.split("/")[3].split("?")[0])
    with (
        comptroller.open(original, read_only=True) as svc,
        pytest.raises(Unusable, match="has tables of another program"),
    ):
        svc.copy_to(place)


def test_a_store_of_another_version_is_refused(
    original: Path, server: Server, new_place: Place, new_database: Place, tmp_path: Path
) -> None:
    newer = tmp_path / "newer.db"
    newer.write_bytes(original.read_bytes())
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute("PRAGMA user_version = 1000")
    database = new_database()
    comptroller.open(database).close()
    server.execute("UPDATE store_version SET version = 1000", database.split("/")[3].split("?")[0])
    for source in (str(newer), database):
        with pytest.raises(Unusable, match="schema version 1000, newer than"):
            comptroller.open(source, read_only=True)
    with (
        comptroller.open(original, read_only=True) as svc,
        pytest.raises(Unusable, match="schema version 1000, newer than"),
    ):
        svc.copy_to(database)


def test_a_damaged_store_is_not_copied(original: Path, new_place: Place, tmp_path: Path) -> None:
    damaged, place = tmp_path / "damaged.db", new_place()
    damaged.write_bytes(original.read_bytes())
    with closing(sqlite3.connect(damaged)) as connection:
        connection.execute(
            "UPDATE identities SET ref_id = 'altered' WHERE key = (SELECT max(key) FROM identities)"
        )
        connection.commit()
    with (
        comptroller.open(damaged, read_only=True) as svc,
        pytest.raises(Unusable, match="the copy is not sound, so nothing was kept: identities"),
    ):
        svc.copy_to(place)
    with comptroller.open(original, read_only=True) as svc:
        svc.copy_to(place)


def test_a_killed_copy_leaves_nothing(original: Path, new_place: Place) -> None:
    place = new_place()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(original), place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as copying:
        assert copying.stdout
        assert int(copying.stdout.readline()) > 0
        copying.kill()
    assert not Path(place).exists()
    with comptroller.open(original, read_only=True) as svc:
        assert svc.copy_to(place).rows == svc.check()["rows"]


def test_the_command_copies(original: Path, run: Run, new_database: Place) -> None:
    database = new_database()
    told = run("copy", str(original), database, "--json").json
    with comptroller.open(original, read_only=True) as svc:
        assert told["rows"] == svc.check()["rows"]
        verified = svc.journal.verify()
    assert told["journal"] == {"size": verified.size, "root": verified.root, "checkpoint": None}
    assert told["secrets"] == []
    shown = run("copy", database, "back.db").out
    assert f"journal: {verified.size:,} entries, root {verified.root}" in shown
    assert f"{told['rows']['claims']:,}" in shown


def test_the_command_copies_after_a_write(run: Run, new_database: Place) -> None:
    """A closed service leaves no entry without a number, a killed one may."""
    database = new_database()
    for number in range(3):
        with comptroller.open(database) as svc:
            svc.identities.put(id=f"closed-{number}")
        with comptroller.open(database, read_only=True) as svc:
            assert [entry.id for entry in svc.journal.list(id=f"closed-{number}")]
            svc.copy_to(f"{number}.db")
    with closing(Connection(database)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM journal_writer FOR UPDATE")  # so the entry gets no number
        subprocess.run([sys.executable, "-c", KILLED, database], check=False)
    with (
        comptroller.open(database, read_only=True) as svc,
        pytest.raises(Unavailable, match="open the store for writing, and copy it again"),
    ):
        svc.copy_to("killed.db")
    assert run("copy", database, "killed.db", "--json").json["rows"]["identities"] == 4


def test_the_command_copies_keys(run: Run, new_database: Place, tmp_path: Path) -> None:
    database = new_database()
    run("load", "claims", "--db", "first.db", "-")
    client = run("clients", "add", "dashboard", "--customer", "acme", "--db", "first.db", "--json")
    run("keys", "rotate", "--db", "first.db")
    run("journal", "key", "--db", "first.db")
    refused = run("copy", "first.db", database, "--with-keys")
    assert refused.code != 0
    assert "--state" in refused.err
    state = str(tmp_path / "state")
    copied = run("copy", "first.db", database, "--with-keys", "--state", state, "--json").json
    assert len(copied["secrets"]) == 3
    back = run("copy", database, "last.db", "--with-keys", "--state", state, "--json").json
    assert len(back["secrets"]) == 4  # the copy has a key for webhooks
    for suffix in (".keys", ".clients", ".journal-key"):
        original = (tmp_path / f"first.db{suffix}").read_bytes()
        assert (tmp_path / f"last.db{suffix}").read_bytes() == original
    assert (
        msgspec.json.encode(client.json["client_id"]) in (tmp_path / "last.db.clients").read_bytes()
    )
    first, last = (_rows(str(tmp_path / f"{name}.db"))["secrets"] for name in ("first", "last"))
    assert last == first


def test_the_command_refuses_a_password(run: Run) -> None:
    refused = run("copy", "any.db", "postgresql://me:s3cret@host/store")
    assert refused.code == 2
    assert "s3cret" not in refused.err
