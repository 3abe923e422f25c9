"""Orchestrations: every filter with every bound, and put."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from lines import at, fresh, ids, load, orchestration, refused

WHOLE: dict[str, Any] = {
    "id": "whole",
    "profile_id": "p1",
    "identity_id": "i1",
    "account_id": "a1",
    "customer_id": "acme",
    "ref_id": "order 66",
    "source_asset": "USD",
    "destination_asset": "BTC",
    "source_amount": Decimal("-12.50"),
    "source_transfer": {"transfer_id": "t1", "status": "COMPLETED"},
    "destination_transfer": {"transfer_id": "t2", "status": "SOME_NEW_WORD"},
    "status": "PROCESSING",
    "fail_reason": {"detail": ""},
    "source": {
        "crypto": {"address_id": "x", "address": "bc1", "network": "BITCOIN"},
        "fiat": {"deposit_instructions_id": "d", "memo": ""},
        "profile": {"profile_id": "p2"},
    },
    "destination": {
        "crypto": {"address_id": "y", "address": "bc2", "network": "BITCOIN"},
        "fiat": {"bank_account_id": "b", "memo": "rent"},
        "profile": {"profile_id": "p3"},
    },
    "orchestration_rule_id": "r1",
    "created_at": at(0),
    "updated_at": at(1),
    "metadata": {"key": "value"},
}
ARRAYS = (
    "orchestration_rule_id",
    "source_asset",
    "destination_asset",
    "status",
    "orchestration_id",
    "profile_id",
    "ref_id",
)


def members(value: Any) -> Any:
    """Returns a record as a dict of its members."""
    if hasattr(value, "__struct_fields__"):
        pairs = ((name, members(getattr(value, name))) for name in value.__struct_fields__)
        return {name: found for name, found in pairs if found is not None}
    return value


def test_every_member_is_stored_and_shown(operator, acme):
    made = operator.orchestrations.put(WHOLE)
    assert members(made) == WHOLE
    assert str(made.source_amount) == "-12.50"
    assert acme.orchestrations.get("whole") == made
    assert acme.orchestrations.list().items == [made]


def test_a_returned_record_can_be_put_again(operator):
    made = operator.orchestrations.put(WHOLE)
    assert operator.orchestrations.put(made) == made


def test_unset_members_are_not_shown(operator, core_client):
    operator.orchestrations.put({"id": "bare", "status": "PENDING", "created_at": at(0)})
    shown = core_client("orchestrations.get", {"id": "bare"})
    assert sorted(shown) == ["created_at", "customer_id", "id", "status", "updated_at"]
    assert shown["customer_id"] == "default"
    assert shown["updated_at"] == shown["created_at"] == "2026-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("missing", ["id", "status", "created_at"])
def test_id_status_and_created_at_are_required(operator, missing):
    line = {name: value for name, value in WHOLE.items() if name != missing}
    with refused("invalid-request", 400) as caught:
        operator.orchestrations.put(line)
    assert [error.field for error in caught.value.errors] == [missing]


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, "unchanged"),
        ({"source_amount": "-12.5"}, "unchanged"),
        ({"status": "COMPLETED"}, "already-exists"),
        ({"status": "COMPLETED", "updated_at": at(0.5)}, "already-exists"),
        ({"status": "COMPLETED", "updated_at": at(2)}, "updated"),
        ({"status": "PENDING", "updated_at": at(2)}, "updated"),
        ({"source_amount": "7", "updated_at": at(2)}, "updated"),
        ({"customer_id": "globex", "updated_at": at(2)}, "already-exists"),
        ({"created_at": at(-1), "updated_at": at(2)}, "already-exists"),
    ],
    ids=repr,
)
def test_a_put_with_the_same_id(operator, change, outcome):
    before = operator.orchestrations.put(WHOLE)
    if outcome == "already-exists":
        with refused(outcome, 409):
            operator.orchestrations.put(WHOLE | change)
    else:
        after = operator.orchestrations.put(WHOLE | change)
        assert (after == before) is (outcome == "unchanged")
        for name, value in change.items():
            assert str(getattr(after, name)) == str(
                getattr(before if after == before else after, name)
            )
            assert outcome == "unchanged" or members(getattr(after, name)) in (value, Decimal(7))
    kept = operator.orchestrations.get("whole")
    assert (kept == before) is (outcome != "updated")


@pytest.mark.parametrize("id", ["nobody", "a b", "", "x" * 129])
def test_an_unknown_or_malformed_id_is_not_found(shared_operator, id):
    with refused("not-found", 404):
        shared_operator.orchestrations.get(id)


@pytest.fixture(scope="module")
def listed(shared_open_as):
    """Five orchestrations of acme, a second apart, that differ in each member; one of globex."""
    operator = shared_open_as()
    lines = [
        orchestration(profile_id="p0", source_asset="USD", destination_asset="BTC", ref_id="a,b"),
        orchestration(profile_id="p1", destination={"profile": {"profile_id": "p0"}}, ref_id="a"),
        orchestration(orchestration_rule_id="r0", source_asset="usd", status="COMPLETED"),
        orchestration(orchestration_rule_id="r1", source={"profile": {"profile_id": "p0"}}),
        orchestration(source_asset="EUR", destination_asset="BTC", status="NEWER_WORD"),
    ]
    for second, line in enumerate(lines):
        line |= {"id": str(second), "created_at": at(second), "customer_id": "acme"}
    load(operator, "orchestrations", *lines)
    other = orchestration(id="9", customer_id="globex", profile_id="p0", source_asset="USD")
    load(operator, "orchestrations", other)
    return shared_open_as(customer="acme")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "43210"),
        ({"order": "ASC"}, "01234"),
        ({"order": "DESC"}, "43210"),
        ({"orchestration_rule_id": "r0"}, "2"),
        ({"orchestration_rule_id": ["r0", "r1", "r2"]}, "32"),
        ({"source_asset": "USD"}, "0"),
        ({"source_asset": ["USD", "EUR"]}, "40"),
        ({"source_asset": ["USD", "USD"]}, "0"),
        ({"destination_asset": "BTC"}, "40"),
        ({"destination_asset": ["ETH"]}, ""),
        ({"status": "COMPLETED"}, "2"),
        ({"status": ["COMPLETED", "NEWER_WORD"]}, "42"),
        ({"status": "NEVER_USED"}, ""),
        ({"orchestration_id": "3"}, "3"),
        ({"orchestration_id": ["3", "0", "9", "nobody"]}, "30"),
        ({"profile_id": "p0"}, "10"),
        ({"profile_id": "p1"}, "1"),
        ({"profile_id": ["p0", "p1"]}, "10"),
        ({"ref_id": "a,b"}, "0"),
        ({"ref_id": "a"}, "1"),
        ({"ref_id": "b"}, ""),
        ({"source_asset": "USD", "profile_id": "p0", "ref_id": ["a,b", "a"]}, "0"),
        ({"source_asset": "USD", "status": "COMPLETED"}, ""),
        ({"customer_id": "acme", "status": "PROCESSING"}, "310"),
        ({"created_at_lt": at(2)}, "10"),
        ({"created_at_lte": at(2)}, "210"),
        ({"created_at_eq": at(2)}, "2"),
        ({"created_at_gte": at(2)}, "432"),
        ({"created_at_gt": at(2)}, "43"),
        ({"created_at_lt": at(2.000001)}, "210"),
        ({"created_at_gt": at(1.999999)}, "432"),
        ({"created_at_eq": at(2.000001)}, ""),
        ({"created_at_eq": "2026-01-01T02:00:02+02:00"}, "2"),
        ({"created_at_gte": at(1), "created_at_lte": at(3)}, "321"),
        ({"created_at_gt": at(1), "created_at_lt": at(3)}, "2"),
        ({"created_at_gt": at(1), "created_at_gte": at(2), "created_at_eq": at(3)}, "3"),
        ({"created_at_gt": at(3), "created_at_lt": at(1)}, ""),
        ({"created_at_gt": at(2), "created_at_lt": at(2)}, ""),
        ({"created_at_lte": at(2), "profile_id": "p0", "order": "ASC"}, "01"),
    ],
    ids=repr,
)
def test_the_list_filters(listed, filters, expected):
    assert "".join(ids(listed.orchestrations.list(**filters))) == expected
    walk = {name: value for name, value in filters.items() if name != "order"}
    walked = listed.orchestrations.iter(limit=1, order=filters.get("order"), **walk)
    assert "".join(ids(walked)) == expected


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_accepts_at_most_one_hundred_values(listed, name):
    values = ["V" + str(number) for number in range(101)]
    assert listed.orchestrations.list(**{name: values[:100]}).items == []
    with refused("invalid-request", 400) as caught:
        listed.orchestrations.list(**{name: values})
    assert [error.field for error in caught.value.errors] == [name]
    assert "100" in caught.value.detail


def test_all_arrays_may_be_full_at_once(operator):
    values = [f"V{number}" for number in range(100)]
    members = [name for name in ARRAYS if name != "orchestration_id"]
    load(
        operator,
        "orchestrations",
        *[orchestration(id=value) | dict.fromkeys(members, value) for value in values],
        orchestration(id="other") | dict.fromkeys(members, "V0"),
    )
    assert ids(operator.orchestrations.list(order="ASC", **dict.fromkeys(ARRAYS, values))) == values


@pytest.mark.parametrize("name", ["source_asset", "status", "orchestration_id"])
def test_one_hundred_values_find_the_union(operator, name):
    lines = [
        orchestration(id=f"o{n}", source_asset=f"A{n}", status=f"S{n}", created_at=at(n % 7))
        for n in range(120)
    ]
    load(operator, "orchestrations", *lines)
    member = "id" if name == "orchestration_id" else name
    chosen = [line[member] for line in lines[:100]]
    found = ids(operator.orchestrations.iter(limit=33, **{name: chosen}))
    assert sorted(found) == sorted(line["id"] for line in lines[:100])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "no word"),
        ("profile_id", "a b"),
        ("source_asset", "x" * 129),
        ("ref_id", ""),
        ("created_at_lt", "2026-01-00"),
        ("created_at_eq", "2026-02-30T00:00:00Z"),
        ("order", "asc"),
    ],
)
def test_the_list_of_addresses_refuses_malformed_values(listed, name, value):
    with refused("invalid-request", 400) as caught:
        listed.orchestrations.list(**{name: value})
    assert [error.field for error in caught.value.errors] == [name.replace("_at_", "_at.")]


def test_arrival_breaks_ties(operator):
    names = [fresh("tie") for _ in range(4)]
    for name in names:
        operator.orchestrations.put(orchestration(id=name))
    assert ids(operator.orchestrations.list(order="ASC")) == names
    assert ids(operator.orchestrations.list()) == names[::-1]
