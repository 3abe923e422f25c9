"""Payout groups: creation, updates, observations and lists."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from lines import LEDGERS, address_on, at, claim, evm, group, ids, load, made_group, refused, solana

WHOLE = {
    "ledger": "ETHEREUM",
    "asset_type": "ETH",
    "jurisdiction": "CH",
    "name": "North",
    "claimer_address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
}
NUMBERED = "01900000-0000-7000-8000-00000000000"
UNKNOWN = NUMBERED + "f"


@pytest.mark.parametrize("ledger", LEDGERS)
def test_a_new_group_begins_unregistered_with_balance_zero(acme, ledger):
    before = datetime.now(UTC)
    claimer = address_on(ledger)
    made = made_group(acme, ledger=ledger, claimer_address=claimer)
    assert made.onchain_status == "UNREGISTERED"
    assert made.balance == Decimal(0)
    assert made.claimer_address.lower() == claimer.lower()
    assert made.manager_address == made.destination_address == made.claimer_address
    assert (made.ledger, made.asset_type, made.jurisdiction) == (ledger, "ETH", "CH")
    unset = [made.schedule_type, made.rate_id, made.onchain_group_id, made.balance_at]
    assert [*unset, made.last_claim_all_at] == [None] * 5
    assert before <= made.created_at <= datetime.now(UTC)
    assert acme.payout_groups.get(made.id) == made


def test_a_generated_id_is_a_lower_case_uuid_of_version_7(acme):
    made = made_group(acme)
    assert UUID(made.id).version == 7
    assert made.id == str(UUID(made.id))


def test_the_schedule_type_is_stored_and_shown(acme):
    made = made_group(acme, schedule_type="DAILY")
    assert made.schedule_type == "DAILY"
    assert acme.payout_groups.get(made.id).schedule_type == "DAILY"


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("ledger", "BITCOIN"),
        ("ledger", "ethereum"),
        ("schedule_type", "WEEKLY"),
        ("schedule_type", "daily"),
        ("asset_type", ""),
        ("jurisdiction", "x" * 129),
        ("name", ""),
        ("name", "x" * 257),
        ("claimer_address", "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
        ("claimer_address", "So11111111111111111111111111111111111111112"),
    ],
)
def test_create_refuses_a_malformed_member_and_names_it(acme, member, value):
    with refused("invalid-request", 400) as caught:
        acme.payout_groups.create(**WHOLE | {member: value})
    assert [error.field for error in caught.value.errors] == [member]
    assert acme.payout_groups.list().items == []


@pytest.mark.parametrize("missing", WHOLE)
def test_create_requires_five_members(acme_core_client, missing):
    body = {name: value for name, value in WHOLE.items() if name != missing}
    with refused("invalid-request", 400) as caught:
        acme_core_client("payout_groups.create", body=body)
    assert [error.field for error in caught.value.errors] == [missing]


OBSERVED = {
    "onchain_status": "REGISTERED",
    "balance": "1",
    "balance_at": "2026-01-01T00:00:00Z",
    "rate_id": "r",
    "onchain_group_id": "7",
    "last_claim_all_at": "2026-01-01T00:00:00Z",
}
SERVER_OWNED = OBSERVED | {
    "id": UNKNOWN,
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T00:00:00Z",
}


@pytest.mark.parametrize("member", SERVER_OWNED)
def test_create_refuses_members_that_the_server_sets(acme_core_client, member):
    with refused("invalid-request", 400) as caught:
        acme_core_client("payout_groups.create", body=WHOLE | {member: SERVER_OWNED[member]})
    assert member in caught.value.detail
    assert acme_core_client("payout_groups.list")["items"] == []


@pytest.mark.parametrize("member", [*OBSERVED, "ledger", "claimer_address", "created_at"])
def test_update_refuses_other_members(acme_core_client, acme, member):
    made = made_group(acme)
    value = (SERVER_OWNED | WHOLE)[member]
    with refused("invalid-request", 400):
        acme_core_client("payout_groups.update", {"id": made.id}, {"name": "South", member: value})
    assert acme.payout_groups.get(made.id) == made


@pytest.mark.parametrize("given", [{"name": "South"}, {"jurisdiction": "LI"}])
def test_update_changes_only_the_given_members(acme, given):
    before = made_group(acme)
    after = acme.payout_groups.update(before.id, **given)
    expected = {"name": before.name, "jurisdiction": before.jurisdiction} | given
    assert {name: getattr(after, name) for name in expected} == expected
    assert after.updated_at > before.updated_at
    assert (after.created_at, after.claimer_address) == (before.created_at, before.claimer_address)
    assert acme.payout_groups.get(before.id) == after


def test_an_update_without_members_changes_nothing(acme):
    before = made_group(acme)
    assert acme.payout_groups.update(before.id) == before


@pytest.mark.parametrize("id", [UNKNOWN, "no-uuid", "", "0" * 36])
@pytest.mark.parametrize("operation", ["get", "update"])
def test_an_unknown_or_malformed_id_is_not_found(shared_acme, operation, id):
    with refused("not-found", 404):
        getattr(shared_acme.payout_groups, operation)(id)


def test_a_uuid_is_accepted_in_any_case(acme):
    made = made_group(acme)
    assert acme.payout_groups.get(made.id.upper()) == made
    assert acme.payout_groups.get(UUID(made.id)) == made
    assert ids(acme.payout_groups.list(id=made.id.upper())) == [made.id]


def test_the_operator_observes_and_clients_only_read(operator, acme):
    made = made_group(acme)
    operator.payout_groups.observe(
        made.id,
        onchain_status="SOME_NEWER_WORD",
        balance=Decimal("12.000000000000000001"),
        balance_at=at(1),
        rate_id="rate 1",
        onchain_group_id="7",
        last_claim_all_at=at(2),
    )
    seen = acme.payout_groups.get(made.id)
    assert seen.onchain_status == "SOME_NEWER_WORD"
    assert seen.balance == Decimal("12.000000000000000001")
    assert (seen.balance_at, seen.last_claim_all_at) == (at(1), at(2))
    assert (seen.rate_id, seen.onchain_group_id) == ("rate 1", "7")
    assert (seen.name, seen.jurisdiction) == (made.name, made.jurisdiction)


def test_observing_one_member_changes_no_other(operator):
    made = made_group(operator)
    operator.payout_groups.observe(made.id, balance="5", balance_at=at(1))
    seen = operator.payout_groups.observe(made.id, onchain_status="REGISTERED")
    assert (seen.balance, seen.balance_at) == (Decimal(5), at(1))


@pytest.mark.parametrize("balance", ["-1", "1e3", "NaN", "", "1."])
def test_an_invalid_balance_of_a_group_is_refused(operator, balance):
    made = made_group(operator)
    with refused("invalid-request", 400):
        operator.payout_groups.observe(made.id, balance=balance)
    assert operator.payout_groups.get(made.id) == made


CONFIRMED = {"onchain_status": "CONFIRMED", "confirmed_at": at(days=3)}


@pytest.mark.parametrize("group_first", [True, False])
@pytest.mark.parametrize(
    ("claims", "raised"),
    [
        ([CONFIRMED], at(days=3)),
        ([CONFIRMED, {**CONFIRMED, "confirmed_at": at(days=2)}], at(days=3)),
        ([CONFIRMED, {**CONFIRMED, "confirmed_at": at(days=4)}], at(days=4)),
        ([{**CONFIRMED, "claim_type": "CLAIM_SOME"}], None),
        ([{"onchain_status": "SUBMITTED"}], None),
        ([{"onchain_status": "FAILED", "confirmed_at": at(days=3)}], None),
        ([{"onchain_status": "PENDING"}], None),
    ],
)
def test_a_confirmed_claim_all_raises_last_claim_all_at(operator, group_first, claims, raised):
    line = group()
    steps = [("payout-groups", [line]), ("claims", [])]
    steps[1] = ("claims", [claim(payout_group_id=line["id"], **members) for members in claims])
    for kind, lines in steps if group_first else reversed(steps):
        load(operator, kind, *lines)
    assert operator.payout_groups.get(line["id"]).last_claim_all_at == raised


def test_confirming_a_claim_raises_last_claim_all_at_and_nothing_else(operator):
    made = made_group(operator, customer_id="default")
    for moment in (at(days=3), at(days=2)):
        line = claim(payout_group_id=made.id, onchain_status="SUBMITTED")
        load(operator, "claims", line)
        operator.claims.confirm(line["id"], at=moment)
        assert operator.payout_groups.get(made.id).last_claim_all_at == at(days=3)
    seen = operator.payout_groups.get(made.id)
    changed = [n for n in made.__struct_fields__ if getattr(seen, n) != getattr(made, n)]
    assert changed == ["last_claim_all_at"]


MIXED = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
SUN = "So11111111111111111111111111111111111111112"


@pytest.fixture(scope="module")
def listed(shared_open_as):
    """Four groups of acme, a second apart, and one of globex that also matches."""
    operator = shared_open_as()
    lines = [
        group(asset_type="ETH", jurisdiction="CH", claimer_address=MIXED, name="a%_1"),
        group(ledger="INK", asset_type="ETH", jurisdiction="LI", name="a%x", onchain_status="A"),
        group(ledger="SOLANA", asset_type="SOL", jurisdiction="CH", name="Ax", claimer_address=SUN),
        group(asset_type="eth", name="e\u0301t", onchain_status="B"),
    ]
    for second, line in enumerate(lines):
        line |= {"id": NUMBERED + str(second), "created_at": at(second)}
    load(operator, "payout-groups", *lines, customer_id="acme")
    load(operator, "payout-groups", lines[0] | {"id": NUMBERED + "9"}, customer_id="globex")
    return shared_open_as(customer="acme")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "3210"),
        ({"order": "ASC"}, "0123"),
        ({"id": NUMBERED + "1"}, "1"),
        ({"id": NUMBERED + "9"}, ""),
        ({"ledger": "ETHEREUM"}, "30"),
        ({"ledger": "XLAYER"}, ""),
        ({"asset_type": "ETH"}, "10"),
        ({"jurisdiction": "CH"}, "20"),
        ({"jurisdiction": "FR"}, ""),
        ({"claimer_address": MIXED}, "0"),
        ({"claimer_address": MIXED.lower()}, "0"),
        ({"claimer_address": "0x" + MIXED[2:].upper()}, "0"),
        ({"claimer_address": SUN}, "2"),
        ({"claimer_address": SUN.lower()}, ""),
        ({"onchain_status": "A"}, "1"),
        ({"onchain_status": ["A", "B", "C"]}, "31"),
        ({"name_prefix": "a"}, "10"),
        ({"name_prefix": "a%"}, "10"),
        ({"name_prefix": "a%_"}, "0"),
        ({"name_prefix": "a_"}, ""),
        ({"name_prefix": "%"}, ""),
        ({"name_prefix": "A"}, "2"),
        ({"name_prefix": "e"}, "3"),
        ({"name_prefix": "e\u0301"}, "3"),
        ({"name_prefix": "\u00e9"}, ""),
        ({"name_prefix": "a%_1"}, "0"),
        ({"name_prefix": "a%_12"}, ""),
        ({"ledger": "ETHEREUM", "asset_type": "ETH", "jurisdiction": "CH"}, "0"),
        ({"ledger": "INK", "asset_type": "SOL"}, ""),
        ({"customer_id": "acme", "ledger": "SOLANA"}, "2"),
    ],
    ids=ascii,
)
def test_the_list_filters(listed, filters, expected):
    assert "".join(id[-1] for id in ids(listed.payout_groups.list(**filters))) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [("id", "no-uuid"), ("ledger", "BITCOIN"), ("onchain_status", "no word"), ("name_prefix", "")],
)
def test_the_list_of_addresses_refuses_malformed_values(listed, name, value):
    with refused("invalid-request", 400) as caught:
        listed.payout_groups.list(**{name: value})
    assert [error.field for error in caught.value.errors] == [name]


def test_case_matters_for_groups_claimed_on_solana(acme):
    claimer = solana()
    made = made_group(acme, ledger="SOLANA", claimer_address=claimer)
    assert made.claimer_address == claimer
    assert ids(acme.payout_groups.list(claimer_address=claimer)) == [made.id]
    assert acme.payout_groups.list(claimer_address=claimer.swapcase()).items == []


def test_groups_may_share_a_claimer(acme):
    claimer = evm()
    both = {made_group(acme, claimer_address=claimer).id for _ in range(2)}
    assert set(ids(acme.payout_groups.list(claimer_address=claimer))) == both
