"""Controls: who may create and delete them, and the filters of their list."""

from __future__ import annotations

from datetime import UTC, datetime

import comptroller
import pytest
from lines import at, control, fresh, identity, ids, load, refused

TYPES = ("SELL_ONLY", "CLOSED", "FROZEN", "DORMANT")


@pytest.fixture
def alice(operator) -> str:
    """An identity of acme."""
    return operator.identities.put(id="alice", customer_id="acme").id


def set_on(service: comptroller.Service, identity_id: str, type: str = "CLOSED", **members):
    return service.controls.create(
        identity_id=identity_id, type=type, reason_code="REQUESTED", **members
    )


@pytest.mark.parametrize("type", ["SELL_ONLY", "CLOSED", "DORMANT"])
def test_a_client_sets_an_overridable_control(acme, alice, type):
    before = datetime.now(UTC)
    made = set_on(acme, alice, type, reason="on request")
    assert (made.type, made.set_by, made.is_overridable) == (type, "CLIENT", True)
    assert (made.reason_code, made.reason) == ("REQUESTED", "on request")
    assert (made.identity_id, made.created_by) == (alice, "acme")
    assert (made.deleted_at, made.deleted_by, made.deletion_reason) == (None, None, None)
    assert before <= made.created_at <= datetime.now(UTC)
    assert acme.identities.get(alice).status_details.active_controls == (made,)
    assert acme.controls.get(made.id) == made


def test_a_client_may_not_set_frozen(acme, alice):
    with refused("control-type-not-permitted", 403):
        set_on(acme, alice, "FROZEN")
    assert acme.controls.list(include_deleted=True).items == []


@pytest.mark.parametrize("word", ["frozen", "OPEN", "", "SELL ONLY"])
@pytest.mark.parametrize("who", ["operator", "acme"])
def test_a_value_outside_a_closed_set_is_an_invalid_request(request, alice, who, word):
    with refused("invalid-request", 400) as caught:
        set_on(request.getfixturevalue(who), alice, word)
    assert [error.field for error in caught.value.errors] == ["type"]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("chosen", [None, False, True])
def test_the_operator_sets_any_type_and_chooses_whether_it_is_overridable(
    operator, operator_actor, alice, type, chosen
):
    made = set_on(operator, alice, type, is_overridable=chosen)
    assert (made.set_by, made.is_overridable) == ("PROVIDER", bool(chosen))
    assert made.created_by == operator_actor


def test_a_client_does_not_choose_whether_a_control_is_overridable(acme, alice):
    with pytest.raises(comptroller.Error) as caught:
        set_on(acme, alice, is_overridable=False)
    assert caught.value.status in (400, 403)
    assert acme.controls.list().items == []


def test_created_by_and_deleted_by_name_the_client(open_as, alice):
    desk = open_as(customer="acme", client_id="desk-7")
    night = open_as(customer="acme", client_id="night")
    made = set_on(desk, alice)
    assert made.created_by == "desk-7"
    lifted = night.controls.delete(made.id, reason="asked again")
    assert (lifted.created_by, lifted.deleted_by) == ("desk-7", "night")
    assert lifted.deletion_reason == "asked again"


@pytest.mark.parametrize("who", ["operator", "acme"])
def test_a_setter_has_one_active_control_of_a_type(request, alice, who):
    service = request.getfixturevalue(who)
    made = set_on(service, alice)
    with refused("already-exists", 409) as caught:
        set_on(service, alice, reason="another reason")
    assert caught.value.existing == made.id
    assert ids(service.controls.list(identity_id=alice)) == [made.id]


def test_controls_of_one_type_by_client_and_operator_coexist(operator, acme, alice):
    theirs, ours = set_on(acme, alice), set_on(operator, alice)
    active = acme.identities.get(alice).status_details.active_controls
    assert set(ids(active)) == {theirs.id, ours.id}


def test_a_deleted_control_can_be_set_again(acme, alice):
    first = set_on(acme, alice)
    acme.controls.delete(first.id)
    second = set_on(acme, alice)
    assert second.id != first.id
    assert ids(acme.controls.list(include_deleted=True, order="ASC")) == [first.id, second.id]


def test_deleting_the_only_control_reactivates_the_identity(acme, alice):
    made = set_on(acme, alice)
    before = datetime.now(UTC)
    lifted = acme.controls.delete(made.id)
    assert before <= lifted.deleted_at <= datetime.now(UTC)
    assert lifted.deleted_by == "acme"
    assert lifted.deletion_reason is None
    assert acme.controls.get(made.id) == lifted
    assert acme.identities.get(alice).status == "APPROVED"


def test_deleting_one_of_two_leaves_the_identity_disabled(acme, alice):
    first, second = set_on(acme, alice, "CLOSED"), set_on(acme, alice, "DORMANT")
    acme.controls.delete(first.id)
    shown = acme.identities.get(alice)
    assert shown.status == "DISABLED"
    assert ids(shown.status_details.active_controls) == [second.id]


def test_a_client_may_not_delete_a_control_that_is_not_overridable(operator, acme, alice):
    made = set_on(operator, alice)
    with refused("control-not-overridable", 403):
        acme.controls.delete(made.id)
    assert acme.controls.get(made.id).deleted_at is None
    assert acme.identities.get(alice).status == "DISABLED"


def test_a_client_may_delete_an_overridable_control_of_the_operator(operator, acme, alice):
    made = set_on(operator, alice, "FROZEN", is_overridable=True)
    assert acme.controls.delete(made.id).deleted_by == "acme"
    assert acme.identities.get(alice).status == "APPROVED"


@pytest.mark.parametrize("overridable", [False, True])
def test_the_operator_deletes_any_control(operator, operator_actor, acme, alice, overridable):
    ours = set_on(operator, alice, "FROZEN", is_overridable=overridable)
    theirs = set_on(acme, alice)
    for made in (ours, theirs):
        assert operator.controls.delete(made.id).deleted_by == operator_actor


@pytest.mark.parametrize("who", ["operator", "acme"])
def test_a_control_is_deleted_only_once(request, alice, who):
    service = request.getfixturevalue(who)
    lifted = service.controls.delete(set_on(service, alice).id, reason="first")
    with refused("already-deleted", 409):
        service.controls.delete(lifted.id, reason="second")
    assert service.controls.get(lifted.id) == lifted


def test_deleting_with_the_right_identity_is_allowed(acme, alice):
    made = set_on(acme, alice)
    assert acme.controls.delete(made.id, identity_id=alice).deleted_at is not None


def test_deleting_with_another_identity_changes_nothing(operator, acme, alice):
    operator.identities.put(id="bob", customer_id="acme")
    made = set_on(acme, alice)
    with pytest.raises(comptroller.Error):
        acme.controls.delete(made.id, identity_id="bob")
    assert acme.controls.get(made.id).deleted_at is None


def test_an_unknown_control_or_identity_is_not_found(acme, alice):
    for ask in (acme.controls.get, acme.controls.delete):
        with refused("not-found", 404):
            ask("01900000-0000-7000-8000-000000000000")
    with refused("not-found", 404):
        set_on(acme, "nobody")


def test_a_malformed_id_is_not_found_in_a_path_and_invalid_elsewhere(acme):
    with refused("not-found", 404):
        acme.controls.get("a b")
    with refused("invalid-request", 400):
        acme.controls.delete("a b")
    with refused("invalid-request", 400):
        acme.controls.list(identity_id="a b")


@pytest.mark.parametrize("word", ["A", "A" + "_" * 63, "A9_Z"])
def test_a_reason_code_is_any_value_of_an_open_set(shared_operator, word):
    name = shared_operator.identities.put(id=fresh("id")).id
    made = shared_operator.controls.create(identity_id=name, type="CLOSED", reason_code=word)
    assert made.reason_code == word


@pytest.mark.parametrize("word", ["", "a", "9A", "_A", "A-B", "A B", "Ä", "A" * 65, "A\n"])
def test_an_invalid_reason_code_is_refused(shared_operator, word):
    shared_operator.identities.put(id="any")
    with refused("invalid-request", 400) as caught:
        shared_operator.controls.create(identity_id="any", type="CLOSED", reason_code=word)
    assert [error.field for error in caught.value.errors] == ["reason_code"]


@pytest.fixture(scope="module")
def listed(shared_open_as):
    """Controls of acme on days 0 to 3, of two identities and setters; the first is deleted."""
    operator = shared_open_as()
    load(operator, "identities", *[identity(id=f"i{n}", customer_id="acme") for n in range(2)])
    load(operator, "identities", identity(id="elsewhere", customer_id="globex"))
    lines = [
        control(id="0", identity_id="i0", type="SELL_ONLY", deleted_at=at(days=2)),
        control(id="1", identity_id="i0", type="CLOSED", reason_code="OTHER"),
        control(id="2", identity_id="i1", type="FROZEN", set_by="PROVIDER", is_overridable=False),
        control(id="3", identity_id="i1", type="DORMANT"),
    ]
    for day, line in enumerate(lines):
        line["created_at"] = at(days=day)
    load(operator, "controls", *lines, customer_id="acme")
    other = control(id="4", identity_id="elsewhere")
    load(operator, "controls", other, customer_id="globex")
    return shared_open_as(customer="acme")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "321"),
        ({"order": "ASC"}, "123"),
        ({"include_deleted": False}, "321"),
        ({"include_deleted": True}, "3210"),
        ({"identity_id": "i0"}, "1"),
        ({"identity_id": "i0", "include_deleted": True}, "10"),
        ({"identity_id": "nobody"}, ""),
        ({"type": "CLOSED"}, "1"),
        ({"type": ["CLOSED", "DORMANT", "SELL_ONLY"]}, "31"),
        ({"set_by": "PROVIDER"}, "2"),
        ({"set_by": ["PROVIDER", "CLIENT"]}, "321"),
        ({"reason_code": "OTHER"}, "1"),
        ({"reason_code": ["OTHER", "REQUESTED"]}, "321"),
        ({"set_by": "CLIENT", "reason_code": "REQUESTED"}, "3"),
        ({"active_at": at(days=-1)}, ""),
        ({"active_at": at(days=0)}, "0"),
        ({"active_at": at(days=1.5)}, "10"),
        ({"active_at": at(days=2)}, "21"),
        ({"active_at": at(days=9)}, "321"),
        ({"active_at": at(days=1.5), "include_deleted": True}, "10"),
        ({"active_at": at(days=9), "include_deleted": True}, "321"),
        ({"active_at": at(days=1.5), "type": "SELL_ONLY"}, "0"),
        ({"created_at_gte": at(days=2)}, "32"),
        ({"created_at_lt": at(days=2), "include_deleted": True}, "10"),
        ({"customer_id": "acme"}, "321"),
    ],
    ids=repr,
)
def test_the_list_filters(listed, filters, expected):
    assert "".join(ids(listed.controls.list(**filters))) == expected


@pytest.mark.parametrize(
    ("name", "word"), [("type", "OPEN"), ("set_by", "ADMIN"), ("reason_code", "no word")]
)
def test_the_list_refuses_unknown_values(listed, name, word):
    with refused("invalid-request", 400) as caught:
        listed.controls.list(**{name: word})
    assert [error.field for error in caught.value.errors] == [name]


@pytest.mark.parametrize(
    "who",
    [
        {"customer": "acme", "client_id": "operator"},
        {"customer": "acme", "client_id": "operator:desk"},
        {"customer": "operator"},
    ],
)
def test_no_client_is_called_operator(open_as, who):
    with refused("invalid-request", 400) as caught:
        open_as(**who)
    assert [error.field for error in caught.value.errors] == ["client_id"]


def test_a_customer_may_be_called_operator_where_its_client_is_not(open_as, operator):
    operator.identities.put(id="bob", customer_id="operator")
    desk = open_as(customer="operator", client_id="desk-7")
    made = desk.controls.create(identity_id="bob", type="CLOSED", reason_code="X")
    assert made.created_by == "desk-7"
