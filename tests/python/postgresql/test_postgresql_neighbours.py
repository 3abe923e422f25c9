"""A client does not wait for the writes of other customers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import comptroller
import pytest
from comptroller import Service
from lines import claim
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
