"""The deprecated booleans, and the controls that they set and show."""

from __future__ import annotations

import pytest
from lines import at, control, identity, ids, load, refused

# The control of each flag: type, set_by, is_overridable, reason_code.
MEANING = {
    "user_disabled": ("SELL_ONLY", "CLIENT", True, "LEGACY_USER_DISABLED"),
    "admin_disabled": ("SELL_ONLY", "PROVIDER", False, "LEGACY_ADMIN_DISABLED"),
}
FLAGS = tuple(MEANING)
each_flag = pytest.mark.parametrize("flag", FLAGS)


def meaning(made) -> tuple[str, str, bool, str]:
    return made.type, made.set_by, made.is_overridable, made.reason_code


@pytest.fixture
def alice(operator) -> str:
    """An identity of acme."""
    return operator.identities.put(id="alice", customer_id="acme").id


@each_flag
def test_writing_true_creates_its_control(operator, alice, flag):
    shown = operator.identities.update(alice, **{flag: True})
    (made,) = shown.status_details.active_controls
    assert meaning(made) == MEANING[flag]
    assert [getattr(shown, other) for other in FLAGS] == [other == flag for other in FLAGS]
    assert shown.status == "DISABLED"
    assert shown.status_details.permitted_actions == ("SELL",)
    assert ids(operator.controls.list(identity_id=alice)) == [made.id]


@each_flag
def test_writing_true_again_creates_nothing(operator, alice, flag):
    first = operator.identities.update(alice, **{flag: True})
    second = operator.identities.update(alice, **{flag: True})
    assert second.status_details.active_controls == first.status_details.active_controls
    assert len(operator.controls.list(include_deleted=True)) == 1


@each_flag
def test_writing_false_deletes_the_control(operator, operator_actor, alice, flag):
    operator.identities.update(alice, **{flag: True})
    shown = operator.identities.update(alice, **{flag: False})
    assert getattr(shown, flag) is False
    assert shown.status == "APPROVED"
    (gone,) = operator.controls.list(include_deleted=True)
    assert gone.deleted_at is not None
    assert gone.deleted_by == operator_actor


@each_flag
def test_writing_false_without_a_control_does_nothing(operator, alice, flag):
    operator.controls.create(identity_id=alice, type="CLOSED", reason_code="OTHER")
    shown = operator.identities.update(alice, **{flag: False})
    assert [c.type for c in shown.status_details.active_controls] == ["CLOSED"]
    assert len(operator.controls.list(include_deleted=True)) == 1


def test_a_flag_can_be_set_and_cleared_repeatedly(acme, alice):
    for _ in range(3):
        assert acme.identities.update(alice, user_disabled=True).user_disabled
        assert not acme.identities.update(alice, user_disabled=False).user_disabled
    assert len(acme.controls.list(include_deleted=True)) == 3


def test_both_flags_in_one_update_create_both_controls(operator, alice):
    shown = operator.identities.update(alice, user_disabled=True, admin_disabled=True)
    made = sorted(meaning(c) for c in shown.status_details.active_controls)
    assert made == sorted(MEANING.values())


def test_an_omitted_flag_is_unchanged(operator, alice):
    operator.identities.update(alice, user_disabled=True, admin_disabled=True)
    shown = operator.identities.update(alice, metadata={"k": "v"})
    assert (shown.user_disabled, shown.admin_disabled) == (True, True)


def test_a_client_writes_its_own_flag(acme, alice):
    shown = acme.identities.update(alice, user_disabled=True)
    (made,) = shown.status_details.active_controls
    assert made.created_by == "acme"
    assert meaning(made) == MEANING["user_disabled"]


@pytest.mark.parametrize("value", [True, False])
def test_a_client_may_not_write_the_operators_flag(operator, acme, alice, value):
    before = operator.identities.update(alice, admin_disabled=not value)
    with refused("control-not-overridable", 403):
        acme.identities.update(alice, admin_disabled=value, metadata={"k": "v"})
    assert operator.identities.get(alice) == before


@each_flag
def test_a_created_control_shows_in_its_flag(operator, acme, alice, flag):
    maker = acme if flag == "user_disabled" else operator
    made = maker.controls.create(identity_id=alice, type="SELL_ONLY", reason_code="NEW_WAY")
    shown = maker.identities.get(alice)
    assert [getattr(shown, other) for other in FLAGS] == [other == flag for other in FLAGS]
    maker.controls.delete(made.id)
    assert getattr(maker.identities.get(alice), flag) is False


@each_flag
def test_writing_false_deletes_a_created_control(operator, acme, alice, flag):
    maker = acme if flag == "user_disabled" else operator
    made = maker.controls.create(identity_id=alice, type="SELL_ONLY", reason_code="NEW_WAY")
    maker.identities.update(alice, **{flag: False})
    assert maker.controls.get(made.id).deleted_at is not None


@each_flag
def test_writing_true_with_an_active_control_creates_no_second(operator, acme, alice, flag):
    maker = acme if flag == "user_disabled" else operator
    made = maker.controls.create(identity_id=alice, type="SELL_ONLY", reason_code="NEW_WAY")
    shown = maker.identities.update(alice, **{flag: True})
    assert ids(shown.status_details.active_controls) == [made.id]


@pytest.mark.parametrize("type", ["CLOSED", "DORMANT", "FROZEN"])
def test_other_types_show_in_no_flag(operator, alice, type):
    operator.controls.create(identity_id=alice, type=type, reason_code="OTHER")
    shown = operator.identities.get(alice)
    assert (shown.user_disabled, shown.admin_disabled) == (False, False)


# A control of the flag's type and setter, but with the other is_overridable.
@pytest.fixture
def in_the_way(operator, alice) -> dict[str, str]:
    lines = {}
    for flag, (type, set_by, overridable, _) in MEANING.items():
        line = control(type=type, set_by=set_by, is_overridable=not overridable, identity_id=alice)
        load(operator, "controls", line, customer_id="acme")
        lines[flag] = line["id"]
    return lines


@each_flag
def test_a_control_with_the_other_overridable_is_no_flag(operator, alice, in_the_way, flag):
    assert getattr(operator.identities.get(alice), flag) is False


@each_flag
def test_writing_true_with_a_conflicting_control_is_a_conflict(operator, alice, in_the_way, flag):
    with refused("already-exists", 409):
        operator.identities.update(alice, **{flag: True})
    assert {c.id for c in operator.controls.list(include_deleted=True)} == set(in_the_way.values())


@each_flag
def test_writing_false_leaves_a_conflicting_control(operator, alice, in_the_way, flag):
    operator.identities.update(alice, **{flag: False})
    assert operator.controls.get(in_the_way[flag]).deleted_at is None


@each_flag
@pytest.mark.parametrize("value", [True, False, None])
def test_loading_an_identity_migrates_true_only(operator, flag, value):
    given = {} if value is None else {flag: value}
    load(operator, "identities", identity(id="old", **given))
    shown = operator.identities.get("old")
    made = [meaning(c) for c in shown.status_details.active_controls]
    assert made == ([MEANING[flag]] if value else [])
    assert getattr(shown, flag) is bool(value)


@each_flag
@pytest.mark.parametrize("value", [False, None])
def test_loading_false_or_nothing_changes_no_control(operator, flag, value):
    given = {} if value is None else {flag: value}
    load(operator, "identities", identity(id="old", **{flag: True}))
    load(operator, "identities", identity(id="old", updated_at=at(1), **given))
    assert getattr(operator.identities.get("old"), flag) is True


@each_flag
def test_loading_true_twice_creates_one_control(operator, flag):
    line = identity(id="old", **{flag: True})
    load(operator, "identities", line)
    load(operator, "identities", line)
    assert len(operator.controls.list(include_deleted=True)) == 1


@each_flag
def test_loading_true_with_a_control_of_that_type_and_setter_creates_none(operator, alice, flag):
    type, set_by, overridable, _ = MEANING[flag]
    line = control(type=type, set_by=set_by, is_overridable=overridable, identity_id=alice)
    load(operator, "controls", line, customer_id="acme")
    again = identity(
        id=alice, customer_id="acme", created_at=operator.identities.get(alice).created_at
    )
    operator.load("identities", [again | {flag: True, "updated_at": at(days=9999)}])
    assert ids(operator.controls.list(include_deleted=True)) == [line["id"]]


@each_flag
def test_a_loaded_control_replaces_that_of_a_flag(operator, flag):
    type, set_by, overridable, _ = MEANING[flag]
    load(operator, "identities", identity(id="old", **{flag: True}))
    line = control(type=type, set_by=set_by, is_overridable=overridable, identity_id="old")
    load(operator, "controls", line)
    assert ids(operator.controls.list(identity_id="old")) == [line["id"]]
    assert getattr(operator.identities.get("old"), flag) is True
