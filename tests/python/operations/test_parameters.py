"""The parameters of lists: repeated, unknown, or of a wrong type."""

from __future__ import annotations

import pytest
from lines import at, refused

REPEATED = [
    ("identities", "control_types", "CLOSED"),
    ("identities", "control_reason_codes", "REQUESTED"),
    ("controls", "type", "SELL_ONLY"),
    ("controls", "set_by", "CLIENT"),
    ("controls", "reason_code", "REQUESTED"),
    ("orchestrations", "status", "PROCESSING"),
    ("orchestrations", "source_asset", "USD"),
    ("orchestrations", "destination_asset", "BTC"),
    ("orchestrations", "ref_id", "ref"),
    ("orchestrations", "orchestration_rule_id", "rule"),
    ("orchestrations", "orchestration_id", "o1"),
    ("orchestrations", "profile_id", "p1"),
    ("payout_groups", "onchain_status", "UNREGISTERED"),
    ("claims", "statuses", "PENDING"),
]


@pytest.fixture(scope="module")
def one_of_each(shared_open_as):
    """A row of each resource that the filters of REPEATED match."""
    operator = shared_open_as()
    operator.identities.put(id="one", customer_id="once")
    for type in ("CLOSED", "SELL_ONLY"):
        line = {"id": f"once-{type}", "identity_id": "one", "type": type, "created_at": at(0)}
        line |= {"set_by": "CLIENT", "is_overridable": True, "reason_code": "REQUESTED"}
        assert operator.load("controls", [line], customer_id="once").committed
    made = {"id": "o1", "status": "PROCESSING", "created_at": at(0), "customer_id": "once"}
    made |= {"source_asset": "USD", "destination_asset": "BTC", "ref_id": "ref"}
    made |= {"orchestration_rule_id": "rule", "profile_id": "p1"}
    operator.orchestrations.put(made | {"destination": {"profile": {"profile_id": "p1"}}})
    return shared_open_as(customer="once")


@pytest.mark.parametrize(("resource", "name", "value"), REPEATED)
def test_a_repeated_value_finds_a_row_once(one_of_each, resource, name, value):
    asked = getattr(one_of_each, resource)
    once = asked.list(**{name: value})
    twice = asked.list(**{name: [value, value]})
    assert twice.items == once.items
    assert list(asked.iter(limit=1, **{name: [value, value]})) == once.items
    if resource in ("identities", "controls", "orchestrations"):
        assert once.items


@pytest.mark.parametrize(
    ("resource", "name", "nearest"),
    [
        ("identities", "control_type", "control_types"),
        ("controls", "include_delete", "include_deleted"),
        ("orchestrations", "source_aset", "source_asset"),
        ("payout_groups", "name_prefx", "name_prefix"),
        ("reward_addresses", "payout_group", "payout_group_id"),
        ("claims", "status", "statuses"),
        ("balances", "adress_id", "address_id"),
    ],
)
def test_an_unknown_filter_is_refused_and_the_nearest_is_suggested(
    shared_operator, shared_core_client, resource, name, nearest
):
    with refused("invalid-request", 400) as caught:
        getattr(shared_operator, resource).list(**{name: "x"})
    assert nearest in caught.value.detail
    with refused("invalid-request", 400) as caught:
        shared_core_client(f"{resource}.list", {name: "x"})
    assert nearest in caught.value.detail
    assert [error.field for error in caught.value.errors] == [name]


@pytest.mark.parametrize(
    ("resource", "name", "value"),
    [
        ("claims", "limit", "5"),
        ("claims", "payout_group_id", "01900000-0000-7000-8000-000000000000"),
        ("orchestrations", "created_at.lt", "2026-01-01T00:00:00Z"),
        ("controls", "identity_id", "a"),
        ("reward_addresses", "include_balance", "true"),
    ],
)
def test_a_single_valued_parameter_may_not_be_repeated(shared_core_client, resource, name, value):
    assert shared_core_client(f"{resource}.list", [(name, value)])["next_page_cursor"] == ""
    with refused("invalid-request", 400) as caught:
        shared_core_client(f"{resource}.list", [(name, value), (name, value)])
    assert [error.field for error in caught.value.errors] == [name]


@pytest.mark.parametrize("value", ["True", "1", "yes", "", "FALSE"])
def test_a_boolean_is_true_or_false(shared_core_client, value):
    with refused("invalid-request", 400):
        shared_core_client("controls.list", {"include_deleted": value})


def test_a_read_accepts_no_body(shared_core_client):
    with refused("invalid-request", 400):
        shared_core_client("claims.list", {}, {"limit": 5})


def test_several_errors_are_reported_at_once(shared_core_client):
    with refused("invalid-request", 400) as caught:
        shared_core_client("claims.list", {"limit": "0", "order": "UP", "nonsense": "1"})
    assert {error.field for error in caught.value.errors} == {"limit", "order", "nonsense"}
