"""Claims: transitions of their status, loads of one line, and the filters of their list."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from examples import EVM_ADDRESSES, HASH, SOLANA_ADDRESS
from lines import at, claim, fresh, group, ids, load, refused

STATES = ("PENDING", "SUBMITTED", "CONFIRMED", "FAILED")
NUMBERED = "01900000-0000-7000-8000-00000000000"

# Status, transition, and the resulting status; any other transition is refused.
MOVES = {
    ("PENDING", "submit"): "SUBMITTED",
    ("PENDING", "fail"): "FAILED",
    ("SUBMITTED", "confirm"): "CONFIRMED",
    ("SUBMITTED", "fail"): "FAILED",
}
NEEDED = {"submit": {"tx_hash": "0xabc"}, "confirm": {}, "fail": {"error_message": "reverted"}}

# From, to: a load may advance a status, but never set it back or change a final one.
FORWARD = {
    ("PENDING", "SUBMITTED"),
    ("PENDING", "CONFIRMED"),
    ("PENDING", "FAILED"),
    ("SUBMITTED", "CONFIRMED"),
    ("SUBMITTED", "FAILED"),
}


@pytest.mark.parametrize("move", NEEDED)
@pytest.mark.parametrize("state", STATES)
def test_a_claim_makes_only_permitted_transitions(shared_operator, state, move):
    claims = shared_operator.claims
    before = claims.put(claim(onchain_status=state))
    wanted = MOVES.get((state, move))
    if wanted is None:
        with refused("illegal-transition", 409):
            getattr(claims, move)(before.id, **NEEDED[move])
        assert claims.get(before.id) == before
    else:
        after = getattr(claims, move)(before.id, **NEEDED[move])
        assert after.onchain_status == wanted
        assert after.updated_at > before.updated_at
        assert claims.get(before.id) == after


def test_all_timestamps_of_a_claim_are_recorded(operator):
    claims, made = operator.claims, operator.claims.put(claim(amount="2.50"))
    before = datetime.now(UTC)
    sent = claims.submit(made.id, tx_hash="0xAbC")
    assert sent.tx_hash == "0xAbC"
    assert before <= sent.submitted_at <= datetime.now(UTC)
    assert sent.confirmed_at is None
    done = claims.confirm(made.id)
    assert sent.submitted_at <= done.confirmed_at <= datetime.now(UTC)
    assert (done.tx_hash, done.submitted_at) == (sent.tx_hash, sent.submitted_at)
    assert (str(done.amount), done.created_at) == ("2.50", made.created_at)
    assert done.error_message is None


def test_a_transition_may_name_its_time(operator):
    claims, made = operator.claims, operator.claims.put(claim())
    assert claims.submit(made.id, tx_hash="t", at=at(5)).submitted_at == at(5)
    # The order of the timestamps of a record is not checked.
    assert claims.confirm(made.id, at=at(-5)).confirmed_at == at(-5)


@pytest.mark.parametrize("state", ["PENDING", "SUBMITTED"])
def test_a_failed_claim_has_an_error_message(operator, state):
    made = operator.claims.put(claim(onchain_status=state))
    failed = operator.claims.fail(made.id, error_message="out of gas ⛽")
    assert failed.error_message == "out of gas ⛽"
    assert failed.confirmed_at is None


@pytest.mark.parametrize(
    ("operation", "body"),
    [("claims.submit", {}), ("claims.fail", {}), ("claims.submit", {"at": "x"})],
)
def test_a_transition_without_a_required_member_is_refused(core_client, operator, operation, body):
    made = operator.claims.put(claim())
    with refused("invalid-request", 400):
        core_client(operation, {"id": made.id}, body)
    assert operator.claims.get(made.id) == made


@pytest.mark.parametrize("tx_hash", ["", "x" * 129, "a\x00b"])
def test_a_malformed_transaction_hash_is_refused(shared_operator, tx_hash):
    made = shared_operator.claims.put(claim())
    with refused("invalid-request", 400):
        shared_operator.claims.submit(made.id, tx_hash=tx_hash)


@pytest.mark.parametrize("id", ["nobody", "a b", ""])
def test_an_unknown_or_malformed_claim_is_not_found(shared_operator, id):
    claims = shared_operator.claims
    with refused("not-found", 404):
        claims.get(id)
    for move, needed in NEEDED.items():
        with refused("not-found", 404):
            getattr(claims, move)(id, **needed)


@pytest.mark.parametrize("to", STATES)
@pytest.mark.parametrize("state", STATES)
def test_a_line_may_advance_a_claim_but_never_set_it_back(shared_operator, state, to):
    line = claim(onchain_status=state)
    before = shared_operator.claims.put(line)
    later = line | {"onchain_status": to, "updated_at": at(60)}
    if state == to or (state, to) in FORWARD:
        after = shared_operator.claims.put(later)
        assert (after.onchain_status, after.updated_at) == (to, at(60))
    else:
        with refused("illegal-transition", 409):
            shared_operator.claims.put(later)
        assert shared_operator.claims.get(before.id) == before


def test_a_loaded_claim_may_lack_members_of_a_transition(operator):
    for state in STATES:
        made = operator.claims.put(claim(onchain_status=state))
        assert made.onchain_status == state
        assert (made.tx_hash, made.error_message, made.confirmed_at) == (None, None, None)
        assert made.updated_at == made.created_at


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, None),
        ({"amount": "1.50"}, None),
        ({"amount": "1.5000000000"}, None),
        ({"created_at": "2026-01-01T01:00:00+01:00"}, None),
        ({"asset_type": "ETH"}, "already-exists"),
        ({"amount": "1.6"}, "already-exists"),
        ({"asset_type": "ETH", "updated_at": at(-1)}, "already-exists"),
        ({"created_at": at(1)}, "already-exists"),
        ({"created_at": at(1), "updated_at": at(2)}, "already-exists"),
        ({"customer_id": "globex", "updated_at": at(2)}, "already-exists"),
    ],
    ids=repr,
)
def test_a_put_with_the_same_id(operator, change, code):
    line = claim()
    before = operator.claims.put(line)
    if code is None:
        answer = operator.claims.put(line | change)
        assert answer == before
        assert str(answer.amount) == "1.5"
    else:
        with refused(code, 409):
            operator.claims.put(line | change)
    assert operator.claims.get(line["id"]) == before


@pytest.mark.parametrize(
    "missing", ["id", "payout_group_id", "claim_type", "onchain_status", "amount", "created_at"]
)
def test_a_line_must_have_six_members(operator, missing):
    line = claim()
    del line[missing]
    with refused("invalid-request", 400) as caught:
        operator.claims.put(line)
    assert [error.field for error in caught.value.errors] == [missing]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("amount", "-1"),
        ("amount", "-0.000000000000000001"),
        ("amount", 1.5),
        ("onchain_status", "DONE"),
        ("claim_type", "claim_all"),
        ("payout_group_id", "no-uuid"),
        ("created_at", datetime(2026, 1, 1)),
        ("addresses", "one"),
        ("addresses", [""]),
        ("tx_hash", ""),
    ],
)
def test_a_line_with_a_malformed_member_is_refused(shared_operator, member, value):
    line = claim(**{member: value})
    with refused("invalid-request", 400) as caught:
        shared_operator.claims.put(line)
    assert member in caught.value.errors[0].field
    with refused("not-found"):
        shared_operator.claims.get(line["id"])


@pytest.mark.parametrize("word", ["CLAIM_ALL", "CLAIM_SOME_DAY"])
def test_a_claim_type_is_any_value_of_an_open_set(shared_operator, word):
    assert shared_operator.claims.put(claim(claim_type=word)).claim_type == word


def test_a_claim_of_a_missing_group_gets_its_jurisdiction_with_the_group(operator):
    line = operator.claims.put(claim(payout_group_id=NUMBERED + "1"))
    assert operator.claims.list(jurisdiction="CH").items == []
    load(operator, "payout-groups", group(id=NUMBERED + "1", jurisdiction="CH"))
    assert operator.claims.list(jurisdiction="CH").items == [line]


def test_jurisdiction_follows_the_group(operator):
    home = group(id=NUMBERED + "1", jurisdiction="CH")
    load(operator, "payout-groups", home)
    made = operator.claims.put(claim(payout_group_id=home["id"]))
    operator.payout_groups.update(home["id"], jurisdiction="LI")
    assert operator.claims.list(jurisdiction="CH").items == []
    assert ids(operator.claims.list(jurisdiction="LI")) == [made.id]
    later = datetime.now(UTC).replace(year=9999)
    load(operator, "payout-groups", home | {"jurisdiction": "FR", "updated_at": later})
    assert ids(operator.claims.list(jurisdiction="FR")) == [made.id]


@pytest.mark.parametrize("group_first", [True, False])
def test_a_claim_and_its_group_must_have_one_customer(operator, group_first):
    steps = [
        ("payout-groups", [group(id=NUMBERED + "1")], "acme"),
        ("claims", [claim(payout_group_id=NUMBERED + "1")], "globex"),
    ]
    (kind, lines, whose), second = steps if group_first else reversed(steps)
    load(operator, kind, *lines, customer_id=whose)
    result = operator.load(second[0], second[1], customer_id=second[2])
    assert (result.committed, result.rejected) == (False, 1)


# The digits of two packed addresses, whose middle is no address.
STRADDLING = "0x" + "12" * 20 + "34" * 20


@pytest.fixture(scope="module")
def listed(shared_open_as):
    """Four claims of acme, a second apart, in two groups; one of globex."""
    operator = shared_open_as()
    homes = [NUMBERED + "a", NUMBERED + "b"]
    for home, where in zip(homes, ("CH", "LI"), strict=True):
        load(operator, "payout-groups", group(id=home, jurisdiction=where), customer_id="acme")
    lines = [
        claim(payout_group_id=homes[0], blockchain="ethereum", onchain_status="PENDING"),
        claim(payout_group_id=homes[0], blockchain="ink", onchain_status="SUBMITTED"),
        claim(payout_group_id=homes[1], blockchain="ethereum", onchain_status="CONFIRMED"),
        claim(payout_group_id=NUMBERED + "c", onchain_status="FAILED"),
    ]
    sent = [
        {"tx_hash": HASH, "addresses": [EVM_ADDRESSES[0].lower(), EVM_ADDRESSES[1].lower()]},
        {"tx_hash": HASH, "addresses": [EVM_ADDRESSES[1], SOLANA_ADDRESS], "asset_type": "RPL"},
        {"tx_hash": "a hash", "addresses": [], "claim_schedule_id": "nightly"},
        {"addresses": [STRADDLING[:42], "0x" + STRADDLING[42:]], "asset_type": "RPL"},
    ]
    for second, (line, more) in enumerate(zip(lines, sent, strict=True)):
        line |= {"id": str(second), "created_at": at(second), "updated_at": at(days=second)}
        line |= more
    load(operator, "claims", *lines, customer_id="acme")
    load(operator, "claims", claim(id=fresh("9"), blockchain="ethereum"), customer_id="globex")
    return shared_open_as(customer="acme")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "3210"),
        ({"order": "ASC"}, "0123"),
        ({"payout_group_id": NUMBERED + "A"}, "10"),
        ({"payout_group_id": NUMBERED + "d"}, ""),
        ({"statuses": "PENDING"}, "0"),
        ({"statuses": ["PENDING", "FAILED", "CONFIRMED"]}, "320"),
        ({"statuses": list(STATES)}, "3210"),
        ({"chain": "ethereum"}, "20"),
        ({"chain": "ETHEREUM"}, ""),
        ({"jurisdiction": "CH"}, "10"),
        ({"jurisdiction": "LI"}, "2"),
        ({"start_time": at(1)}, "321"),
        ({"start_time": at(1.000001)}, "32"),
        ({"end_time": at(1)}, "10"),
        ({"end_time": at(0.999999)}, "0"),
        ({"start_time": at(1), "end_time": at(2)}, "21"),
        ({"start_time": at(2), "end_time": at(1)}, ""),
        ({"start_time": at(1), "end_time": at(1)}, "1"),
        ({"id": "2"}, "2"),
        ({"id": "7"}, ""),
        ({"chain": "ethereum", "jurisdiction": "CH", "statuses": "PENDING"}, "0"),
        ({"chain": "ink", "jurisdiction": "LI"}, ""),
        ({"customer_id": "acme", "statuses": "FAILED"}, "3"),
        ({"tx_hash": HASH}, "10"),
        ({"tx_hash": HASH, "chain": "ink"}, "1"),
        ({"tx_hash": HASH.upper()}, "10"),
        ({"tx_hash": "a hash"}, "2"),
        ({"address": EVM_ADDRESSES[0]}, "0"),
        ({"address": EVM_ADDRESSES[1].upper()}, "10"),
        ({"address": EVM_ADDRESSES[1].lower(), "asset_type": "RPL"}, "1"),
        ({"address": EVM_ADDRESSES[2]}, ""),
        ({"address": SOLANA_ADDRESS}, "1"),
        ({"address": SOLANA_ADDRESS.lower()}, ""),
        ({"address": "0x" + STRADDLING[22:62]}, ""),
        ({"address": "0x" + STRADDLING[42:]}, "3"),
        ({"asset_type": "RPL"}, "31"),
        ({"asset_type": "rpl"}, ""),
        ({"claim_schedule_id": "nightly"}, "2"),
        ({"claim_schedule_id": "weekly"}, ""),
        ({"updated_at_gte": at(days=1)}, "321"),
        ({"updated_at_gt": at(days=1)}, "32"),
        ({"updated_at_lt": at(days=1)}, "0"),
        ({"updated_at_lte": at(days=1)}, "10"),
        ({"updated_at_eq": at(days=1)}, "1"),
        ({"updated_at_gte": at(days=1), "updated_at_lt": at(days=2), "tx_hash": HASH}, "1"),
    ],
    ids=repr,
)
def test_the_list_filters(listed, filters, expected):
    assert "".join(ids(listed.claims.list(**filters))) == expected
    if "order" not in filters:
        assert listed.claims.stream(columns=["id"], **filters).to_polars()["id"].to_list() == [
            *reversed(expected)
        ]


@pytest.mark.parametrize(
    ("name", "value"), [("statuses", "DONE"), ("payout_group_id", "x"), ("start_time", "yesterday")]
)
def test_the_list_of_addresses_refuses_malformed_values(listed, name, value):
    with refused("invalid-request", 400) as caught:
        listed.claims.list(**{name: value})
    assert [error.field for error in caught.value.errors] == [name]


def test_amounts_sum_exactly_in_any_order(operator):
    amounts = ["0.1", "0.2", "99999999999999999999.999999999999999999", "0.000000000000000001"]
    load(operator, "claims", *[claim(amount=amount) for amount in amounts])
    for order in ("ASC", "DESC"):
        total = sum((c.amount for c in operator.claims.list(order=order)), Decimal(0))
        assert total == sum(map(Decimal, amounts), Decimal(0))
