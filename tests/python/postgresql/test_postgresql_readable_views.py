"""The readable views of a database show what those of a file show."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import comptroller
import pytest
import test_readable_views
from comptroller import Service
from examples import KINDS, LINES, line, loaded, short_line
from postgresql_server import Server
from test_readable_views import FORMS


def rows(server: Server, place: str, kind: str) -> list[tuple[str | None, ...]]:
    """Returns the rows of a view as text, in the order of their columns."""
    view = f"readable_{kind.replace('-', '_')}"
    return server.execute(f"SELECT * FROM {view} AS v ORDER BY v::text", _database(place))


def columns(server: Server, place: str, kind: str) -> list[str | None]:
    view = f"readable_{kind.replace('-', '_')}"
    named = server.execute(
        "SELECT attname FROM pg_attribute WHERE attnum > 0"
        f" AND attrelid = '{view}'::regclass ORDER BY attnum",
        _database(place),
    )
    return [name for (name,) in named]


def _database(place: str) -> str:
    return urlsplit(place).path.removeprefix("/")


def _texts(row: dict[str, Any]) -> tuple[str | None, ...]:
    return tuple(None if value is None else str(value) for value in row.values())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tmp_path / "model.db"


def _load_both(place: str, model: Path, kind: str, *lines: dict[str, Any]) -> None:
    for store in (place, str(model)):
        with comptroller.open(store) as svc:
            loaded(svc, kind, *lines)


def _require_equal(server: Server, place: str, model: Path, kind: str) -> None:
    expected = test_readable_views.rows(model, kind)
    assert columns(server, place, kind) == list(expected[0])
    assert sorted(map(repr, rows(server, place, kind))) == sorted(map(repr, map(_texts, expected)))


@pytest.mark.parametrize("kind", KINDS)
def test_complete_and_short_lines(server: Server, store_path: str, model: Path, kind: str) -> None:
    for needed in KINDS[: KINDS.index(kind)]:  # a balance needs its address
        _load_both(store_path, model, needed, LINES[needed])
    _load_both(store_path, model, kind, LINES[kind])
    if kind not in ("balances", "reward-addresses"):
        _load_both(store_path, model, kind, short_line(kind, id="short"))
    _require_equal(server, store_path, model, kind)


def test_every_form_of_a_value(server: Server, store_path: str, model: Path) -> None:
    for number, (kind, changes) in enumerate(FORMS):
        if kind == "claims":
            _load_both(store_path, model, kind, line(kind, **{"id": f"form-{number}", **changes}))
    _require_equal(server, store_path, model, "claims")


def test_a_sample(server: Server, store_path: str, model: Path, tmp_path: Path) -> None:
    comptroller.sample("all", rows=300, out=tmp_path / "sample")
    for kind in KINDS:
        for store in (store_path, str(model)):
            with comptroller.open(store) as svc:
                svc.load(kind, tmp_path / "sample" / f"{kind}.ndjson")
        _require_equal(server, store_path, model, kind)


def test_changed_views_are_created_again(server: Server, store_path: str) -> None:
    database = _database(store_path)
    server.execute("DROP VIEW readable_claims", database)
    server.execute("DROP VIEW readable_controls", database)
    server.execute("CREATE VIEW readable_controls AS SELECT 1 AS id", database)
    with comptroller.open(store_path) as svc:
        loaded(svc, "claims", LINES["claims"])
        assert rows(server, store_path, "claims")[0][0] == "claim-1"
        assert rows(server, store_path, "controls") == []


def test_a_changed_view_keeps_the_views_and_rights_of_others(
    server: Server, store_path: str
) -> None:
    """As an earlier release made them: with another text, and with another column."""
    database = _database(store_path)
    comptroller.open(store_path).close()
    for statement in (
        "COMMENT ON VIEW readable_claims IS 'of an earlier release'",
        "DROP VIEW readable_controls",
        "CREATE VIEW readable_controls AS SELECT 1 AS number",
        "DROP VIEW readable_balances",
        "CREATE VIEW readable_balances AS SELECT 1 AS number",
        "CREATE VIEW my_claims AS SELECT id FROM readable_claims",
        "CREATE VIEW my_controls AS SELECT number FROM readable_controls",
        "GRANT SELECT ON readable_claims, readable_controls, readable_balances TO PUBLIC",
    ):
        server.execute(statement, database)
    with comptroller.open(store_path) as svc:
        loaded(svc, "claims", LINES["claims"])
    assert server.execute("SELECT * FROM my_claims", database) == [("claim-1",)]
    assert server.execute("SELECT * FROM my_controls", database) == [("1",)]
    for kind in ("controls", "balances"):
        assert rows(server, store_path, kind) == []
        assert "number" not in columns(server, store_path, kind)
    granted = server.execute(
        "SELECT table_name FROM information_schema.role_table_grants WHERE grantee = 'PUBLIC'"
        " AND privilege_type = 'SELECT' AND table_name IN"
        " ('readable_claims', 'readable_controls', 'readable_balances') ORDER BY 1",
        database,
    )
    assert granted == [("readable_balances",), ("readable_claims",), ("readable_controls",)]


def test_an_opened_store_keeps_its_views(
    server: Server, store_path: str, operator: Service
) -> None:
    place = "SELECT oid FROM pg_class WHERE relname = 'readable_claims'"
    before = server.execute(place, _database(store_path))
    comptroller.open(store_path).close()
    assert server.execute(place, _database(store_path)) == before
    assert operator.check()["ok"]
