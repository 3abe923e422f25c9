"""A client does not wait for the writes of other customers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import comptroller
import pytest
from comptroller import Service
from lines import at, claim
from postgresql_server import Connection

_ADDRESS = f"0x{1:040x}"
_RECORDS = ("identities", "controls", "payout_groups", "reward_addresses", "claims")


@pytest.fixture
def ids(store_path: str) -> dict[str, str]:
    """The ids of records of another customer."""
    with comptroller.open(store_path) as svc:
        identity = svc.identities.put(id="m", customer_id="globex")
        control = svc.controls.create(identity_id="m", type="FROZEN", reason_code="R")
        group = svc.payout_groups.create(
            ledger="ETHEREUM",
            asset_type="ETH",
            jurisdiction="CH",
            name="North",
            claimer_address=_ADDRESS,
            customer_id="globex",
        )
        address = svc.reward_addresses.create(
            ledger="ETHEREUM", address=_ADDRESS, payout_group_id=group.id, customer_id="globex"
        )
        svc.claims.put(claim(id="c", customer_id="globex", payout_group_id=group.id))
    return {
        "identity": identity.id,
        "control": control.id,
        "group": group.id,
        "address": address.id,
        "claim": "c",
    }


@pytest.fixture
def locked(store_path: str, ids: dict[str, str]) -> Iterator[None]:
    """All records of the other customer, and the words of the store, are locked."""
    with closing(Connection(store_path)) as connection:
        connection.execute("BEGIN")
        for table in _RECORDS:
            connection.execute(f"SELECT * FROM {table} FOR UPDATE")
        connection.execute(
            "SELECT * FROM symbols WHERE key IN (SELECT id FROM payout_groups) FOR UPDATE"
        )
        yield


Write = Callable[[Service, dict[str, str]], object]
WRITES: dict[str, Write] = {
    "create a control": lambda svc, ids: svc.controls.create(
        identity_id=ids["identity"], type="CLOSED", reason_code="R"
    ),
    "create a control of a missing identity": lambda svc, _: svc.controls.create(
        identity_id="n", type="CLOSED", reason_code="R"
    ),
    "delete a control": lambda svc, ids: svc.controls.delete(ids["control"], reason="x"),
    "disable": lambda svc, ids: svc.identities.update(ids["identity"], user_disabled=True),
    "rename a group": lambda svc, ids: svc.payout_groups.update(ids["group"], name="South"),
    "submit a claim": lambda svc, ids: svc.claims.submit(ids["claim"], tx_hash="0x1"),
    "rename an address": lambda svc, ids: svc.reward_addresses.update(ids["address"], name="x"),
}


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize("name", WRITES)
def test_a_client_does_not_wait_for_records_of_others(
    store_path: str, ids: dict[str, str], name: str
) -> None:
    with (
        comptroller.open(store_path, customer="acme") as client,
        ThreadPoolExecutor(1) as thread,
    ):
        writing = thread.submit(WRITES[name], client, ids)
        with pytest.raises((comptroller.NotFound, comptroller.Forbidden)):
            writing.result(10)


_NEWCOMERS = ("newcomer-1", "newcomer-2")
_OLD = [f"old-{number}" for number in range(15)]  # with globex, one for each of the 16 in an index


@pytest.fixture
def loading(store_path: str, ids: dict[str, str]) -> Iterator[tuple[Service, Service]]:
    """A load of new customers runs, and waits for a lock; yields two other services."""
    lines = [
        claim(id=f"of-{customer}", customer_id=customer) for customer in ("loaded-1", "loaded-2")
    ]
    held = claim(id="c", customer_id="globex", payout_group_id=ids["group"], updated_at=at(1))
    with (
        comptroller.open(store_path) as loader,
        comptroller.open(store_path) as beside,
        comptroller.open(store_path) as another,
        ThreadPoolExecutor(1) as thread,
        closing(Connection(store_path)) as other,
        closing(Connection(store_path)) as watch,
    ):
        for customer in _OLD:
            beside.identities.put(id=customer, customer_id=customer)
        other.execute("BEGIN")
        other.execute("SELECT * FROM claims FOR UPDATE")
        running = thread.submit(loader.load, "claims", [*lines, held])
        while not watch.execute(
            "SELECT 1 FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ):
            assert not running.done(), running.result()
        try:
            yield beside, another
            assert not running.done()
        finally:
            other.execute("COMMIT")
        assert running.result().committed
        checked = beside.check()
        assert checked["ok"], checked["findings"]


def test_writes_of_new_customers_do_not_wait_for_a_load(loading: tuple[Service, Service]) -> None:
    """The 17th and 18th customer of the store, and a customer that it has."""
    beside, another = loading
    with ThreadPoolExecutor(3) as threads:
        writing = [
            threads.submit(beside.identities.put, id=f"i-{customer}", customer_id=customer)
            for customer in _NEWCOMERS
        ]
        writing.append(threads.submit(another.claims.put, claim(id="of-old", customer_id=_OLD[0])))
        assert [each.result(10).customer_id for each in writing] == [*_NEWCOMERS, _OLD[0]]


def test_a_store_can_be_opened_beside_a_load(
    loading: tuple[Service, Service], store_path: str
) -> None:
    beside, _ = loading
    with ThreadPoolExecutor(1) as thread:
        opening = thread.submit(comptroller.open, store_path)
        with opening.result(10) as opened:
            assert opened.identities.get(_OLD[0]) == beside.identities.get(_OLD[0])
