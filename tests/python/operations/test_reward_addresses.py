"""Reward addresses: registration, and attribution to a group of the same owner and ledger."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import comptroller
import pytest
from lines import LEDGERS, address, address_on, at, evm, group, ids, load, made_group, refused

NUMBERED = "01900000-0000-7000-8000-00000000000"
UNKNOWN = NUMBERED + "f"
MIXED = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
SUN = "So11111111111111111111111111111111111111112"


@pytest.mark.parametrize("ledger", LEDGERS)
def test_ledger_and_address_are_enough(acme, ledger):
    before = datetime.now(UTC)
    made = acme.reward_addresses.create(ledger=ledger, address=address_on(ledger))
    assert made.status == "UNREGISTERED"
    assert (made.name, made.payout_group_id, made.balance) == (None, None, None)
    assert UUID(made.id).version == 7
    assert before <= made.created_at <= datetime.now(UTC)
    assert acme.reward_addresses.get(made.id) == made


@pytest.mark.parametrize("ledger", LEDGERS)
def test_an_address_with_a_group_is_pending(acme, ledger):
    group = made_group(acme, ledger=ledger)
    made = acme.reward_addresses.create(
        ledger=ledger, address=address_on(ledger), name="Hot 1", payout_group_id=group.id.upper()
    )
    assert (made.status, made.payout_group_id, made.name) == ("PENDING", group.id, "Hot 1")


@pytest.mark.parametrize("missing", ["ledger", "address"])
@pytest.mark.parametrize("wrapped", [True, False])
def test_create_requires_ledger_and_address(acme_core_client, missing, wrapped):
    members = {"ledger": "INK", "address": MIXED}
    del members[missing]
    with refused("invalid-request", 400) as caught:
        acme_core_client(
            "reward_addresses.create", body={"address": members} if wrapped else members
        )
    (error,) = caught.value.errors
    assert error.field.split(".")[-1] == missing


@pytest.mark.parametrize("member", ["id", "status", "balance", "created_at"])
def test_create_and_update_refuse_members_that_the_server_sets(acme_core_client, acme, member):
    values = {"id": UNKNOWN, "status": "REGISTERED", "balance": "1"}
    value = values.get(member, "2026-01-01T00:00:00Z")
    with refused("invalid-request", 400):
        body = {"address": {"ledger": "INK", "address": MIXED, member: value}}
        acme_core_client("reward_addresses.create", body=body)
    assert acme.reward_addresses.list().items == []
    made = acme.reward_addresses.create(ledger="INK", address=MIXED)
    with pytest.raises(comptroller.InvalidRequest):
        acme_core_client("reward_addresses.update", {"id": made.id}, {"address": {member: value}})
    assert acme.reward_addresses.get(made.id) == made


@pytest.mark.parametrize("ledger", [ledger for ledger in LEDGERS if ledger != "INK"])
def test_the_group_must_be_on_the_same_ledger(acme, ledger):
    group = made_group(acme, ledger=ledger)
    with refused("ledger-mismatch", 400):
        acme.reward_addresses.create(ledger="INK", address=MIXED, payout_group_id=group.id)
    made = acme.reward_addresses.create(ledger="INK", address=MIXED)
    with refused("ledger-mismatch", 400):
        acme.reward_addresses.update(made.id, payout_group_id=group.id)
    assert acme.reward_addresses.list().items == [made]


def test_the_group_must_exist(acme):
    with refused("not-found", 404):
        acme.reward_addresses.create(ledger="INK", address=MIXED, payout_group_id=UNKNOWN)
    made = acme.reward_addresses.create(ledger="INK", address=MIXED)
    with refused("not-found", 404):
        acme.reward_addresses.update(made.id, payout_group_id=UNKNOWN)


@pytest.mark.parametrize("spelled", [MIXED, MIXED.lower(), "0x" + MIXED[2:].upper()])
def test_an_address_is_registered_once_on_a_ledger(acme, spelled):
    made = acme.reward_addresses.create(ledger="INK", address=MIXED.lower())
    with refused("already-exists", 409) as caught:
        acme.reward_addresses.create(ledger="INK", address=spelled)
    assert caught.value.existing == made.id
    assert ids(acme.reward_addresses.list()) == [made.id]


def test_a_taken_address_does_not_reveal_its_customer(acme, globex):
    made = acme.reward_addresses.create(ledger="INK", address=MIXED)
    with refused("already-exists", 409) as caught:
        globex.reward_addresses.create(ledger="INK", address=MIXED)
    assert caught.value.existing is None
    assert made.id not in str(caught.value)
    assert "acme" not in str(caught.value)


def test_one_address_may_be_on_several_ledgers(acme):
    evm_ledgers = [ledger for ledger in LEDGERS if ledger != "SOLANA"]
    for ledger in evm_ledgers:
        acme.reward_addresses.create(ledger=ledger, address=MIXED)
    assert len(acme.reward_addresses.list(address=MIXED)) == 4


def test_a_new_group_sets_the_address_to_pending(operator, acme):
    first, second = made_group(acme), made_group(acme)
    made = acme.reward_addresses.create(ledger="ETHEREUM", address=MIXED, payout_group_id=first.id)
    operator.reward_addresses.observe(made.id, status="REGISTERED")
    renamed = acme.reward_addresses.update(made.id, name="Cold")
    assert (renamed.name, renamed.status) == ("Cold", "REGISTERED")
    moved = acme.reward_addresses.update(made.id, payout_group_id=second.id)
    assert (moved.payout_group_id, moved.status) == (second.id, "PENDING")
    assert moved.name == "Cold"


def test_an_address_without_group_gains_one(acme):
    group = made_group(acme)
    made = acme.reward_addresses.create(ledger="ETHEREUM", address=MIXED)
    moved = acme.reward_addresses.update(made.id, payout_group_id=group.id)
    assert (moved.payout_group_id, moved.status) == (group.id, "PENDING")


@pytest.mark.parametrize(
    "body", [{"payout_group_id": None}, {"address": {"payout_group_id": None}}]
)
def test_an_update_cannot_clear_the_group(acme_core_client, acme, body):
    group = made_group(acme)
    made = acme.reward_addresses.create(ledger="ETHEREUM", address=MIXED, payout_group_id=group.id)
    with refused("invalid-request", 400):
        acme_core_client("reward_addresses.update", {"id": made.id}, body)
    assert acme.reward_addresses.get(made.id) == made


def test_an_update_cannot_change_the_ledger_or_the_address(acme_core_client, acme):
    made = acme.reward_addresses.create(ledger="ETHEREUM", address=MIXED)
    for body in ({"ledger": "INK"}, {"address": {"address": evm()}}, {"address": evm()}):
        with refused("invalid-request", 400):
            acme_core_client("reward_addresses.update", {"id": made.id}, body)
    assert acme.reward_addresses.get(made.id) == made


@pytest.mark.parametrize("status", ["REGISTERED", "UNREGISTERED", "SOMETHING_NEW"])
def test_the_operator_observes_any_status_of_an_open_set(operator, acme, status):
    made = acme.reward_addresses.create(ledger="INK", address=MIXED)
    operator.reward_addresses.observe(made.id, status=status)
    assert acme.reward_addresses.get(made.id).status == status


@pytest.mark.parametrize("id", [UNKNOWN, "no-uuid", ""])
def test_an_unknown_or_malformed_id_is_not_found(shared_operator, id):
    asked = shared_operator.reward_addresses
    for ask in (asked.get, asked.update, lambda name: asked.observe(name, status="X")):
        with refused("not-found", 404):
            ask(id)


def test_both_forms_of_a_body_are_equal(acme_core_client):
    flat = acme_core_client("reward_addresses.create", body={"ledger": "INK", "address": MIXED})
    members = {"ledger": "XLAYER", "address": MIXED}
    wrapped = acme_core_client("reward_addresses.create", body={"address": members})
    assert flat["address"] == wrapped["address"] == MIXED
    for body in ({"name": "n"}, {"address": {"name": "m"}}, {"address": {"id": flat["id"]}}, {}):
        answer = acme_core_client("reward_addresses.update", {"id": flat["id"]}, body)
        assert answer["id"] == flat["id"]
    assert answer["name"] == "m"


@pytest.mark.parametrize("other", [UNKNOWN, NUMBERED + "0"])
def test_an_id_in_the_body_must_match_the_path(acme_core_client, other):
    made = acme_core_client("reward_addresses.create", body={"ledger": "INK", "address": MIXED})
    with refused("id-mismatch", 400):
        body = {"address": {"id": other, "name": "n"}}
        acme_core_client("reward_addresses.update", {"id": made["id"]}, body)
    assert acme_core_client("reward_addresses.get", {"id": made["id"]}) == made
    same = {"address": {"id": made["id"].upper(), "name": "n"}}
    assert acme_core_client("reward_addresses.update", {"id": made["id"]}, same)["name"] == "n"


@pytest.fixture(scope="module")
def listed(shared_open_as):
    """Four addresses of acme, a second apart, the first two in a group; one of globex."""
    operator = shared_open_as()
    home = NUMBERED + "a"
    load(operator, "payout-groups", group(id=home), customer_id="acme")
    lines = [
        address(address=MIXED, payout_group_id=home),
        address(payout_group_id=home),
        address(ledger="INK", address=MIXED),
        address(ledger="SOLANA", address=SUN),
    ]
    for second, line in enumerate(lines):
        line |= {"id": NUMBERED + str(second), "created_at": at(second)}
    load(operator, "reward-addresses", *lines, customer_id="acme")
    load(operator, "reward-addresses", address(id=NUMBERED + "9"), customer_id="globex")
    return shared_open_as(customer="acme")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "3210"),
        ({"order": "ASC"}, "0123"),
        ({"ledger": "ETHEREUM"}, "10"),
        ({"ledger": "ARBITRUM_ONE"}, ""),
        ({"address": MIXED}, "20"),
        ({"address": MIXED.lower()}, "20"),
        ({"address": "0x" + MIXED[2:].upper(), "ledger": "INK"}, "2"),
        ({"address": SUN}, "3"),
        ({"address": SUN.lower()}, ""),
        ({"address": MIXED, "ledger": "SOLANA"}, ""),
        ({"id": NUMBERED + "2"}, "2"),
        ({"id": NUMBERED + "9"}, ""),
        ({"payout_group_id": NUMBERED + "a"}, "10"),
        ({"payout_group_id": NUMBERED + "A"}, "10"),
        ({"payout_group_id": NUMBERED + "b"}, ""),
        ({"payout_group_id": NUMBERED + "a", "address": MIXED}, "0"),
        ({"customer_id": "acme", "ledger": "INK"}, "2"),
    ],
    ids=repr,
)
def test_the_list_filters(listed, filters, expected):
    assert "".join(id[-1] for id in ids(listed.reward_addresses.list(**filters))) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", "no-uuid"),
        ("ledger", "BITCOIN"),
        ("payout_group_id", "x"),
        ("include_balance", "yes"),
    ],
)
def test_the_list_of_addresses_refuses_malformed_values(listed, name, value):
    with refused("invalid-request", 400) as caught:
        listed.reward_addresses.list(**{name: value})
    assert [error.field for error in caught.value.errors] == [name]
