"""The findings of a check of damaged databases, as with files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import comptroller
import pytest
from examples import KINDS, LINES
from postgresql_server import Connection, Server
from test_check import DAMAGED_TEXTS, DAMAGES, _full, pa  # noqa: F401

pytestmark = pytest.mark.slow


def in_postgresql(sql: str) -> str:
    """Returns a statement for a database, in which the first byte of a blob or a text of a column
    that has both says which it is, and some columns have smaller numbers.
    """
    sql = re.sub(r"(id = |SELECT )'([^']*)'", r"\1'\\001\2'", sql)
    sql = re.sub(r"x'([0-9a-f]*)'", r"'\\x00\1'", sql)
    return re.sub(r"(reason_code|status) = 999999", r"\1 = 9999", sql)


@pytest.fixture(scope="module")
def template(server: Server, full: Path) -> Iterator[str]:
    """The name of a database with one complete record of every kind."""
    name = f"check_{os.getpid()}"
    with comptroller.open(full, read_only=True) as svc:
        svc.copy_to(server.create(name))
    yield name
    server.drop(name)


def test_an_intact_store_has_no_findings(store_path: str) -> None:
    with comptroller.open(store_path, read_only=True) as svc:
        found = svc.check()
    assert (found["ok"], found["findings"]) == (True, [])
    assert found["engine"].startswith("PostgreSQL 1")
    assert set(found["rows"].values()) == {1, 2}


@pytest.mark.parametrize(("damage", "expected"), DAMAGES)
def test_each_damage_is_found(store_path: str, damage: str, expected: str) -> None:
    """Reading the damaged records gives a result or an error."""
    with closing(Connection(store_path)) as other:
        other.execute(in_postgresql(damage))
    with comptroller.open(store_path, read_only=True) as svc:
        found = svc.check()
        for kind in KINDS:
            resource = getattr(svc, kind.replace("-", "_"))
            for read in (resource.list, lambda resource=resource: pa.table(resource.stream())):
                with suppress(comptroller.Error, OSError):  # pyarrow raises OSError
                    read()
    assert not found["ok"]
    assert expected in {finding["check"] for finding in found["findings"]}
    assert all(finding["message"] for finding in found["findings"])


# A database refuses text that is not UTF-8.
@pytest.mark.parametrize(
    ("resource", "damage"), [each for each in DAMAGED_TEXTS if "CAST" not in each[1]]
)
def test_damaged_text_is_reported(store_path: str, resource: str, damage: str) -> None:
    with closing(Connection(store_path)) as other:
        other.execute(in_postgresql(damage))
    with comptroller.open(store_path, read_only=True) as svc:
        face = getattr(svc, resource)
        stream = face.stream()
        for read in (
            face.list,
            lambda: face.get(LINES[resource]["id"]),
            *(stream.to_arrow, stream.to_pandas, stream.to_polars),
        ):
            with pytest.raises(comptroller.Unusable, match="the store is damaged"):
                read()


def test_damaged_text_is_not_exported(store_path: str, tmp_path: Path) -> None:
    with closing(Connection(store_path)) as other:
        other.execute("UPDATE identities SET metadata = '{'")
    with comptroller.open(store_path, read_only=True) as svc:
        with pytest.raises(comptroller.Unusable, match="the store is damaged"):
            svc.export("identities", tmp_path / "export")
        assert not (tmp_path / "export").exists()
