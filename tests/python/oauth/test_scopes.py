"""Scopes: each operation accepts only its own scope."""

from __future__ import annotations

import json

import comptroller
import pytest
from comptroller._core import Principal, Store, describe
from lines import at, claim, orchestration, refused

DESCRIBED = json.loads(describe())
CLIENT_SCOPES = tuple(name for name in DESCRIBED["scopes"] if not name.startswith("operator:"))
OPERATIONS = {operation["name"]: operation for operation in DESCRIBED["operations"]}
# The scope of each operation of clients, and of the operator alone.
SCOPE_OF = {
    name: operation["scope"]
    for name, operation in OPERATIONS.items()
    if operation["scope"] in CLIENT_SCOPES
}
OPERATORS_OWN = {
    name: operation["scope"] for name, operation in OPERATIONS.items() if name not in SCOPE_OF
}
# What the names of scopes call the records.
NOUN_OF = {
    "identities": "identity",
    "controls": "identity_control",
    "orchestrations": "orchestration",
    "payout_groups": "payout_groups",
    "reward_addresses": "monitoring_address",
    "claims": "claims",
}

# A client has this scope only if it is named.
BY_NAME = "journal:read"

# A parameter that no operation accepts: a request with the scope is invalid and writes nothing.
NONSENSE = [("nonsense", "x")]


@pytest.fixture(scope="module")
def store(shared_path):
    opened = Store(str(shared_path))
    yield opened
    opened.close()


def outcome(store: Store, principal: Principal, operation: str) -> comptroller.Error:
    """Returns the error of an invalid request; the scope is checked before the request."""
    with pytest.raises(comptroller.Error) as caught:
        store.call(principal, operation, NONSENSE, b"{")
    return caught.value


@pytest.mark.parametrize("operation", SCOPE_OF)
def test_the_scope_names_the_records_and_whether_it_writes(operation):
    act = "write" if OPERATIONS[operation]["needs_write_scope"] else "read"
    resource = operation.partition(".")[0]
    name = f"{act}_{NOUN_OF[resource]}" if resource in NOUN_OF else act
    assert SCOPE_OF[operation].partition(":")[2] == name


@pytest.mark.parametrize("operation", OPERATORS_OWN)
def test_only_the_operator_has_paths_below_operator_alone(operation):
    assert all(path.startswith("/operator/") for path in OPERATIONS[operation]["paths"])


@pytest.mark.parametrize("operation", SCOPE_OF)
def test_a_client_needs_exactly_the_scope_of_an_operation(store, operation):
    for scope in CLIENT_SCOPES:
        error = outcome(store, Principal("acme", None, [scope]), operation)
        if scope == SCOPE_OF[operation]:
            assert error.status in (400, 404), scope
        else:
            assert (error.code, error.status) == ("insufficient-scope", 403), scope
            assert SCOPE_OF[operation] in error.detail
    all_others = [scope for scope in CLIENT_SCOPES if scope != SCOPE_OF[operation]]
    error = outcome(store, Principal("acme", None, all_others), operation)
    assert error.code == "insufficient-scope"


@pytest.mark.parametrize("operation", OPERATORS_OWN)
def test_no_client_may_call_operator_operations(store, operation):
    error = outcome(store, Principal("acme", None, list(CLIENT_SCOPES)), operation)
    assert (error.code, error.status) == ("insufficient-scope", 403)
    assert OPERATORS_OWN[operation] in error.detail


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_operator_has_one_scope_to_read_and_one_to_write(store, operation):
    needed = "operator:write" if OPERATIONS[operation]["needs_write_scope"] else "operator:read"
    for scope in ("operator:read", "operator:write"):
        error = outcome(store, Principal(None, None, [scope]), operation)
        if scope == needed:
            assert error.status in (400, 404)
        else:
            assert (error.code, error.status) == ("insufficient-scope", 403)
            assert needed in error.detail


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("customer", [None, "acme"])
def test_nothing_is_permitted_without_a_scope(store, operation, customer):
    assert outcome(store, Principal(customer, None, []), operation).code == "insufficient-scope"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_by_default_a_caller_has_all_of_its_scopes(store, operation):
    assert outcome(store, Principal(None), operation).code != "insufficient-scope"
    passes = outcome(store, Principal("acme"), operation).code != "insufficient-scope"
    assert passes is (operation in SCOPE_OF and SCOPE_OF[operation] != BY_NAME)


def test_open_restricts_the_scopes_of_a_client(open_as, operator):
    operator.identities.put(id="a", customer_id="acme")
    reader = open_as(customer="acme", scopes=["identity:read_identity"])
    assert reader.identities.get("a").id == "a"
    with refused("insufficient-scope", 403) as caught:
        reader.identities.update("a", user_disabled=True)
    assert isinstance(caught.value, comptroller.Forbidden)
    assert "identity:write_identity" in caught.value.detail
    with refused("insufficient-scope", 403):
        reader.controls.list()
    assert operator.controls.list().items == []


def test_one_scope_may_be_given_as_a_str(open_as):
    reader = open_as(customer="acme", scopes="rewards:read_claims")
    assert reader.claims.list().items == []
    with refused("insufficient-scope"):
        reader.payout_groups.list()


@pytest.mark.parametrize(
    ("customer", "scope"),
    [
        ("acme", "rewards:read_claim"),
        ("acme", ""),
        ("acme", "operator:read"),
        ("acme", "operator:write"),
        (None, "operator:everything"),
        (None, "rewards:read_claims"),
    ],
)
def test_open_refuses_unknown_scopes(open_as, customer, scope):
    with refused("invalid-request", 400) as caught:
        open_as(customer=customer, scopes=[scope])
    assert [error.field for error in caught.value.errors] == ["scopes"]


def test_existence_is_checked_after_scope_and_parameters(open_as, acme):
    reader = open_as(customer="acme", scopes=["rewards:read_claims"])
    with refused("insufficient-scope"):
        reader.identities.get("nobody")
    with refused("invalid-request"):
        acme.controls.create(identity_id="nobody", type="OPEN", reason_code="X")
    with refused("invalid-request"):
        acme.controls.create(
            identity_id="nobody", type="CLOSED", reason_code="X", is_overridable=True
        )
    with refused("not-found"):
        acme.identities.get("nobody")


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.identities.put(id="a"),
        lambda s: s.orchestrations.put(orchestration()),
        lambda s: s.payout_groups.observe("x", balance="1"),
        lambda s: s.reward_addresses.observe("x", status="X"),
        lambda s: s.balances.record(address_id="x", balance="1", at=at(0)),
        lambda s: s.balances.list(),
        lambda s: list(s.balances.iter()),
        lambda s: s.claims.put(claim()),
        lambda s: s.claims.submit("x", tx_hash="x"),
        lambda s: s.claims.confirm("x"),
        lambda s: s.claims.fail("x", error_message="x"),
        lambda s: s.load("claims", [claim()]),
        lambda s: s.load("identities", []),
        lambda s: s.export("balances", "never.ndjson"),
        lambda s: s.balances.stream(),
    ],
)
def test_a_client_is_refused_operator_members(shared_acme, ask):
    with refused("insufficient-scope", 403) as caught:
        ask(shared_acme)
    assert isinstance(caught.value, comptroller.Forbidden)
    assert "operator:" in caught.value.detail


@pytest.mark.parametrize("work", ["backup", "check"])
def test_a_client_cannot_check_or_copy_the_store(shared_acme, tmp_path, work):
    copy = tmp_path / "copy.db"
    with pytest.raises(comptroller.Forbidden):
        shared_acme.backup(copy) if work == "backup" else shared_acme.check()
    assert not copy.exists()


@pytest.mark.parametrize("resource", ["claims", "controls", "identities", "orchestrations"])
def test_an_export_and_a_stream_need_the_scope_of_the_list(open_as, tmp_path, resource):
    path = tmp_path / "out.ndjson"
    blind = open_as(customer="acme", scopes=["rewards:write_payout_groups"])
    with refused("insufficient-scope"):
        blind.export(resource, path)
    with refused("insufficient-scope"):
        getattr(blind, resource).stream()
    assert not path.exists()


def test_a_load_needs_the_operators_write_scope(open_as):
    with refused("insufficient-scope") as caught:
        open_as(scopes=["operator:read"]).load("claims", [claim()])
    assert "operator:write" in caught.value.detail
