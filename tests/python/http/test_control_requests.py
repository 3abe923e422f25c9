"""Requests to create and delete a control, and its JSON."""

from __future__ import annotations

import pytest
from lines import control, load, refused


@pytest.fixture
def alice(operator) -> str:
    """An identity of acme."""
    return operator.identities.put(id="alice", customer_id="acme").id


def test_a_control_shows_null_only_for_deleted_at(acme_core_client, acme, alice):
    made = acme.controls.create(identity_id=alice, type="CLOSED", reason_code="X")
    shown = acme_core_client("controls.get", {"id": made.id})
    assert shown["deleted_at"] is None
    assert [name for name, value in shown.items() if value is None] == ["deleted_at"]
    assert "reason" not in shown
    assert shown == acme_core_client("controls.list")["items"][0]


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ({"control_id": "c"}, None),
        ({"id": "c"}, None),
        ({}, {"control_id": "c"}),
        ({}, {"id": "c"}),
        ({"control_id": "c"}, {"id": "c"}),
        ({"id": "c"}, {"control_id": "c", "identity_id": "alice", "reason": "done"}),
        ({"control_id": "c", "id": "c", "reason": "done"}, {"reason": "done"}),
        ({"control_id": "c", "identity_id": "alice"}, {}),
    ],
)
def test_delete_takes_the_control_by_either_name_in_query_or_body(
    acme_core_client, operator, alice, parameters, body
):
    load(operator, "controls", control(id="c", identity_id=alice, customer_id="acme"))
    assert acme_core_client("controls.delete", parameters, body)["deleted_at"] is not None


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ({}, None),
        ({"identity_id": "alice"}, {"reason": "no control named"}),
        ({"control_id": "c"}, {"control_id": "d"}),
        ({"control_id": "c"}, {"id": "d"}),
        ({"control_id": "c", "id": "d"}, None),
        ({}, {"control_id": "c", "id": "d"}),
        ({"control_id": "c", "reason": "one"}, {"reason": "two"}),
        ({"control_id": "c", "identity_id": "alice"}, {"identity_id": "bob"}),
        ({"control_id": "c", "set_by": "CLIENT"}, None),
        ({"control_id": "c"}, {"is_overridable": True}),
    ],
)
def test_delete_refuses_conflicting_or_missing_ids(
    acme_core_client, operator, alice, parameters, body
):
    for name, identity_id in (("c", alice), ("d", "bob")):
        line = control(id=name, identity_id=identity_id)
        load(operator, "controls", line, customer_id="acme")
    with refused("invalid-request", 400):
        acme_core_client("controls.delete", parameters, body)
    assert acme_core_client("controls.get", {"id": "c"})["deleted_at"] is None
