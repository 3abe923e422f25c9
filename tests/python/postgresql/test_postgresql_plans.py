"""Each list, with each pair of its filters, takes few round trips, reads few rows, and sorts few.

The module auto_explain of the server writes the plan of each statement to the server's log.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import comptroller
import pytest
from comptroller._core import Principal, Store
from expensive_requests import SHORT_PAGE, Pairs, Request, requests, stored_values
from lines import at, control, identity
from postgresql_proxy import Batch, Proxy
from postgresql_server import Server

# They read the plans in the log of the server.
pytestmark = pytest.mark.xdist_group("plans")

CLAIMS = 30_000
#: Identities, controls and orchestrations, of each.
OTHERS = 12_000
#: Identities, each with two changes and a control.
MORE = 6_000
CUSTOMER = "default"
PRINCIPALS = (Principal(CUSTOMER), Principal())
PAGE = 100
#: Many streams, which are read in batches of 2, 4, 8 and so on times the first one.
MOST_ROUND_TRIPS = 13
#: A filter accepts 100 values, and a page of each has a row more than it shows.
MOST_SORTED = 100 * (PAGE + 1)
#: Each large table has more rows, so that reading or sorting the whole table fails.
MOST_ROWS = 10_000
#: A claim has several addresses, which have no index.
MOST_CLAIMS = 20_000
#: The engine may read small tables as a whole.
LARGE = {"identities", "controls", "orchestrations", "claims", "journal"}
_PLAN = re.compile(rb"plan:\n((?:\t.*\n)+)")
_END = b"execute <unnamed>: ROLLBACK"
_SETTINGS = {
    "log_min_duration_statement": "0",
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
}


class Page(NamedTuple):
    """A page of a list, and what it took."""

    request: Request
    order: str
    round_trips: int
    plans: list[dict[str, Any]]

    @property
    def name(self) -> str:
        return f"{self.request.operation} by {self.request.filters} {self.order}"


class Observed:
    """A store whose requests are counted and whose plans are read."""

    def __init__(self, server: Server, database: str) -> None:
        self._log = server.folder / "log"
        self._at = 0
        self._batches = 0
        self._proxy = Proxy(server, self._count)
        self._proxy.__enter__()
        self._store = Store(self._proxy.server.address(database), True)

    def _count(self, batch: Batch) -> bool:
        # The server ends a snapshot without the client waiting for it.
        self._batches += batch.executes and b"ROLLBACK" not in batch.data
        return True

    def page(
        self, principal: Principal, request: Request, order: str, *, is_second: bool = False
    ) -> Page | None:
        """Returns a page of a list; nothing if there is none, or its filters are refused."""
        pairs = [pair for pair in request.pairs if pair[0] != "limit"] + [("limit", str(PAGE))]
        if "changes" not in request.operation and "journal" not in request.operation:
            pairs.append(("order", order))
        with suppress(comptroller.InvalidRequest, comptroller.Forbidden):
            if is_second:
                cursor = self.call(principal, request.operation, pairs).get("next_page_cursor")
                self._plans()
                if not cursor:
                    return None
                pairs.append(("page_cursor", cursor))
            for _ in range(2):  # the first call prepares the statements
                self.call(principal, request.operation, pairs)
                plans = self._plans()
            return Page(request, order, self._batches, plans)
        return None

    def _plans(self) -> list[dict[str, Any]]:
        """Waits until the server has logged the end of the snapshot."""
        lines = b""
        deadline = time.monotonic() + 30
        with self._log.open("rb") as log:
            log.seek(self._at)
            while _END not in lines:
                assert time.monotonic() < deadline, lines[-2000:]
                lines += log.read()
        return [json.loads(found[1])["Plan"] for found in _PLAN.finditer(lines)]

    def call(self, principal: Principal, operation: str, pairs: Pairs) -> Any:
        """Returns an answer."""
        self._at, self._batches = self._log.stat().st_size, 0
        return json.loads(self._store.call(principal, operation, pairs, None, None)[0])

    def close(self) -> None:
        self._store.close()
        self._proxy.__exit__()


@contextmanager
def observed(server: Server, database: str) -> Iterator[Observed]:
    store = Observed(server, database)
    try:
        yield store
    finally:
        store.close()


@pytest.fixture(scope="module")
def filled(server: Server, empty: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a database with large tables."""
    database = f"test_plans_{os.getpid()}"
    with comptroller.open(server.create(database, empty)) as svc:
        svc.load_all(comptroller.sample("all", CLAIMS, out=tmp_path_factory.mktemp("lines")))
        for kind in ("identities", "controls", "orchestrations"):
            assert svc.load(kind, comptroller.sample(kind, OTHERS, seed=2)).inserted == OTHERS
        for days in range(3):  # the second and later ones are changes
            given = {"customer_id": CUSTOMER, "updated_at": at(days=days)}
            lines = [identity(id=f"of-{n}", **given) for n in range(MORE)]
            assert svc.load("identities", lines).rejected == 0
        lines = [control(identity_id=f"of-{n}") for n in range(MORE)]
        assert svc.load("controls", lines).rejected == 0
    yield database
    server.drop(database)


@pytest.fixture(scope="module", params=[(1, "auto"), (20, "force_generic_plan")])
def lists(
    request: pytest.FixtureRequest, server: Server, filled: str
) -> Iterator[tuple[Observed, list[Request]]]:
    """A database that writes its plans, and all lists with each combination of filters.

    With more than 16 customers it has the indexes of an operator.
    """
    customers, plan_cache_mode = request.param
    database = f"{filled}_{customers}"
    address = server.create(database, filled)
    with comptroller.open(address) as svc:
        lines = [identity(customer_id=f"other-{n}") for n in range(customers - 1)]
        assert svc.load("identities", lines).rejected == 0
    server.execute("ANALYZE", database)
    for name, value in (_SETTINGS | {"plan_cache_mode": plan_cache_mode}).items():
        server.execute(f"ALTER DATABASE {database} SET {name} = '{value}'")
    with observed(server, database) as store:
        found = requests(stored_values(address, CUSTOMER))
        yield store, [each for each in found if ("limit", str(SHORT_PAGE)) in each.pairs]
    server.drop(database)


@pytest.mark.parametrize("principal", PRINCIPALS, ids=["client", "operator"])
def test_a_page_is_one_round_trip(
    lists: tuple[Observed, list[Request]], principal: Principal
) -> None:
    store, all_requests = lists
    found = {
        request.operation: page.round_trips
        for request in all_requests
        if not request.filters and request.operation not in {"changes.list", "journal.list"}
        for page in [store.page(principal, request, "DESC")]
        if page
    }
    assert len(found) >= 6
    assert set(found.values()) == {1}


def test_a_page_has_the_records_of_new_customers(server: Server, store_path: str) -> None:
    """An operator's page is read for the customers of an earlier page, which are then compared."""
    database = urlsplit(store_path).path[1:]
    with observed(server, database) as store, comptroller.open(store_path) as other:
        for number in range(18):  # more than 16 have other indexes
            other.identities.put(id=f"of-{number}", customer_id=f"new-{number}")
            answer = store.call(Principal(), "identities.list", [("limit", "1")])
            assert [each["id"] for each in answer["items"]] == [f"of-{number}"]


def test_no_statement_of_a_request_is_compiled(server: Server, store_path: str) -> None:
    """To compile a statement (JIT) takes longer than all other statements of a write."""
    if server.execute("SELECT pg_jit_available()") != [("t",)]:
        pytest.skip("this PostgreSQL compiles nothing")
    database, log = urlsplit(store_path).path[1:], server.folder / "log"
    for name, value in (_SETTINGS | {"jit": "on"}).items():
        server.execute(f"ALTER DATABASE {database} SET {name} = '{value}'")

    def plans(start: int) -> list[dict[str, Any]]:
        return [json.loads(found[1]) for found in _PLAN.finditer(log.read_bytes()[start:])]

    start = log.stat().st_size
    with comptroller.open(store_path) as svc:
        svc.identities.put(id="alice", idempotency_key="once")
        svc.controls.create(identity_id="alice", type="CLOSED", reason_code="LEFT")
        assert len(svc.changes.list().items) == 2  # gives the entries their places in the journal
        assert svc.controls.list(identity_id="alice").items
    found = plans(start)
    assert len(found) > 10
    assert [each for each in found if "JIT" in each] == []
    server.execute(f"ALTER DATABASE {database} SET jit_above_cost = 0")
    start = log.stat().st_size
    server.execute("SELECT count(*) FROM journal", database)
    assert ["JIT" in each for each in plans(start)] == [True]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def rows_read(plan: dict[str, Any]) -> int:
    """Returns the rows that the scans of large tables and their indexes have read."""
    return sum(
        node["Actual Loops"]
        * (
            node["Actual Rows"]
            + node.get("Rows Removed by Filter", 0)
            + node.get("Rows Removed by Index Recheck", 0)
        )
        for node in nodes(plan)
        if node.get("Relation Name") in LARGE
    )


def faults(page: Page) -> Iterator[str]:
    """Yields the limits that the statements of a page exceed."""
    if page.round_trips > MOST_ROUND_TRIPS:
        yield f"{page.round_trips} round trips"
    most = MOST_CLAIMS if page.request.operation == "claims.list" else MOST_ROWS
    if (read := sum(map(rows_read, page.plans))) > most:
        yield f"reads {read} rows"
    for node in (node for plan in page.plans for node in nodes(plan)):
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in LARGE:
            yield f"reads all of {node['Relation Name']}"
        if "Sort" in node["Node Type"] and node["Plans"][0]["Actual Rows"] > MOST_SORTED:
            yield f"sorts {node['Plans'][0]['Actual Rows']} rows"


def check(lists: tuple[Observed, list[Request]], principal: Principal, filters: range) -> None:
    store, all_requests = lists
    found = []
    count = 0
    for request in all_requests:
        if len(request.filters) not in filters:
            continue
        pages = (store.page(principal, request, order) for order in ("ASC", "DESC"))
        second = store.page(principal, request, "ASC", is_second=True)
        for page in filter(None, (*pages, second)):
            assert page.plans, page.name
            count += 1
            found += [f"{page.name}: {fault}" for fault in faults(page)]
    assert count > 50
    assert not found, "\n".join(found)


@pytest.mark.parametrize("principal", PRINCIPALS, ids=["client", "operator"])
def test_lists_by_one_filter(lists: tuple[Observed, list[Request]], principal: Principal) -> None:
    check(lists, principal, range(2))


@pytest.mark.slow
@pytest.mark.parametrize("principal", PRINCIPALS, ids=["client", "operator"])
def test_lists_by_two_filters(lists: tuple[Observed, list[Request]], principal: Principal) -> None:
    check(lists, principal, range(2, 3))
