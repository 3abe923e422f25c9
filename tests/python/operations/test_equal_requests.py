"""Requests that mean the same are one request under an idempotency key, whatever they omit.

The variations follow from the core's description: members with defaults, other names of members,
and values that can be written differently.
"""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from typing import Any

import comptroller
import pytest
from comptroller._core import Principal, Store
from comptroller.description import core_description, operations
from hypothesis import HealthCheck, given, settings, strategies as st
from lines import address, claim, control, group, identity, load, orchestration

NUMBERED = "01900000-0000-7000-8000-00000000000"
GROUP, ADDRESS = NUMBERED + "1", NUMBERED + "2"
MIXED, OTHER = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x" + "0" * 39 + "7"
AT = "2026-01-01T00:00:00Z"
OF_WEBHOOK: dict[str, str] = {}  # its id, when the store is furnished


def as_json(line: dict[str, Any]) -> dict[str, Any]:
    """Returns a line with its times as text."""
    return json.loads(json.dumps(line, default=datetime.isoformat))


# A request of every write with the members that can be written differently.
REQUESTS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "identities.put": ({}, {"id": "new", "metadata": {"a": "1", "b": "2"}}),
    "identities.update": ({"id": "i"}, {"metadata": {"a": "1", "b": "2"}}),
    "controls.create": ({}, {"identity_id": "i", "type": "DORMANT", "reason_code": "X"}),
    "controls.delete": ({}, {"control_id": "c"}),
    "orchestrations.put": ({}, as_json(orchestration(id="new"))),
    "payout_groups.create": (
        {},
        {
            "ledger": "INK",
            "asset_type": "A",
            "jurisdiction": "CH",
            "name": "n",
            "claimer_address": MIXED,
        },
    ),
    "payout_groups.update": ({"id": GROUP}, {"name": "n"}),
    "payout_groups.observe": ({"id": GROUP}, {"balance": "1.5", "balance_at": AT}),
    "reward_addresses.create": ({}, {"ledger": "INK", "address": MIXED}),
    "reward_addresses.update": ({"id": ADDRESS}, {"name": "n"}),
    "reward_addresses.observe": ({"id": ADDRESS}, {"status": "ACTIVE"}),
    "balances.record": ({}, {"address_id": ADDRESS, "balance": "1", "at": AT}),
    "claims.put": ({}, as_json(claim(id="new"))),
    "claims.submit": ({"id": "pending"}, {"tx_hash": "0x01", "at": AT}),
    "claims.confirm": ({"id": "submitted"}, {"at": AT}),
    "claims.fail": ({"id": "submitted"}, {"error_message": "no"}),
    "webhooks.create": ({}, {"url": "https://hooks.example.com", "event_types": ["*"]}),
    "webhooks.update": (OF_WEBHOOK, {"description": "d"}),
    "webhooks.delete": (OF_WEBHOOK, {}),
    "webhooks.rotate": (OF_WEBHOOK, {}),
    "webhooks.test": (OF_WEBHOOK, {}),
    "webhooks.replay": (OF_WEBHOOK, {"since": AT}),
}
CALLERS = {"operator": None, "acme": "acme"}
CASES = [
    (name, caller)
    for name, operation in operations().items()
    for caller in CALLERS
    if operation.is_write and (caller == "operator" or not operation.scope.startswith("operator:"))
]


@pytest.fixture(scope="module")
def furnished(tmp_path_factory, template):
    """The path of a store with the records that the writes refer to; they belong to acme."""
    path = shutil.copyfile(template, tmp_path_factory.mktemp("furnished") / "furnished.db")
    of_acme = {"customer_id": "acme"}
    with comptroller.open(path) as operator:
        load(operator, "identities", identity(id="i", **of_acme))
        load(operator, "controls", control(id="c", identity_id="i", **of_acme))
        load(operator, "payout-groups", group(id=GROUP, **of_acme))
        load(operator, "reward-addresses", address(id=ADDRESS, **of_acme))
        made = operator.webhooks.create(url="https://hooks.example.com", **of_acme)
        OF_WEBHOOK["id"] = made.id
        load(operator, "claims", claim(id="pending", **of_acme))
        load(operator, "claims", claim(id="submitted", onchain_status="SUBMITTED", **of_acme))
    return path


def test_every_write_has_a_request():
    assert set(REQUESTS) == {name for name, one in operations().items() if one.is_write}


def typed(text: str) -> Any:
    """Returns a default as the value of a member."""
    return {"true": True, "false": False}.get(text, text)


def written_differently(type: str, value: Any) -> list[Any]:
    """Returns other texts of a value."""
    if type == "timestamp":
        utc = value.removesuffix("Z").removesuffix("+00:00")
        return [utc + "Z", utc + ".000+00:00"]
    if type == "amount":
        return [value + ("0" if "." in value else ".0")]
    if type == "metadata":
        return [dict(reversed(value.items()))]
    return [value.lower()] if value == MIXED else []


def variations(name: str, caller: str) -> st.SearchStrategy[dict[str, Any]]:
    """Generates bodies that mean the same as the request of an operation."""
    operation = operations()[name]
    core = core_description()
    is_record = operation.request in core["records"]
    record = core["records" if is_record else "requests"][operation.request]
    _, body = REQUESTS[name]
    choices: dict[str, st.SearchStrategy[dict[str, Any]]] = {}
    for member, details in record["members"].items():
        given = {member: body[member]} if member in body else {}
        default = details.get("default")
        if caller == "operator":
            default = details.get("operator_default", default)
        if default is not None:
            choices[member] = st.sampled_from([{}, {member: typed(default)}])
        elif member == "customer_id" and name == "webhooks.create" and caller == "operator":
            pass  # without it, the webhook gets the events of all customers
        elif member == "customer_id" and name != "identities.put":
            owner = CALLERS[caller] or "default"
            choices[member] = st.sampled_from([{}, {member: owner}])
        elif alias_of := details.get("alias_of"):
            both = {alias_of: body[alias_of], member: body[alias_of]}
            choices[alias_of] = st.sampled_from([both, *({each: both[each]} for each in both)])
        elif given:
            others = written_differently(details["type"].rstrip("?"), body[member])
            choices[member] = st.sampled_from([given, *({member: other} for other in others)])
    return st.tuples(*choices.values()).flatmap(
        lambda chosen: st.permutations([pair for each in chosen for pair in each.items()]).map(dict)
    )


@pytest.mark.parametrize(("name", "caller"), CASES)
def test_requests_with_the_same_meaning_are_one(furnished, tmp_path, name, caller):
    store = Store(str(shutil.copyfile(furnished, tmp_path / "store.db")))
    principal = Principal(customer=CALLERS[caller])
    path, body = REQUESTS[name]

    def call(body: dict[str, Any]) -> tuple[bytes, bool]:
        return store.call(principal, name, list(path.items()), json.dumps(body).encode(), "key")

    first, was_replayed = call(body)
    assert not was_replayed

    @settings(max_examples=30, suppress_health_check=list(HealthCheck))
    @given(variations(name, caller))
    def check(variation):
        assert call(variation) == (first, True)

    check()
    store.close()


@pytest.mark.parametrize("where", ["parameters", "body"])
def test_two_names_of_one_member_must_agree(furnished, tmp_path, where):
    store = Store(str(shutil.copyfile(furnished, tmp_path / "store.db")))
    names = {"id": "c", "control_id": "other"}
    parameters, body = (names, {}) if where == "parameters" else ({}, names)
    with pytest.raises(comptroller.InvalidRequest) as caught:
        store.call(
            Principal(), "controls.delete", list(parameters.items()), json.dumps(body).encode()
        )
    assert [error.field for error in caught.value.errors] == ["control_id"]
    store.close()
