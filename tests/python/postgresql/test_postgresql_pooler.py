"""pgbouncer in transaction mode: each transaction may run in another session of the server."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import comptroller
import postgresql_server
import pytest
from lines import claim, identity, load
from postgresql_server import Connection, Server

#: From this version on, pgbouncer knows prepared statements (1.21 does so only if told to).
_FIRST = (1, 24)


@pytest.fixture(scope="module")
def version() -> tuple[int, int]:
    try:
        return postgresql_server.pooler_version()
    except postgresql_server.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def pooled(server: Server, store_path: str, version: tuple[int, int]) -> Iterator[str]:
    """The address of the test's database behind a pooler."""
    if version < _FIRST:
        pytest.skip("this pgbouncer does not know prepared statements")
    database = store_path.partition("@/")[2].partition("?")[0]
    with server.pooler() as pooler:
        yield pooler.address(database)


def test_an_older_pooler_is_refused_with_what_to_set(
    server: Server, store_path: str, version: tuple[int, int]
) -> None:
    if version >= _FIRST:
        pytest.skip("this pgbouncer knows prepared statements")
    database = store_path.partition("@/")[2].partition("?")[0]

    def work(address: str) -> None:
        def read(svc: comptroller.Service) -> None:
            for _ in range(50):
                list(svc.claims.list())

        with comptroller.open(address) as svc, ThreadPoolExecutor(8) as threads:
            for done in [threads.submit(read, svc) for _ in range(8)]:
                done.result()

    with (
        server.pooler() as pooler,
        pytest.raises(comptroller.Error, match="pool_mode = session"),
    ):
        work(pooler.address(database))


def test_reads_and_writes_of_many_threads(pooled: str) -> None:
    with comptroller.open(pooled) as svc:
        load(svc, "claims", *(claim(id=f"c{number}") for number in range(300)))
        load(svc, "identities", *(identity(id=f"person-{number}") for number in range(64)))

        def create(number: int) -> str:
            name = f"person-{number}"
            made = svc.controls.create(identity_id=name, type="FROZEN", reason_code="R")
            assert svc.controls.get(made.id).identity_id == name
            assert len(svc.claims.list(limit=300)) == 300
            return made.id

        with ThreadPoolExecutor(16) as threads:
            made = list(threads.map(create, range(64)))
        assert {each.id for each in svc.controls.list()} == set(made)
        assert svc.claims.stream().to_polars().height == 300
        assert svc.check()["ok"]


def test_other_programs_keep_the_settings_of_the_server(pooled: str) -> None:
    with comptroller.open(pooled) as svc, closing(Connection(pooled)) as other:
        load(svc, "claims", claim(id="c"))
        for _ in range(20):
            assert [each.id for each in svc.claims.list()] == ["c"]
            assert other.execute("SHOW enable_seqscan") == [("on",)]
            assert other.execute("SHOW statement_timeout") == [("0",)]


def test_a_search_path_that_the_pooler_drops_is_refused(pooled: str) -> None:
    with comptroller.open(pooled + "&options=-cjit%3Doff") as svc:
        assert svc.check()["ok"]
    with pytest.raises(comptroller.Unusable, match="search_path"):
        comptroller.open(pooled + "&options=-c%20search_path%3Delsewhere,public")
