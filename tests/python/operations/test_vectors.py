"""The rule vectors, run through the package's operations; see their README."""

from __future__ import annotations

import json
from typing import Any

import comptroller
import pytest
from lines import at, claim, control, identity, load, refused
from places import ROOT

VECTORS = ROOT / "tests" / "vectors"
MOVES = {"submit": {"tx_hash": "0xabc"}, "confirm": {}, "fail": {"error_message": "reverted"}}

# The member of a case with the controls that its identity has.
BEFORE = {
    "permitted-actions": "active",
    "create-control": "standing",
    "delete-control": "others",
    "legacy-flags": "before",
    "legacy-loads": "before",
}


def cases(name: str) -> Any:
    """Returns the cases of a file as parameters, with the name of its identity or claim."""
    listed = json.loads((VECTORS / f"{name}.json").read_text())
    named = [(f"{name}-{number}", case) for number, case in enumerate(listed)]
    return pytest.mark.parametrize(("name", "case"), named, ids=[given for given, _ in named])


def written(text: str) -> dict[str, Any]:
    """Parses a control in the form TYPE/SET_BY, with an optional third part."""
    type, set_by, *rest = text.split("/")
    overridable = rest == ["overridable"] if rest else set_by == "CLIENT"
    return {"type": type, "set_by": set_by, "is_overridable": overridable}


def read(made: comptroller.Control) -> str:
    return f"{made.type}/{made.set_by}/{'overridable' if made.is_overridable else 'enforced'}"


@pytest.fixture(scope="module")
def people(shared_open_as):
    """The operator and a client of a store with the identity and controls of every case."""
    operator = shared_open_as()
    identities, controls = [], []
    for file, member in BEFORE.items():
        for number, case in enumerate(json.loads((VECTORS / f"{file}.json").read_text())):
            name = f"{file}-{number}"
            identities.append(identity(id=name))
            standing = [written(text) for text in case[member]]
            if file == "delete-control":
                mine = {key: case[key] for key in ("type", "set_by", "is_overridable")}
                gone = {"deleted_at": at(1)} if case["deleted"] else {}
                standing.append(mine | gone | {"id": name})
            controls += [control(identity_id=name, **members) for members in standing]
    load(operator, "identities", *identities, customer_id="acme")
    load(operator, "controls", *controls, customer_id="acme")
    return {"operator": operator, "client": shared_open_as(customer="acme")}


def check_identity(shown: comptroller.Identity, case: dict[str, Any]) -> None:
    """Compares an identity with the expected members of a case."""
    for member in ("status", "user_disabled", "admin_disabled"):
        if member in case:
            assert getattr(shown, member) == case[member]
    if "permitted_actions" in case:
        assert list(shown.status_details.permitted_actions) == case["permitted_actions"]
    if "after" in case:
        assert sorted(map(read, shown.status_details.active_controls)) == case["after"]


@cases("permitted-actions")
def test_permitted_actions(people, name, case):
    shown = people["client"].identities.get(name)
    check_identity(shown, case)
    for action in ("BUY", "SELL", "DEPOSIT", "WITHDRAW"):
        permitted = people["client"].identities.permits(name, action)
        assert permitted is (action in case["permitted_actions"])


@cases("create-control")
def test_create_control(people, name, case):
    chosen = {"is_overridable": case["is_overridable"]} if "is_overridable" in case else {}
    asked = {"identity_id": name, "type": case["type"], "reason_code": "VECTOR", **chosen}
    create = people[case["who"]].controls.create
    before = people["operator"].identities.get(name)
    if "code" in case:
        with refused(case["code"]):
            create(**asked)
        assert people["operator"].identities.get(name) == before
    else:
        made = create(**asked)
        assert (made.set_by, made.is_overridable) == (case["set_by"], case["overridable"])


@cases("delete-control")
def test_delete_control(people, name, case):
    delete = people[case["who"]].controls.delete
    if "code" in case:
        before = people["operator"].controls.get(name)
        with refused(case["code"]):
            delete(name)
        assert people["operator"].controls.get(name) == before
    else:
        assert delete(name).deleted_at is not None
    check_identity(people["operator"].identities.get(name), case)


@cases("legacy-flags")
def test_legacy_flags(people, name, case):
    update = people[case["who"]].identities.update
    if "code" in case:
        before = people["operator"].identities.get(name)
        with refused(case["code"]):
            update(name, **case["written"])
        assert people["operator"].identities.get(name) == before
    else:
        check_identity(update(name, **case["written"]), case)


@cases("legacy-loads")
def test_legacy_loads(people, name, case):
    line = identity(id=name, updated_at=at(1), **case["line"])
    load(people["operator"], "identities", line, customer_id="acme")
    check_identity(people["operator"].identities.get(name), case)


@cases("claim-moves")
def test_claim_transitions(shared_operator, name, case):
    shared_operator.claims.put(claim(id=name, onchain_status=case["from"]))
    move = getattr(shared_operator.claims, case["move"])
    if "code" in case:
        with refused(case["code"]):
            move(name, **MOVES[case["move"]])
    else:
        assert move(name, **MOVES[case["move"]]).onchain_status == case["to"]


@cases("claim-arrivals")
def test_claim_loads(shared_operator, name, case):
    stored = claim(id=name, onchain_status=case["stored"], updated_at=at(10))
    before = shared_operator.claims.put(stored)
    moment = {"earlier": at(9), "equal": at(10), "later": at(11)}[case["updated_at"]]
    line = stored | {"onchain_status": case["line"], "updated_at": moment}
    if case["content"] == "other":
        line["tx_hash"] = "0xother"
    result = shared_operator.load("claims", [line])
    if "code" in case:
        assert [rejection.code for rejection in result.rejections] == [case["code"]]
        assert shared_operator.claims.get(name) == before
    else:
        assert getattr(result, case["outcome"]) == 1
        assert result.committed


def test_every_file_of_vectors_is_used():
    run = {*BEFORE, "claim-moves", "claim-arrivals"}
    assert {path.stem for path in VECTORS.glob("*.json")} == run
