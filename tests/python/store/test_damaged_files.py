"""Files whose header or schema is damaged are unusable, and the message says what is damaged."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import comptroller
import pytest
from comptroller import Service
from examples import KINDS, LINES, line, loaded

pytest.importorskip("pyarrow")

PAGE = 4096
FILES = 150  # of random damage


@pytest.fixture(name="sound", scope="module")
def _sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "store.db"
    with comptroller.open(path) as svc:
        for kind in KINDS:
            loaded(svc, kind, LINES[kind])
    return path.read_bytes()


def uses(svc: Service, *, writes: bool) -> Iterator[Callable[[], object]]:
    yield svc.check
    for name in ("identities", "controls", "payout_groups", "reward_addresses", "claims"):
        resource = getattr(svc, name)
        yield resource.list
        yield partial(resource.get, LINES[name.replace("_", "-")]["id"])
        yield lambda resource=resource: resource.stream().to_arrow()
    if writes:
        yield lambda: svc.identities.put(id="new", customer_id="new")
        yield lambda: loaded(svc, "claims", line("claims", id="new"))


def errors(path: Path) -> Iterator[comptroller.Error]:
    """Yields the errors of opening and using a file."""
    for writes in (False, True):
        try:
            with comptroller.open(path, read_only=not writes) as svc:
                for use in uses(svc, writes=writes):
                    try:
                        use()
                    except comptroller.Error as error:
                        yield error
        except comptroller.Error as error:
            yield error


DAMAGES = [
    ("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'amount TEXT',"
     " 'amounX TEXT') WHERE name = 'claims'", "no such column: amount"),
    ("DROP TABLE claims", "no such table: claims"),
    ("CREATE TRIGGER t BEFORE INSERT ON identities BEGIN SELECT missing(); END",
     "no such function: missing"),
    ("CREATE TRIGGER t BEFORE INSERT ON symbols BEGIN SELECT RAISE(ABORT, 'no'); END", "no"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "what"), DAMAGES)
def test_content_that_no_statement_fits_is_named(
    sound: bytes, tmp_path: Path, sql: str, what: str
) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(sound)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
    found = list(errors(path))
    assert {error.code for error in found} == {"unusable"}
    assert any(f"the store is damaged: {what}" in error.detail for error in found)


def test_an_unknown_format_is_named(sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(sound[:47] + b"\x09" + sound[48:])
    with pytest.raises(comptroller.Unusable, match="the store is damaged: unsupported file format"):
        comptroller.open(path)


def test_a_damaged_schema_is_never_an_internal_error(sound: bytes, tmp_path: Path) -> None:
    chance = random.Random(5)
    schema = [
        at for at in range(0, len(sound), PAGE) if at == 0 or b"CREATE " in sound[at : at + PAGE]
    ]
    for number in range(FILES):
        data = bytearray(sound)
        for _ in range(chance.choice((1, 1, 2, 4))):
            data[chance.choice(schema) + chance.randrange(PAGE)] ^= 1 << chance.randrange(8)
        path = tmp_path / f"{number}.db"
        path.write_bytes(data)
        assert {error.code for error in errors(path)} <= {"unusable"}, f"file {number}"
