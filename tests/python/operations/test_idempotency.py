"""Retries are safe: the same request with the same key is executed once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import comptroller
import pytest
from comptroller._core import Principal, Store
from lines import address, at, claim, control, group, identity, load, orchestration, refused

MIXED = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
NUMBERED = "01900000-0000-7000-8000-00000000000"
GROUP, ADDRESS = NUMBERED + "1", NUMBERED + "2"
NEW_CLAIM, NEW_MOVE = claim(id="new"), orchestration(id="new")

# Every write twice: the same request, and a different one.
WRITES: dict[str, Any] = {
    "identities.put": lambda s, k, x: s.identities.put(id="i", ref_id=x, idempotency_key=k),
    "identities.update": lambda s, k, x: s.identities.update(
        "i", metadata={"x": x}, idempotency_key=k
    ),
    "controls.create": lambda s, k, x: s.controls.create(
        identity_id="i", type="CLOSED", reason_code="X", reason=x, idempotency_key=k
    ),
    "controls.delete": lambda s, k, x: s.controls.delete("c", reason=x, idempotency_key=k),
    "orchestrations.put": lambda s, k, x: s.orchestrations.put(
        NEW_MOVE | {"ref_id": x}, idempotency_key=k
    ),
    "payout_groups.create": lambda s, k, x: s.payout_groups.create(
        ledger="INK",
        asset_type="A",
        jurisdiction="CH",
        name=x,
        claimer_address=MIXED,
        idempotency_key=k,
    ),
    "payout_groups.update": lambda s, k, x: s.payout_groups.update(
        GROUP, name=x, idempotency_key=k
    ),
    "payout_groups.observe": lambda s, k, x: s.payout_groups.observe(
        GROUP, rate_id=x, idempotency_key=k
    ),
    "reward_addresses.create": lambda s, k, x: s.reward_addresses.create(
        ledger="INK", address=MIXED, name=x, idempotency_key=k
    ),
    "reward_addresses.update": lambda s, k, x: s.reward_addresses.update(
        ADDRESS, name=x, idempotency_key=k
    ),
    "reward_addresses.observe": lambda s, k, x: s.reward_addresses.observe(
        ADDRESS, status=x, idempotency_key=k
    ),
    "balances.record": lambda s, k, x: s.balances.record(
        address_id=ADDRESS, balance="1", at=at(ord(x)), idempotency_key=k
    ),
    "claims.put": lambda s, k, x: s.claims.put(NEW_CLAIM | {"tx_hash": x}, idempotency_key=k),
    "claims.submit": lambda s, k, x: s.claims.submit("pending", tx_hash=x, idempotency_key=k),
    "claims.confirm": lambda s, k, x: s.claims.confirm(
        "submitted", at=at(ord(x)), idempotency_key=k
    ),
    "claims.fail": lambda s, k, x: s.claims.fail("submitted", error_message=x, idempotency_key=k),
}


@pytest.fixture(scope="module")
def furnish_template():
    """Fills stores with the records that the writes refer to."""

    def furnish_store(operator):
        load(operator, "identities", identity(id="i"))
        load(operator, "controls", control(id="c", identity_id="i"))
        load(operator, "payout-groups", group(id=GROUP))
        load(operator, "reward-addresses", address(id=ADDRESS))
        load(operator, "claims", claim(id="pending"))
        load(operator, "claims", claim(id="submitted", onchain_status="SUBMITTED"))

    return furnish_store


def everything(service: comptroller.Service) -> list[Any]:
    resources = ("identities", "orchestrations", "payout_groups", "reward_addresses", "claims")
    shown = [getattr(service, resource).list().items for resource in resources]
    return [*shown, service.controls.list(include_deleted=True).items, service.balances.list()]


@pytest.mark.parametrize("operation", WRITES)
def test_the_same_request_again_is_replayed(operator, operation):
    ask = WRITES[operation]
    first = ask(operator, "key", "A")
    after = everything(operator)
    assert ask(operator, "key", "A") == first
    assert everything(operator) == after


@pytest.mark.parametrize("operation", WRITES)
def test_another_request_with_the_key_is_refused(operator, operation):
    ask = WRITES[operation]
    ask(operator, "key", "A")
    after = everything(operator)
    with refused("idempotency-key-reused", 422) as caught:
        ask(operator, "key", "B")
    assert isinstance(caught.value, comptroller.InvalidRequest)
    assert everything(operator) == after


def test_a_key_belongs_to_one_operation(operator):
    for operation in ("payout_groups.create", "reward_addresses.create", "claims.submit"):
        WRITES[operation](operator, "key", "A")
    assert operator.claims.get("pending").onchain_status == "SUBMITTED"


def test_a_key_belongs_to_one_customer(acme, globex, operator):
    made = [
        service.payout_groups.create(
            ledger="INK",
            asset_type="A",
            jurisdiction="CH",
            name=name,
            claimer_address=MIXED,
            idempotency_key="key",
        )
        for service, name in ((acme, "A"), (globex, "B"), (operator, "C"))
    ]
    assert [group.name for group in made] == ["A", "B", "C"]


def test_a_failed_request_leaves_the_key_free(operator):
    submit = operator.claims.submit
    with refused("not-found"):
        submit("nobody", tx_hash="t", idempotency_key="key")
    with refused("illegal-transition"):
        submit("submitted", tx_hash="t", idempotency_key="key")
    with refused("invalid-request"):
        submit("pending", tx_hash="", idempotency_key="key")
    assert submit("pending", tx_hash="t", idempotency_key="key").tx_hash == "t"


def test_the_first_response_is_replayed_even_after_a_change(operator):
    first = operator.payout_groups.update(GROUP, name="A", idempotency_key="key")
    operator.payout_groups.update(GROUP, name="B")
    assert operator.payout_groups.update(GROUP, name="A", idempotency_key="key") == first
    assert operator.payout_groups.get(GROUP).name == "B"


def test_a_key_outlives_the_service(store_path):
    def make() -> comptroller.PayoutGroup:
        with comptroller.open(store_path) as service:
            return WRITES["payout_groups.create"](service, "key", "A")

    assert make() == make()


@pytest.mark.parametrize("key", ["a", "x" * 255, "!~", "a b"])
def test_a_key_is_1_to_255_printable_characters(operator, key):
    first = WRITES["payout_groups.create"](operator, key, "A")
    assert WRITES["payout_groups.create"](operator, key, "A") == first


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "a\x00", "\x7f", "\t"])
def test_any_other_key_is_refused(operator, key):
    with refused("invalid-request", 400):
        WRITES["payout_groups.create"](operator, key, "A")
    assert [group.id for group in operator.payout_groups.list()] == [GROUP]


@pytest.fixture
def store(store_path):
    opened = Store(str(store_path))
    yield opened
    opened.close()


def test_a_replay_is_marked(store):
    body = json.dumps({"id": "a"}).encode()
    asked = (Principal(), "identities.put", [], body, "key")
    first, was_replayed = store.call(*asked)
    again, is_replayed = store.call(*asked)
    assert (was_replayed, is_replayed) == (False, True)
    assert again == first


@pytest.mark.parametrize(
    ("operation", "first", "second"),
    [
        ("identities.put", '{"id":"a","ref_id":"r"}', ' { "ref_id" : "\\u0072", "id":"a" } '),
        (
            "reward_addresses.create",
            f'{{"ledger":"INK","address":"{MIXED}"}}',
            f'{{"address":{{"address":"{MIXED}","ledger":"INK"}}}}',
        ),
        (
            "balances.record",
            f'{{"address_id":"{ADDRESS}","balance":"1","at":"2026-01-01T00:00:00Z"}}',
            f'{{"at":"2026-01-01T01:00:00.0+01:00","balance":"1","address_id":"{ADDRESS}"}}',
        ),
        (
            "balances.record",
            f'{{"address_id":"{ADDRESS}","balance":"1.50","at":"2026-01-01T00:00:00Z"}}',
            f'{{"address_id":"{ADDRESS.upper()}","balance":"1.5","at":"2026-01-01T00:00:00Z"}}',
        ),
        (
            "reward_addresses.create",
            f'{{"ledger":"INK","address":"{MIXED.lower()}"}}',
            f'{{"ledger":"INK","address":"{MIXED}"}}',
        ),
        (
            "payout_groups.create",
            f'{{"ledger":"INK","asset_type":"A","jurisdiction":"CH","name":"N",'
            f'"claimer_address":"{MIXED}"}}',
            f'{{"ledger":"INK","asset_type":"A","jurisdiction":"CH","name":"N",'
            f'"claimer_address":"0x{MIXED[2:].upper()}"}}',
        ),
        (
            "orchestrations.put",
            '{"id":"o","status":"A","created_at":"2026-01-01T00:00:00Z","source_amount":"-0.0"}',
            '{"id":"o","status":"A","created_at":"2026-01-01T00:00:00Z","source_amount":"0"}',
        ),
        (
            "identities.put",
            '{"id":"a","metadata":{"x":"1","y":"2"}}',
            '{"id":"a","metadata":{"y":"2","x":"1"}}',
        ),
        ("controls.delete", '{"control_id":"c"}', '{"id":"c"}'),
    ],
)
def test_requests_are_compared_by_their_meaning(operator, store, operation, first, second):
    answer, _ = store.call(Principal(), operation, [], first.encode(), "key")
    again, is_replayed = store.call(Principal(), operation, [], second.encode(), "key")
    assert (again, is_replayed) == (answer, True)


def test_the_same_control_by_either_name_is_the_same_request(operator, store):
    first, _ = store.call(Principal(), "controls.delete", [("control_id", "c")], None, "key")
    body = b'{"control_id":"c"}'
    again, is_replayed = store.call(Principal(), "controls.delete", [], body, "key")
    assert (again, is_replayed) == (first, True)


def test_many_threads_with_one_key_make_one_record(open_as, operator):
    services = [open_as() for _ in range(4)]

    def make(number: int) -> Any:
        try:
            return WRITES["payout_groups.create"](services[number % 4], "key", "A").id
        except comptroller.Conflict as error:
            return error.code

    with ThreadPoolExecutor(8) as threads:
        answers = set(threads.map(make, range(32)))
    (made,) = [group for group in operator.payout_groups.list() if group.id != GROUP]
    assert answers - {"idempotency-in-flight"} == {made.id}


def test_naming_ones_own_customer_is_the_same_request(acme):
    create = {"ledger": "INK", "address": MIXED, "idempotency_key": "key"}
    made = acme.reward_addresses.create(**create)
    assert acme.reward_addresses.create(**create, customer_id="acme") == made


def test_an_address_with_a_wrong_checksum_is_not_a_retry(acme):
    acme.reward_addresses.create(ledger="INK", address=MIXED, idempotency_key="key")
    with refused("idempotency-key-reused"):
        acme.reward_addresses.create(
            ledger="INK", address=MIXED.replace("aA", "Aa"), idempotency_key="key"
        )
