"""Identities: their members, and the effect of controls."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations

import comptroller
import pytest
from lines import ALL_ACTIONS, at, control, fresh, identity, ids, load, refused

TYPES = ("SELL_ONLY", "CLOSED", "FROZEN", "DORMANT")
EVERY_SET = [chosen for size in range(5) for chosen in combinations(TYPES, size)]


def status_under(types: tuple[str, ...]) -> str:
    if "FROZEN" in types:
        return "ERROR"
    return "DISABLED" if types else "APPROVED"


def permitted_under(types: tuple[str, ...]) -> tuple[str, ...]:
    if not types:
        return ALL_ACTIONS
    return ("SELL",) if types == ("SELL_ONLY",) else ()


def test_a_new_identity_is_approved_and_unrestricted(operator):
    before = datetime.now(UTC)
    made = operator.identities.put(id="alice")
    assert made.id == "alice"
    assert made.customer_id == "default"
    assert made.status == "APPROVED"
    assert made.status_details.active_controls == ()
    assert made.status_details.permitted_actions == ALL_ACTIONS
    assert (made.user_disabled, made.admin_disabled) == (False, False)
    assert made.ref_id is None
    assert made.metadata is None
    assert before <= made.created_at <= datetime.now(UTC)
    assert operator.identities.get("alice") == made


def test_put_stores_its_arguments(operator):
    operator.identities.put(id="a", customer_id="acme", ref_id="r 1", metadata={"k": "v"})
    kept = operator.identities.get("a")
    assert (kept.customer_id, kept.ref_id, kept.metadata) == ("acme", "r 1", {"k": "v"})


def test_put_again_changes_only_the_given_members(operator):
    first = operator.identities.put(id="a", customer_id="acme", ref_id="r", metadata={"k": "v"})
    second = operator.identities.put(id="a", metadata={"k": "w"})
    assert (second.customer_id, second.ref_id, second.metadata) == ("acme", "r", {"k": "w"})
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at


def test_put_never_changes_the_customer(operator):
    operator.identities.put(id="a", customer_id="acme")
    with refused("already-exists", 409):
        operator.identities.put(id="a", customer_id="globex")
    assert operator.identities.get("a").customer_id == "acme"


@pytest.mark.parametrize("flag", ["user_disabled", "admin_disabled"])
def test_put_writes_legacy_fields_as_an_update_does(operator, flag):
    made = operator.identities.put(id="a", **{flag: True})
    assert getattr(made, flag) is True
    assert len(made.status_details.active_controls) == 1
    lifted = operator.identities.put(id="a", **{flag: False})
    assert getattr(lifted, flag) is False
    assert lifted.status == "APPROVED"


@pytest.mark.parametrize("types", EVERY_SET, ids="+".join)
def test_status_and_permitted_actions_follow_from_the_active_controls(shared_operator, types):
    operator, name = shared_operator, fresh("id")
    operator.identities.put(id=name)
    for type in types:
        operator.controls.create(identity_id=name, type=type, reason_code="TEST")
    shown = operator.identities.get(name)
    assert shown.status == status_under(types)
    assert shown.status_details.permitted_actions == permitted_under(types)
    assert sorted(c.type for c in shown.status_details.active_controls) == sorted(types)
    for action in ALL_ACTIONS:
        permitted = operator.identities.permits(name, action)
        assert permitted is (action in permitted_under(types))


def test_the_list_shows_active_controls_as_the_get_does(operator):
    operator.identities.put(id="a")
    operator.controls.create(identity_id="a", type="FROZEN", reason_code="TEST")
    assert operator.identities.list().items == [operator.identities.get("a")]


def test_a_deleted_control_is_no_longer_among_the_active_ones(operator):
    operator.identities.put(id="a")
    made = operator.controls.create(identity_id="a", type="CLOSED", reason_code="TEST")
    operator.controls.delete(made.id)
    shown = operator.identities.get("a")
    assert shown.status == "APPROVED"
    assert shown.status_details.active_controls == ()
    assert shown.status_details.permitted_actions == ALL_ACTIONS


@pytest.fixture(scope="module")
def history(shared_open_as):
    """SELL_ONLY from day 2 to day 6, FROZEN from day 4 to day 5, CLOSED from day 8 on."""
    operator = shared_open_as()
    load(operator, "identities", identity(id="past"))
    spans = [("SELL_ONLY", 2, 6), ("FROZEN", 4, 5), ("CLOSED", 8, None)]
    for type, begun, ended in spans:
        given = {} if ended is None else {"deleted_at": at(days=ended)}
        line = control(identity_id="past", type=type, created_at=at(days=begun), **given)
        load(operator, "controls", line)
    return operator


@pytest.mark.parametrize(
    ("moment", "permitted"),
    [
        (at(days=1), ALL_ACTIONS),
        (at(-0.000001, days=2), ALL_ACTIONS),
        (at(days=2), ("SELL",)),
        (at(days=3), ("SELL",)),
        (at(days=4), ()),
        (at(days=4.5), ()),
        (at(days=5), ("SELL",)),
        (at(-0.000001, days=6), ("SELL",)),
        (at(days=6), ALL_ACTIONS),
        (at(days=7), ALL_ACTIONS),
        (at(days=9), ()),
        (None, ()),
    ],
)
def test_permits_answers_as_of_a_past_time(history, moment, permitted):
    for action in ALL_ACTIONS:
        assert history.identities.permits("past", action, at=moment) is (action in permitted)


@pytest.mark.parametrize("action", ["", "buy", "TRANSFER", "BUY "])
def test_permits_refuses_an_unknown_action(history, action):
    with refused("invalid-request", 400):
        history.identities.permits("past", action)


def test_permits_of_an_unknown_identity_is_not_found(history):
    with refused("not-found", 404):
        history.identities.permits("nobody", "BUY")


@pytest.mark.parametrize("malformed", ["", "a b", "é", "x" * 129, "a\n"])
@pytest.mark.parametrize("operation", ["get", "update", "permits"])
def test_a_malformed_id_in_a_path_is_not_found(history, operation, malformed):
    with refused("not-found", 404):
        if operation == "permits":
            history.identities.permits(malformed, "BUY")
        else:
            getattr(history.identities, operation)(malformed)


@pytest.mark.parametrize("malformed", ["", "a b", "é", "x" * 129, "a\n"])
def test_a_malformed_id_in_a_body_is_an_invalid_request(history, malformed):
    with refused("invalid-request", 400) as caught:
        history.identities.put(id=malformed)
    assert [error.field for error in caught.value.errors] == ["id"]


def test_update_returns_the_identity_and_replaces_metadata(operator, acme):
    operator.identities.put(id="a", customer_id="acme", metadata={"k": "v", "l": "w"})
    updated = acme.identities.update("a", metadata={"k": "x"})
    assert updated.metadata == {"k": "x"}
    assert updated == acme.identities.get("a")


@pytest.fixture(scope="module")
def listed(shared_open_as):
    """Three identities of acme, a second apart; one of globex; several with controls."""
    operator = shared_open_as()
    lines = [identity(id=f"acme-{n}", customer_id="acme", created_at=at(n)) for n in range(3)]
    lines[1]["ref_id"] = "R 1"
    load(operator, "identities", *lines, identity(id="globex-0", customer_id="globex"))
    create = operator.controls.create
    create(identity_id="acme-0", type="SELL_ONLY", reason_code="FIRST")
    create(identity_id="acme-1", type="CLOSED", reason_code="SECOND")
    create(identity_id="acme-1", type="DORMANT", reason_code="THIRD")
    lifted = create(identity_id="acme-2", type="FROZEN", reason_code="FOURTH")
    operator.controls.delete(lifted.id)
    return shared_open_as(customer="acme")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [2, 1, 0]),
        ({"order": "ASC"}, [0, 1, 2]),
        ({"control_types": "SELL_ONLY"}, [0]),
        ({"control_types": ["SELL_ONLY", "DORMANT"]}, [1, 0]),
        ({"control_types": ["CLOSED", "DORMANT"]}, [1]),
        ({"control_types": "FROZEN"}, []),
        ({"control_reason_codes": "SECOND"}, [1]),
        ({"control_reason_codes": ["FIRST", "THIRD"]}, [1, 0]),
        ({"control_reason_codes": "FOURTH"}, []),
        ({"control_reason_codes": "NEVER_USED"}, []),
        ({"ref_id": "R 1"}, [1]),
        ({"ref_id": "r 1"}, []),
        ({"ref_id": "R 1", "control_types": "SELL_ONLY"}, []),
        ({"customer_id": "acme"}, [2, 1, 0]),
        ({"created_at_gt": at(1)}, [2]),
        ({"created_at_lte": at(1), "control_types": ["CLOSED"]}, [1]),
    ],
    ids=repr,
)
def test_the_list_filters(listed, filters, expected):
    assert ids(listed.identities.list(**filters)) == [f"acme-{n}" for n in expected]


@pytest.mark.parametrize("word", ["sell_only", "OPEN", ""])
def test_the_list_refuses_an_unknown_control_type(listed, word):
    with refused("invalid-request", 400):
        listed.identities.list(control_types=word)


def test_an_identity_with_several_matching_controls_is_listed_once(operator, acme):
    operator.identities.put(id="a", customer_id="acme")
    for maker in (operator, acme):
        for type in ("CLOSED", "DORMANT"):
            maker.controls.create(identity_id="a", type=type, reason_code="TWICE")
    for service in (operator, acme):
        for filters in (
            {"control_types": "CLOSED"},
            {"control_types": ["CLOSED", "DORMANT"]},
            {"control_reason_codes": "TWICE"},
            {"control_types": "CLOSED", "control_reason_codes": "TWICE"},
        ):
            assert ids(service.identities.iter(limit=1, **filters)) == ["a"]


def test_times_are_aware_and_enumerations_are_plain_text(operator):
    shown = operator.identities.put(id="a")
    assert shown.created_at.utcoffset() == timedelta(0)
    assert type(shown.status) is str
    assert str(shown.status) == "APPROVED"
    assert isinstance(shown, comptroller.Identity)
