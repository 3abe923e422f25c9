"""Customers are isolated: a record of another customer looks like a missing one."""

from __future__ import annotations

import json
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from typing import Any

import comptroller
import pytest
from lines import (
    address,
    at,
    balance,
    claim,
    control,
    group,
    identity,
    ids,
    load,
    made_group,
    orchestration,
    refused,
)

ADDRESSES = {
    "acme": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "globex": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
}
NUMBERED = {
    "acme": "01900000-0000-7000-8000-0000000000a",
    "globex": "01900000-0000-7000-8000-0000000000b",
}
UNKNOWN = "01900000-0000-7000-8000-0000000000c1"


def id_of(customer: str, resource: str) -> str:
    """Returns the id of the customer's one record of a resource."""
    uuids = {"payout_groups": "1", "reward_addresses": "2"}
    return NUMBERED[customer] + uuids[resource] if resource in uuids else f"{customer}-{resource}"


def furnish(operator: comptroller.Service, customer: str) -> None:
    """Creates one record of each resource for a customer, with an overridable active control."""
    named = {resource: id_of(customer, resource) for resource in KINDS}
    home = named["payout_groups"]
    lines = {
        "identities": identity(ref_id="same", metadata={"secret": customer}),
        "controls": control(identity_id=named["identities"], type="DORMANT"),
        "orchestrations": orchestration(profile_id="same", ref_id="same", source_asset="USD"),
        "payout_groups": group(name="same", jurisdiction="CH"),
        "reward_addresses": address(address=ADDRESSES[customer], payout_group_id=home),
        "claims": claim(payout_group_id=home, blockchain="ink"),
    }
    for resource, line in lines.items():
        load(operator, KINDS[resource], line | {"id": named[resource]}, customer_id=customer)
    load(operator, "balances", balance(address_id=named["reward_addresses"], at=at(0)))


KINDS = {
    "identities": "identities",
    "controls": "controls",
    "orchestrations": "orchestrations",
    "payout_groups": "payout-groups",
    "reward_addresses": "reward-addresses",
    "claims": "claims",
}


@pytest.fixture(scope="module")
def furnish_template():
    """Fills stores with one record of each resource for each customer."""

    def furnish_store(operator):
        for customer in ADDRESSES:
            furnish(operator, customer)

    return furnish_store


@pytest.fixture
def both(operator, acme):
    """The operator and a client of acme."""
    return operator, acme


@pytest.fixture(scope="module")
def shared(shared_operator, shared_acme):
    """The same, for tests that change nothing."""
    return shared_operator, shared_acme


OWN_ADDRESS, OWN_CONTROL = id_of("acme", "reward_addresses"), id_of("acme", "controls")

# The id that each operation takes, and the call of a client.
BY_ID = {
    "identities.get": ("identities", lambda s, x: s.identities.get(x)),
    "identities.update": ("identities", lambda s, x: s.identities.update(x, metadata={})),
    "identities.update flag": (
        "identities",
        lambda s, x: s.identities.update(x, user_disabled=True),
    ),
    "identities.permits": ("identities", lambda s, x: s.identities.permits(x, "BUY")),
    "controls.get": ("controls", lambda s, x: s.controls.get(x)),
    "controls.delete": ("controls", lambda s, x: s.controls.delete(x)),
    "controls.delete identity": (
        "identities",
        lambda s, x: s.controls.delete(OWN_CONTROL, identity_id=x),
    ),
    "controls.create": (
        "identities",
        lambda s, x: s.controls.create(identity_id=x, type="CLOSED", reason_code="X"),
    ),
    "orchestrations.get": ("orchestrations", lambda s, x: s.orchestrations.get(x)),
    "payout_groups.get": ("payout_groups", lambda s, x: s.payout_groups.get(x)),
    "payout_groups.update": ("payout_groups", lambda s, x: s.payout_groups.update(x, name="n")),
    "payout_groups.update nothing": ("payout_groups", lambda s, x: s.payout_groups.update(x)),
    "reward_addresses.get": ("reward_addresses", lambda s, x: s.reward_addresses.get(x)),
    "reward_addresses.update": (
        "reward_addresses",
        lambda s, x: s.reward_addresses.update(x, name="n"),
    ),
    "reward_addresses.update group": (
        "payout_groups",
        lambda s, x: s.reward_addresses.update(OWN_ADDRESS, payout_group_id=x),
    ),
    "reward_addresses.create": (
        "payout_groups",
        lambda s, x: s.reward_addresses.create(
            ledger="INK", address=ADDRESSES["acme"], payout_group_id=x
        ),
    ),
    "claims.get": ("claims", lambda s, x: s.claims.get(x)),
}


def answer(ask: Any, service: comptroller.Service, id: str) -> tuple[Any, ...]:
    """Returns the content of an error, without the requested id."""
    with pytest.raises(comptroller.Error) as caught:
        ask(service, id)
    error = caught.value
    texts = [error.detail, str(error), *[part for pair in error.errors for part in pair]]
    return error.code, error.status, [text.replace(id, "ID") for text in texts], error.existing


def everything(operator: comptroller.Service) -> list[Any]:
    """Returns all records of the store."""
    return [getattr(operator, resource).list(order="ASC").items for resource in KINDS]


@pytest.mark.parametrize("name", BY_ID)
def test_a_foreign_id_gets_the_error_of_an_unknown_one(both, name):
    operator, acme = both
    resource, ask = BY_ID[name]
    before = everything(operator)
    unknown = answer(ask, acme, UNKNOWN)
    assert answer(ask, acme, id_of("globex", resource)) == unknown
    assert unknown[:2] == ("not-found", 404)
    assert unknown[3] is None
    assert everything(operator) == before


@pytest.mark.parametrize("name", BY_ID)
def test_an_own_id_is_found(both, name):
    resource, ask = BY_ID[name]
    if name == "reward_addresses.create":
        with refused("ledger-mismatch"):
            ask(both[1], id_of("acme", resource))
    else:
        assert ask(both[1], id_of("acme", resource)) is not None


@pytest.mark.parametrize("resource", KINDS)
def test_a_list_shows_a_client_its_own_records_and_the_operator_all(shared, resource):
    operator, acme = shared
    own, foreign = id_of("acme", resource), id_of("globex", resource)
    assert ids(getattr(acme, resource).list()) == [own]
    assert ids(getattr(acme, resource).iter(limit=1)) == [own]
    assert set(ids(getattr(operator, resource).list())) == {own, foreign}
    assert ids(getattr(operator, resource).list(customer_id="globex")) == [foreign]
    assert ids(getattr(operator, resource).list(customer_id="nobody")) == []
    assert ids(getattr(acme, resource).list(customer_id="acme")) == [own]


# A filter, a value of globex, and an unknown value.
FOREIGN_FILTERS = [
    ("controls", "identity_id", id_of("globex", "identities"), UNKNOWN),
    ("orchestrations", "orchestration_id", id_of("globex", "orchestrations"), UNKNOWN),
    ("payout_groups", "id", id_of("globex", "payout_groups"), UNKNOWN),
    ("reward_addresses", "id", id_of("globex", "reward_addresses"), UNKNOWN),
    ("reward_addresses", "payout_group_id", id_of("globex", "payout_groups"), UNKNOWN),
    ("reward_addresses", "address", ADDRESSES["globex"], "0x" + "1" * 40),
    ("claims", "id", id_of("globex", "claims"), UNKNOWN),
    ("claims", "payout_group_id", id_of("globex", "payout_groups"), UNKNOWN),
]


@pytest.mark.parametrize(("resource", "name", "foreign", "unknown"), FOREIGN_FILTERS)
def test_a_filter_finds_no_foreign_record(shared, resource, name, foreign, unknown):
    operator, acme = shared
    found = getattr(acme, resource).list(**{name: foreign})
    assert found == getattr(acme, resource).list(**{name: unknown})
    assert found.items == []
    assert getattr(operator, resource).list(**{name: foreign}).items


@pytest.mark.parametrize(
    ("resource", "filters"),
    [
        ("identities", {"ref_id": "same"}),
        ("identities", {"control_types": "DORMANT"}),
        ("identities", {"control_reason_codes": "REQUESTED"}),
        ("controls", {"type": "DORMANT"}),
        ("controls", {"active_at": at(1)}),
        ("orchestrations", {"profile_id": "same"}),
        ("orchestrations", {"ref_id": ["same", "other"]}),
        ("orchestrations", {"source_asset": "USD", "created_at_eq": at(0)}),
        ("payout_groups", {"name_prefix": "sa"}),
        ("payout_groups", {"jurisdiction": "CH", "ledger": "ETHEREUM"}),
        ("reward_addresses", {"include_balance": True}),
        ("claims", {"jurisdiction": "CH"}),
        ("claims", {"chain": "ink"}),
        ("claims", {"statuses": ["PENDING", "FAILED"], "start_time": at(0)}),
    ],
)
def test_a_shared_value_finds_ones_own_record(shared, resource, filters):
    assert ids(getattr(shared[1], resource).list(**filters)) == [id_of("acme", resource)]


def test_a_cursor_shows_neither_the_time_nor_the_key_of_its_position(both):
    operator, acme = both
    move = orchestration(id="own", created_at=at(9))
    load(operator, "orchestrations", orchestration(created_at=at(1)), move, customer_id="acme")
    page = acme.orchestrations.list(limit=1)
    assert ids(page) == ["own"]
    microseconds = (at(9) - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)
    cursor = b64decode(page.next_page_cursor + "==", "-_")
    assert microseconds.to_bytes(8, "big") not in cursor
    assert not any(key.to_bytes(8, "big") in cursor for key in range(1, 100))


def test_claims_of_another_customers_unknown_group_leave_no_trace(both):
    operator, acme = both
    claims = (claim(payout_group_id=UNKNOWN, created_at=at(n)) for n in range(5_001))
    load(operator, "claims", *claims, customer_id="globex")
    page = acme.claims.list(payout_group_id=UNKNOWN)
    assert (page.items, page.next_page_cursor) == ([], "")


@pytest.mark.parametrize("resource", KINDS)
def test_another_customer_is_not_accessible_whether_or_not_it_exists(shared, resource):
    def ask(service: comptroller.Service, customer: str) -> Any:
        return getattr(service, resource).list(customer_id=customer)

    unknown = answer(ask, shared[1], "nobody")
    assert answer(ask, shared[1], "globex") == unknown
    assert unknown[:2] == ("customer-not-accessible", 403)


def test_a_client_creates_only_for_its_customer(both):
    operator, acme = both
    members = {"asset_type": "ETH", "jurisdiction": "CH", "name": "n"}
    before = everything(operator)
    for make in (
        lambda s, c: s.payout_groups.create(
            ledger="INK", claimer_address=ADDRESSES["acme"], customer_id=c, **members
        ),
        lambda s, c: s.reward_addresses.create(
            ledger="INK", address="0x" + "2" * 40, customer_id=c
        ),
    ):
        unknown = answer(make, acme, "nobody")
        assert answer(make, acme, "globex") == unknown
        assert unknown[1] in (400, 403)
    assert everything(operator) == before


def test_the_operator_creates_for_the_named_customer_or_default(operator):
    for customer in (None, "acme"):
        address = ADDRESSES[customer or "globex"]
        made = operator.reward_addresses.create(ledger="INK", address=address, customer_id=customer)
        assert made.customer_id == (customer or "default")


def test_only_a_taken_address_reveals_another_customer(both):
    operator, acme = both
    with refused("already-exists", 409) as caught:
        acme.reward_addresses.create(ledger="ETHEREUM", address=ADDRESSES["globex"].lower())
    assert caught.value.existing is None
    assert id_of("globex", "reward_addresses") not in str(caught.value)
    assert "globex" not in str(caught.value)
    with refused("already-exists", 409) as caught:
        operator.reward_addresses.create(ledger="ETHEREUM", address=ADDRESSES["globex"])
    assert caught.value.existing == id_of("globex", "reward_addresses")


@pytest.mark.parametrize("resource", ["controls", "payout_groups", "reward_addresses", "claims"])
def test_only_the_operator_sees_the_customer_of_a_record(shared, resource):
    operator, acme = shared
    own = id_of("acme", resource)
    assert getattr(operator, resource).get(own).customer_id == "acme"
    assert getattr(acme, resource).get(own).customer_id is None


@pytest.mark.parametrize("resource", KINDS)
def test_an_export_has_only_a_clients_own_records(shared, tmp_path, resource):
    path = tmp_path / "out.ndjson"
    assert shared[1].export(KINDS[resource], path) == 1
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["id"] == id_of("acme", resource)
    assert "globex" not in line


def test_idempotency_keys_of_customers_are_separate(acme, globex):
    def make(service: comptroller.Service, customer: str) -> comptroller.RewardAddress:
        return service.reward_addresses.create(
            ledger="INK", address=ADDRESSES[customer], idempotency_key="same"
        )

    assert make(acme, "acme").id != make(globex, "globex").id


def test_a_load_names_groups_of_the_customer_of_its_lines_only(
    operator: comptroller.Service,
) -> None:
    theirs = made_group(operator, customer_id="globex").id
    for kind, line in (
        ("reward-addresses", address(payout_group_id=theirs)),
        ("claims", claim(payout_group_id=theirs)),
    ):
        (rejection,) = operator.load(kind, [line], customer_id="acme").rejections
        assert "the payout group belongs to another customer" in rejection.message
        assert operator.load(kind, [line], customer_id="globex").inserted == 1
