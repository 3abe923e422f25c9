"""Several services and processes of one database: opening, cursors, idempotency keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from threading import Barrier

import comptroller
import pytest
from comptroller import Service, Unsupported
from lines import claim, load
from postgresql_server import Connection, Server
from serving import serving
from test_processes import run_together

_PROCESSES = 8
_TURNS = 5
_numbers = count()
NewPlace = Callable[[], str]
Pair = tuple[Service, Service]

# Opens a store, and writes; the first opening makes the tables.
OPENER = """
import sys, comptroller
comptroller.open  # so that its import takes no time later
print("ready", flush=True)
sys.stdin.readline()
with comptroller.open(sys.argv[1]) as svc:
    svc.identities.put(id=sys.argv[2], customer_id="acme")
"""


@pytest.fixture
def new_database(server: Server) -> Iterator[NewPlace]:
    """Creates empty databases; returns their addresses."""
    names: list[str] = []

    def create() -> str:
        names.append(f"shared_{os.getpid()}_{next(_numbers)}")
        return server.create(names[-1])

    yield create
    for name in names:
        server.drop(name)


@pytest.fixture
def new_file(tmp_path: Path) -> NewPlace:
    """Returns paths of files that do not exist."""
    return lambda: str(tmp_path / f"{next(_numbers)}.db")


@pytest.fixture(params=["file", "database"])
def new_place(request: pytest.FixtureRequest) -> NewPlace:
    place: NewPlace = request.getfixturevalue(f"new_{request.param}")
    return place


def test_processes_may_create_one_store_at_once(new_place: NewPlace) -> None:
    place = new_place()
    run_together(OPENER, [[place, f"p{number}"] for number in range(_PROCESSES)])
    with comptroller.open(place) as svc:
        ids = {each.id for each in svc.identities.iter()}
        assert ids == {f"p{number}" for number in range(_PROCESSES)}
        assert svc.check()["ok"]
        assert svc.journal.verify().ok


def test_a_database_that_processes_create_at_once_has_the_tables_of_one(
    new_database: NewPlace, store_path: str
) -> None:
    place = new_database()
    run_together(OPENER, [[place, "alice"]] * _PROCESSES)
    assert _definitions(place) == _definitions(store_path)
    with closing(Connection(place)) as connection:
        assert connection.execute("SELECT count(*) FROM store_version") == [("1",)]


def _definitions(address: str) -> list[tuple[str | None, ...]]:
    """Returns the relations, columns, indexes, constraints and triggers of a database."""
    with closing(Connection(address)) as connection:
        return connection.execute(
            "WITH own AS (SELECT oid, relname, relkind FROM pg_class"
            " WHERE relnamespace = current_schema()::regnamespace)"
            " SELECT relname, relkind::text, '' FROM own"
            " UNION ALL SELECT relname, attname, format_type(atttypid, atttypmod)"
            " FROM own JOIN pg_attribute ON attrelid = own.oid WHERE attnum > 0"
            " UNION ALL SELECT relname, 'index', pg_get_indexdef(own.oid) FROM own"
            " WHERE relkind = 'i'"
            " UNION ALL SELECT relname, conname, pg_get_constraintdef(c.oid)"
            " FROM own JOIN pg_constraint AS c ON conrelid = own.oid"
            " UNION ALL SELECT relname, tgname, '' FROM own JOIN pg_trigger ON tgrelid = own.oid"
            " WHERE NOT tgisinternal ORDER BY 1, 2, 3"
        )


@pytest.fixture(params=["services", "servers"])
def pair(request: pytest.FixtureRequest, store_path: str, tmp_path: Path) -> Iterator[Pair]:
    """Two services of one database, in this process or of a server each."""
    with ExitStack() as stack:
        if request.param == "services":
            one, other = (stack.enter_context(comptroller.open(store_path)) for _ in range(2))
        else:
            words = ("--auth", "off", "--state", str(tmp_path / "state"))
            servers = [
                stack.enter_context(serving(*words, cwd=tmp_path, db=store_path)) for _ in range(2)
            ]
            one, other = (
                stack.enter_context(comptroller.connect(each.address, token="none"))
                for each in servers
            )
        yield one, other


def _rest_of_pages(svc: Service, cursor: str) -> list[str]:
    """Returns the ids on the page of a cursor and on those after it."""
    ids = []
    while cursor:
        page = svc.claims.list(limit=3, page_cursor=cursor)
        ids += [each.id for each in page.items]
        cursor = page.next_page_cursor
    return ids


def test_a_cursor_of_one_service_works_on_another(pair: Pair, store_path: str) -> None:
    one, other = pair
    load(one, "claims", *(claim() for _ in range(10)))
    first = one.claims.list(limit=3)
    cursor = first.next_page_cursor
    rest = _rest_of_pages(one, cursor)
    assert len({*rest, *(each.id for each in first.items)}) == 10
    assert _rest_of_pages(other, cursor) == rest
    with comptroller.open(store_path, read_only=True) as reader:
        assert _rest_of_pages(reader, cursor) == rest
    place = one.changes.list(limit=3).next_cursor
    assert other.changes.list(after=place).items == one.changes.list(after=place).items


# A write whose repetition would be refused, and one whose repetition would succeed.
WRITES: dict[str, Callable[[Service, str], str]] = {
    "controls": lambda svc, key: (
        svc.controls.create(identity_id=key, type="FROZEN", reason_code="R", idempotency_key=key).id
    ),
    "webhooks": lambda svc, key: (
        svc.webhooks.create(url="https://hooks.example.com", idempotency_key=key).id
    ),
}


@pytest.mark.parametrize("resource", WRITES)
def test_one_key_at_two_services_at_once_has_one_effect(
    pair: Pair, store_path: str, resource: str
) -> None:
    """The repetition has the answer of the first request, or is refused as in flight."""
    at_once = Barrier(2)

    def write(svc: Service, key: str) -> str:
        at_once.wait()
        try:
            return WRITES[resource](svc, key)
        except comptroller.Conflict as error:
            return error.code

    with comptroller.open(store_path) as svc, ThreadPoolExecutor(2) as threads:
        for key in (f"key-{turn}" for turn in range(_TURNS)):
            svc.identities.put(id=key)
            asked = [threads.submit(write, each, key) for each in pair]
            answers = {each.result() for each in asked} - {"idempotency-in-flight"}
            assert len(answers) == 1
            assert {WRITES[resource](each, key) for each in pair} == answers
            operations = [each.operation for each in svc.journal.list(id=answers.pop())]
            assert operations == [f"{resource}.create"]
        assert svc.check()["ok"]
        assert svc.journal.verify().ok


def test_a_backup_names_pg_dump(store_path: str, tmp_path: Path) -> None:
    with (
        comptroller.open(store_path) as svc,
        pytest.raises(Unsupported, match=r"copies files only; use pg_dump"),
    ):
        svc.backup(tmp_path / "copy.db")
    assert not list(tmp_path.iterdir())
