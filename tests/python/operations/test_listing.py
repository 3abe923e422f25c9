"""Lists: their order, their limits, and their parameters."""

from __future__ import annotations

import json

import pytest
from lines import NOUNS, at, claim, fill, group, ids, key_of, load, refused

CREATED_NOUNS = ("identities", "controls", "orchestrations")
each_noun = pytest.mark.parametrize("resource", NOUNS)

# Seconds in the order of arrival, with ties and unordered times.
ARRIVALS = [3, 1, 1, 2, 1, 3, 0, 2, 1, 1]
IN_ORDER = [6, 1, 2, 4, 8, 9, 3, 7, 0, 5]


@pytest.fixture(scope="module")
def filled(shared_open_as):
    """Each list of a resource, and the keys of its rows by created_at, ties by arrival."""
    operator, lists = shared_open_as(), {}
    for resource in NOUNS:
        customer, times = f"of-{resource}", [at(second) for second in ARRIVALS]
        made = fill(operator, resource, times, customer_id=customer)
        who = operator if resource == "balances" else shared_open_as(customer=customer)
        lists[resource] = getattr(who, resource), [made[index] for index in IN_ORDER]
    return lists


@each_noun
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 10, 1000])
def test_rows_are_sorted_by_time_and_ties_by_arrival(filled, resource, limit):
    listed, keys = filled[resource]
    assert [key_of(item) for item in listed.iter(order="ASC", limit=limit)] == keys
    assert [key_of(item) for item in listed.iter(limit=limit)] == keys[::-1]
    assert [key_of(item) for item in listed.iter(order="DESC", limit=limit)] == keys[::-1]


@each_noun
def test_a_page_has_one_hundred_rows_by_default(operator, resource):
    fill(operator, resource, [at(second // 2) for second in range(101)])
    listed = getattr(operator, resource)
    page = listed.list()
    assert len(page) == 100
    assert page.next_page_cursor
    rest = listed.list(page_cursor=page.next_page_cursor)
    assert len(rest) == 1
    assert rest.next_page_cursor == ""
    assert len(listed.list(limit=101)) == 101
    assert listed.list(limit=101).next_page_cursor == ""


@each_noun
def test_an_empty_list_has_no_items_and_an_empty_cursor(operator, resource):
    page = getattr(operator, resource).list()
    assert (page.items, page.next_page_cursor) == ([], "")


@each_noun
@pytest.mark.parametrize("limit", [1, 1000])
def test_a_limit_from_1_to_1000_is_accepted(shared_operator, resource, limit):
    assert len(getattr(shared_operator, resource).list(limit=limit)) <= limit


@each_noun
@pytest.mark.parametrize(
    "limit", ["0", "1001", "-1", "", "x", "1.0", "1e2", "+1", " 1", "2147483648", "9" * 30]
)
def test_any_other_limit_is_refused(shared_operator, resource, limit):
    with refused("invalid-request", 400) as caught:
        getattr(shared_operator, resource).list(limit=limit)
    assert [error.field for error in caught.value.errors] == ["limit"]
    assert "1000" in caught.value.detail


@pytest.mark.parametrize("limit", [0, 1001, -1])
def test_iter_refuses_the_same_limits(shared_operator, limit):
    with refused("invalid-request", 400):
        list(shared_operator.claims.iter(limit=limit))


@each_noun
@pytest.mark.parametrize("order", ["asc", "desc", "", "ASCENDING", "DESC "])
def test_order_is_asc_or_desc(shared_operator, resource, order):
    with refused("invalid-request", 400) as caught:
        getattr(shared_operator, resource).list(order=order)
    assert [error.field for error in caught.value.errors] == ["order"]


@pytest.mark.parametrize("resource", CREATED_NOUNS)
@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("lt", [0, 1]),
        ("lte", [0, 1, 2, 3]),
        ("eq", [2, 3]),
        ("gte", [2, 3, 4]),
        ("gt", [4]),
    ],
)
def test_each_bound_of_created_at(operator, resource, bound, expected):
    made = fill(operator, resource, [at(second) for second in (0, 1, 2, 2, 3)], customer_id="acme")
    if resource == "controls":
        owners = {c.identity_id: c.id for c in operator.controls.list()}
        assert len(owners) == 5
    for moment in (at(2), "2026-01-01T00:00:02Z", "2026-01-01T05:30:02.000000+05:30"):
        found = getattr(operator, resource).list(order="ASC", **{f"created_at_{bound}": moment})
        assert ids(found) == [made[index] for index in expected]


@pytest.mark.parametrize("resource", CREATED_NOUNS)
def test_crossed_bounds_give_an_empty_list(operator, resource):
    fill(operator, resource, [at(0), at(1)])
    listed = getattr(operator, resource)
    for bounds in (
        {"created_at_gt": at(1), "created_at_lt": at(0)},
        {"created_at_gte": at(1), "created_at_lt": at(1)},
        {"created_at_eq": at(0), "created_at_gt": at(0)},
    ):
        page = listed.list(**bounds)
        assert (page.items, page.next_page_cursor) == ([], "")


VISITED = 5_000  # records at most, by one page


@pytest.fixture(scope="module")
def rarely_matching(shared_open_as):
    """A client with one group, whose claims are on one chain except the oldest one."""
    operator, payout_group = shared_open_as(), group(customer_id="rarely")
    load(operator, "payout-groups", payout_group)
    claims = [
        claim(
            payout_group_id=payout_group["id"],
            customer_id="rarely",
            blockchain="BASE" if number else "ETHEREUM",
            created_at=at(number),
        )
        for number in range(VISITED + 2)
    ]
    load(operator, "claims", *claims)
    filters = {"payout_group_id": payout_group["id"], "chain": "ETHEREUM"}
    return shared_open_as(customer="rarely"), filters, claims[0]["id"]


def test_a_page_ends_after_a_number_of_records_that_do_not_match(rarely_matching):
    client, filters, oldest = rarely_matching
    page = client.claims.list(**filters)
    assert page.items == []
    assert page.next_page_cursor
    last = client.claims.list(**filters, page_cursor=page.next_page_cursor)
    assert (ids(last), last.next_page_cursor) == ([oldest], "")
    first = client.claims.list(**filters, order="ASC", limit=5)
    assert ids(first) == [oldest]
    assert first.next_page_cursor


def test_all_records_are_read_over_pages_without_records(rarely_matching):
    client, filters, oldest = rarely_matching
    for order in ("ASC", "DESC"):
        assert ids(client.claims.iter(**filters, order=order)) == [oldest]
    streamed = client.claims.stream(columns=["id"], **filters).to_polars()
    assert list(streamed["id"]) == [oldest]


def test_a_value_that_the_store_lacks_is_like_one_that_matches_no_record(rarely_matching):
    client, filters, _ = rarely_matching
    page = client.claims.list(**{**filters, "chain": "never"})
    assert page.items == []
    assert page.next_page_cursor
    assert list(client.claims.iter(**{**filters, "chain": "never"})) == []


@pytest.fixture(scope="module")
def large_records(shared_open_as):
    """200 identities of a customer with as much metadata as permitted, each changed once."""
    operator = shared_open_as()
    metadata = {f"{number:064}": "é" * 512 for number in range(50)}
    for number in range(200):
        operator.identities.put(id=f"large-{number}", customer_id="large", metadata=metadata)
    return shared_open_as(customer="large"), operator


def test_a_page_of_large_records_ends_after_4_mib(large_records):
    client, _ = large_records
    pages = []
    cursor = ""
    while not pages or cursor:
        page = client.identities.list(limit=1000, page_cursor=cursor)
        pages.append([identity.id for identity in page])
        cursor = page.next_page_cursor
    assert 1 < len(pages) <= 5
    assert max(map(len, pages)) <= 90  # of about 54 kB each
    assert sorted(id for page in pages for id in page) == sorted(f"large-{n}" for n in range(200))
    assert len(list(client.identities.iter(limit=1000))) == 200


def test_a_page_of_large_changes_ends_after_4_mib(large_records):
    client, operator = large_records
    page = client.changes.list(limit=1000)
    assert 0 < len(page.items) <= 90
    assert page.has_more
    for feed in (client.changes, operator.changes):
        seen = [change.id for change in feed.iter() if change.id.startswith("large-")]
        assert sorted(seen) == sorted(f"large-{number}" for number in range(200))


def test_a_page_of_large_entries_ends_after_4_mib(large_records):
    _, operator = large_records
    page = json.loads(operator.host.call("journal.list", [("limit", "1000")], None, None))
    assert 0 < len(page["items"]) < 200
    assert page["has_more"]
    entries = [entry for entry in operator.journal.list(limit=1_000_000) if entry.id]
    assert sum(entry.id.startswith("large-") for entry in entries) == 200
