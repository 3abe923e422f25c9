"""Cursors: opaque, bound to their list, and complete under concurrent writes."""

from __future__ import annotations

import json
from collections import Counter
from string import ascii_letters, digits
from threading import Event, Semaphore, Thread

import comptroller
import pytest
from comptroller import _core
from lines import NOUNS, at, control, fill, fresh, group, ids, load, orchestration, refused

each_noun = pytest.mark.parametrize("resource", NOUNS)


@pytest.fixture(scope="module")
def filled(shared_open_as):
    """The operator of a store with three rows of each resource, all of acme and of one time."""
    operator = shared_open_as()
    for resource in NOUNS:
        fill(operator, resource, [at(0)] * 3, customer_id="acme")
    return operator


@pytest.fixture(scope="module")
def client(filled, shared_open_as):
    return shared_open_as(customer="acme")


def cursor_of(service: comptroller.Service, resource: str, **filters) -> str:
    cursor = getattr(service, resource).list(limit=1, **filters).next_page_cursor
    assert cursor
    return cursor


@each_noun
def test_an_empty_cursor_is_the_first_page(filled, resource):
    listed = getattr(filled, resource)
    assert listed.list(page_cursor="") == listed.list()


@each_noun
def test_the_limit_may_change_from_page_to_page(filled, resource):
    listed, cursor = getattr(filled, resource), cursor_of(filled, resource)
    assert listed.list(page_cursor=cursor, limit=2).items == listed.list().items[1:3]


@each_noun
def test_a_cursor_can_be_used_again(filled, resource):
    listed, cursor = getattr(filled, resource), cursor_of(filled, resource)
    assert listed.list(page_cursor=cursor) == listed.list(page_cursor=cursor)


def test_every_changed_character_of_a_cursor_is_detected(filled):
    cursor = cursor_of(filled, "claims")
    for place, letter in enumerate(cursor):
        is_last = place == len(cursor) - 1
        for other in set(ascii_letters + digits + "-_=." if is_last else "ABg5-=.") - {letter}:
            with refused("invalid-cursor", 400):
                filled.claims.list(page_cursor=cursor[:place] + other + cursor[place + 1 :])


@each_noun
def test_a_truncated_or_extended_cursor_is_detected(filled, resource):
    cursor = cursor_of(filled, resource)
    changed = [cursor[:-1], cursor[1:], cursor + "A", cursor + "=", " " + cursor, cursor * 2]
    for text in [*changed, cursor.swapcase(), cursor[::-1], "x", "0", "null", "é", "A" * 5000]:
        with refused("invalid-cursor", 400):
            getattr(filled, resource).list(page_cursor=text)


@each_noun
@pytest.mark.parametrize("other", NOUNS)
def test_a_cursor_of_another_operation_is_refused(filled, resource, other):
    if resource != other:
        with refused("invalid-cursor", 400):
            getattr(filled, other).list(page_cursor=cursor_of(filled, resource))


@each_noun
def test_a_cursor_of_the_other_order_is_refused(filled, resource):
    with refused("invalid-cursor", 400):
        getattr(filled, resource).list(page_cursor=cursor_of(filled, resource), order="ASC")
    with refused("invalid-cursor", 400):
        getattr(filled, resource).list(page_cursor=cursor_of(filled, resource, order="ASC"))


UUID_A = "01900000-0000-7000-8000-00000000000a"
# Parameters that do not select rows; the customer has a separate test.
NO_FILTERS = {
    "limit",
    "order",
    "page_cursor",
    "customer_id",
    "include_balance",
    "balance_timestamp",
}
DESCRIBED = json.loads(_core.describe())


def value_of(kind: str) -> object:
    """Returns a value of a type in the core's description."""
    item = kind.removesuffix("[]")
    values = {"boolean": True, "timestamp": at(0), "uuid": UUID_A}
    return values.get(item) or next(iter(DESCRIBED["enums"].get(item, ["A"])))


# Every filter, used with the cursor of a list without filters; and filters with two values.
FILTERS = [
    *(
        (
            operation["name"].removesuffix(".list"),
            {},
            {name.replace(".", "_"): value_of(member["type"])},
        )
        for operation in DESCRIBED["operations"]
        if operation["is_list"]
        for name, member in DESCRIBED["requests"][operation["request"]]["members"].items()
        if name not in NO_FILTERS
    ),
    ("identities", {"created_at_gte": at(-1)}, {"created_at_gte": at(-2)}),
    ("controls", {"type": "SELL_ONLY"}, {"type": ["SELL_ONLY", "CLOSED"]}),
    ("controls", {"set_by": "CLIENT"}, {"reason_code": "REQUESTED"}),
    ("controls", {"active_at": at(1)}, {"active_at": at(2)}),
    ("orchestrations", {"created_at_lt": at(5)}, {"created_at_lte": at(5)}),
    ("orchestrations", {"status": "PROCESSING"}, {}),
    ("payout_groups", {"ledger": "ETHEREUM"}, {"ledger": "INK"}),
    ("reward_addresses", {"ledger": "ETHEREUM"}, {"ledger": "INK"}),
    ("claims", {"start_time": at(-1)}, {"end_time": at(5)}),
    ("claims", {"statuses": ["PENDING", "FAILED"]}, {"statuses": ["PENDING", "CONFIRMED"]}),
]


@pytest.mark.parametrize(("resource", "given", "used"), FILTERS)
def test_a_cursor_of_other_filters_is_refused(filled, resource, given, used):
    with refused("invalid-cursor", 400):
        getattr(filled, resource).list(page_cursor=cursor_of(filled, resource, **given), **used)


@pytest.mark.parametrize("resource", [resource for resource in NOUNS if resource != "balances"])
def test_a_cursor_of_another_customer_is_refused(filled, client, shared_open_as, resource):
    other = shared_open_as(customer="globex")
    for cursor in (cursor_of(filled, resource), cursor_of(client, resource)):
        with refused("invalid-cursor", 400):
            getattr(other, resource).list(page_cursor=cursor)
    with refused("invalid-cursor", 400):
        getattr(client, resource).list(page_cursor=cursor_of(filled, resource))
    with refused("invalid-cursor", 400):
        cursor = cursor_of(filled, resource, customer_id="acme")
        getattr(filled, resource).list(page_cursor=cursor, customer_id="globex")


def test_a_cursor_of_another_store_is_refused(filled):
    with comptroller.open(":memory:") as other:
        fill(other, "claims", [at(0)] * 3)
        with refused("invalid-cursor", 400):
            other.claims.list(page_cursor=cursor_of(filled, "claims"))


def test_a_cursor_does_not_reveal_its_content(client):
    for resource in ("claims", "orchestrations"):
        cursor = cursor_of(client, resource)
        shown = getattr(client, resource).list()
        assert cursor.isascii()
        assert not any(id in cursor for id in [*ids(shown), "acme", "2026"])


# Half of the rows share one time, to which the writers add more.
BEFORE = [at(0)] * 60 + [at(second) for second in range(60)]


@pytest.mark.parametrize("order", ["ASC", "DESC"])
def test_existing_rows_appear_once_during_concurrent_inserts(open_as, order):
    reader, stop, written = open_as(), Event(), Semaphore(0)
    present = fill(reader, "orchestrations", BEFORE)
    inserted: Counter[int] = Counter()

    def write(number: int) -> None:
        writer = open_as()
        moments = [at(0), at(30), at(-1), at(99)]
        while not stop.is_set():
            moment = moments[inserted[number] % len(moments)]
            writer.orchestrations.put(orchestration(id=fresh(f"new-{number}"), created_at=moment))
            inserted[number] += 1
            written.release()

    writers = [Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(8):
            assert written.acquire(timeout=30)
        seen = ids(reader.orchestrations.iter(order=order, limit=5))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    counted = Counter(seen)
    assert {counted[id] for id in present} == {1}
    assert max(counted.values()) == 1


def test_rows_that_leave_the_filter_do_not_hide_others(operator):
    lines = [control(id=f"c{n}", identity_id=f"i{n}", created_at=at(n // 3)) for n in range(12)]
    load(operator, "controls", *lines)
    seen = []
    for shown in operator.controls.iter(order="ASC", limit=2):
        seen.append(shown.id)
        operator.controls.delete(shown.id)
    assert seen == [f"c{n}" for n in range(12)]


SPELLINGS = [
    *((resource, {}, {"order": "DESC"}) for resource in NOUNS),
    ("controls", {}, {"include_deleted": False}),
    ("controls", {"type": ["SELL_ONLY", "CLOSED"]}, {"type": ["CLOSED", "SELL_ONLY", "CLOSED"]}),
    (
        "orchestrations",
        {"status": ["PROCESSING", "FAILED"]},
        {"status": ["FAILED", "PROCESSING", "PROCESSING"]},
    ),
    ("reward_addresses", {}, {"include_balance": False}),
    ("claims", {"statuses": ["PENDING", "FAILED"]}, {"statuses": ["FAILED", "PENDING"]}),
]


@pytest.mark.parametrize(("resource", "given", "used"), SPELLINGS)
def test_a_cursor_is_bound_to_the_query_not_to_its_spelling(filled, resource, given, used):
    listed = getattr(filled, resource).list
    rest = listed(page_cursor=cursor_of(filled, resource, **given), **given)
    assert listed(page_cursor=cursor_of(filled, resource, **given), **used) == rest
    assert listed(page_cursor=cursor_of(filled, resource, **used), **given) == rest
    assert rest.items


@pytest.mark.parametrize("resource", [resource for resource in NOUNS if resource != "balances"])
def test_a_client_may_begin_to_name_its_own_customer(client, resource):
    listed = getattr(client, resource).list
    rest = listed(page_cursor=cursor_of(client, resource))
    assert listed(page_cursor=cursor_of(client, resource), customer_id="acme") == rest


def test_an_address_may_be_spelled_in_another_case(filled):
    spelled = "0x" + "ab" * 20
    for _ in range(2):
        load(filled, "payout-groups", group(claimer_address=spelled))
    listed = filled.payout_groups.list
    cursor = listed(claimer_address=spelled, limit=1).next_page_cursor
    assert len(listed(claimer_address="0x" + "AB" * 20, page_cursor=cursor).items) == 1
