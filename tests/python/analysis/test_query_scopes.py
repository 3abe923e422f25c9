"""A query reads the tables that it uses, and no other, so that each client can run its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import comptroller
import pytest
from comptroller import errors

for needed in ("duckdb", "httpx2", "polars", "prometheus_client"):
    pytest.importorskip(needed)

import httpx2  # noqa: E402
from command_line import claim  # noqa: E402
from comptroller.analysis.registry import TABLES  # noqa: E402
from comptroller.http import app  # noqa: E402
from in_process import InProcess, Tokens  # noqa: E402

URL = "https://books.test"
Open = Callable[..., comptroller.Service]


class Recorded(httpx2.BaseTransport):
    """Records the paths of the requests."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner
        self.paths: list[str] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.paths.append(request.url.path)
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


@pytest.fixture(scope="module")
def path(shared_path: Path) -> Path:
    with comptroller.open(shared_path) as svc:
        own = [claim("c-1", asset_type="ETH"), claim("c-2", amount="2.50", asset_type="BTC")]
        assert svc.load("claims", own, customer_id="acme").committed
        assert svc.load("claims", [claim("c-3")]).committed
    return shared_path


@pytest.fixture(scope="module", params=["local", "remote"])
def opened(request: pytest.FixtureRequest, path: Path) -> Iterator[Open]:
    """Opens the store, or connects to it, for a caller."""
    with ExitStack() as closing:
        if request.param == "local":
            yield lambda **how: closing.enter_context(comptroller.open(path, **how))
            return
        tokens = Tokens()
        application = app(closing.enter_context(comptroller.open(path)), authenticator=tokens)
        yield lambda **how: closing.enter_context(
            comptroller.connect(URL, token=tokens.admit(**how), transport=InProcess(application))
        )


@pytest.fixture(scope="module")
def reader(opened: Open) -> comptroller.Service:
    """A client that may read claims alone."""
    return opened(customer="acme", scopes=["rewards:read_claims"])


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 AS n", 1),
        ("SELECT count(*) FROM claims", 2),
        ("SELECT sum(amount)::DOUBLE FROM claims JOIN owners USING (id)", 2.5),
        ('SELECT count(*) FROM "Claims" AS balances', 2),
        ("SELECT count(*) FROM main.claims", 2),
        ("SELECT count(*) AS balances FROM memory.main.CLAIMS", 2),
        ("WITH balances AS (SELECT 7 AS x) SELECT x FROM balances", 7),
        ("WITH t AS (FROM claims) SELECT (SELECT count(*) FROM t) AS n", 2),
        ("SELECT count(*) FROM query_table('claims')", 2),
        ("SELECT n FROM query('SELECT count(*) AS n FROM claims')", 2),
        ("SELECT 'FROM balances' AS x -- FROM balances", "FROM balances"),
        ('SELECT "ETH" FROM (PIVOT claims ON asset_type USING count(*) GROUP BY claim_type)', 1),
        ("PIVOT (SELECT asset_type FROM claims WHERE id = 'c-1') ON asset_type USING count(*)", 1),
        ("SELECT count(*) FROM (SHOW TABLES)", len(TABLES) + 1),
        ("SELECT count(*) FROM duckdb_views() WHERE NOT internal", len(TABLES)),
    ],
)
def test_a_client_queries_the_tables_that_it_may_read(
    reader: comptroller.Service, sql: str, expected: object
) -> None:
    (row,) = reader.query(sql, owners=[{"id": "c-2"}]).to_dicts()
    assert list(row.values())[-1] == expected


@pytest.mark.parametrize(
    "sql",
    [
        "FROM balances",
        'SELECT 1 FROM "Balances"',
        "FROM main.balances",
        "FROM memory.main.balances",
        "FROM claims WHERE id IN (SELECT address_id FROM balances)",
        "SELECT count(*) FROM claims, balances",
        "WITH balances AS (FROM balances) FROM balances",
        "FROM query_table('balances')",
        "FROM query('FROM balances')",
        "SELECT nothing FROM balances",
        "DESCRIBE balances",
        "SUMMARIZE balances",
        "PIVOT balances ON asset_type USING count(*)",
        "SELECT nothing FROM (PIVOT claims ON asset_type USING count(*)), balances",
    ],
)
def test_a_query_of_a_table_that_the_client_may_not_read_is_forbidden(
    reader: comptroller.Service, opened: Open, sql: str
) -> None:
    whole = opened(customer="acme")  # with each scope that a client may have
    for svc in (reader, whole):
        with pytest.raises(errors.Forbidden, match="operator:read"):
            svc.query(sql)


def test_a_client_sees_its_own_records_and_members(opened: Open) -> None:
    acme = opened(customer="acme")
    assert acme.query("SELECT id FROM claims ORDER BY id").to_dicts() == [
        {"id": "c-1"},
        {"id": "c-2"},
    ]
    assert "customer_id" not in acme.query("DESCRIBE claims").to_polars()["column_name"].to_list()
    with pytest.raises(errors.InvalidRequest, match="customer_id"):
        acme.query("SELECT customer_id FROM claims")
    for name in set(TABLES) - {"balances"}:
        assert list(acme.query(f"FROM {name}").columns) == list(
            acme.query(f"DESCRIBE {name}").to_polars()["column_name"]
        )


def test_a_remote_query_copies_only_its_tables(path: Path) -> None:
    with comptroller.open(path) as store:
        tokens = Tokens()
        transport = Recorded(InProcess(app(store, authenticator=tokens)))
        with comptroller.connect(URL, token=tokens.admit(), transport=transport) as svc:
            assert svc.query("SELECT 1 AS x").to_dicts() == [{"x": 1}]
            assert transport.paths == []
            svc.query("SELECT count(*) FROM claims, owners", owners=[{"id": "c-2"}])
            exports = [each for each in transport.paths if each.startswith("/operator/export/")]
            assert exports == ["/operator/export/claims"]
