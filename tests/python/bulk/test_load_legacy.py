"""Loads of identities and controls in any order, and the deprecated booleans."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from comptroller import Service
from comptroller.bulk.legacy_controls import LEGACY_REASON_CODES
from examples import EARLIER, KINDS, LATER, NOON, exported, line, loaded, outcome, short_line

FLAGS: dict[str, dict[str, object]] = {
    "user_disabled": {
        "type": "SELL_ONLY",
        "set_by": "CLIENT",
        "is_overridable": True,
        "reason_code": "LEGACY_USER_DISABLED",
    },
    "admin_disabled": {
        "type": "SELL_ONLY",
        "set_by": "PROVIDER",
        "is_overridable": False,
        "reason_code": "LEGACY_ADMIN_DISABLED",
    },
}


def controls(operator: Service) -> list[Any]:
    return list(operator.controls.iter(identity_id="alice", include_deleted=True))


def test_a_control_implies_its_unknown_identity(operator: Service) -> None:
    assert outcome(operator, "controls", line("controls", customer_id="acme")) == "inserted"
    alice = operator.identities.get("alice")
    assert (alice.customer_id, alice.status) == ("acme", "DISABLED")
    assert operator.check()["ok"]


def test_an_implied_identity_gets_its_own_line(operator: Service, tmp_path: Path) -> None:
    loaded(operator, "controls", line("controls"))
    row = line("identities", created_at=EARLIER, updated_at=NOON)
    result = loaded(operator, "identities", row)
    assert (result.rejected, result.unchanged) == (0, 0)
    assert exported(operator, "identities", tmp_path) == [row]
    assert operator.identities.list(created_at_lt=NOON).items[0].status == "DISABLED"
    assert [i.id for i in operator.identities.list(control_types="CLOSED")] == ["alice"]
    assert outcome(operator, "identities", row) == "unchanged"
    assert operator.check()["ok"]


def test_the_reason_codes_of_flags_are_those_of_the_core(operator: Service) -> None:
    operator.identities.put(id="alice", **dict.fromkeys(FLAGS, True))
    assert sorted(LEGACY_REASON_CODES) == sorted(each.reason_code for each in controls(operator))


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_creates_its_control_once(operator: Service, flag: str) -> None:
    assert outcome(operator, "identities", line("identities", **{flag: True})) == "inserted"
    (control,) = controls(operator)
    assert {name: getattr(control, name) for name in FLAGS[flag]} == FLAGS[flag]
    assert getattr(operator.identities.get("alice"), flag)
    assert outcome(operator, "identities", line("identities", **{flag: True})) == "unchanged"
    assert controls(operator) == [control]


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("value", [False, ...])
def test_a_flag_that_is_not_true_changes_nothing(
    operator: Service, flag: str, value: object
) -> None:
    loaded(operator, "identities", line("identities", **{flag: True}))
    before = controls(operator)
    again = line("identities", **{flag: value}, updated_at=LATER)
    assert outcome(operator, "identities", again) == "updated"
    assert controls(operator) == before


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("is_overridable", [False, True])
def test_a_flag_creates_no_control_beside_an_active_one(
    operator: Service, flag: str, is_overridable: bool
) -> None:
    standing = line("controls", **FLAGS[flag]) | {
        "reason_code": "OTHER",
        "is_overridable": is_overridable,
    }
    loaded(operator, "controls", standing)
    loaded(operator, "identities", line("identities", **{flag: True}))
    assert [control.id for control in controls(operator)] == ["control-1"]


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize(
    ("changes", "ids"),
    [
        ({}, {"control-1"}),
        ({"reason_code": "OTHER"}, {"control-1"}),
        ({"deleted_at": LATER}, {"control-1", "legacy"}),
        ({"type": "CLOSED"}, {"control-1", "legacy"}),
    ],
)
def test_a_loaded_control_replaces_that_of_a_flag_in_a_load(
    operator: Service, flag: str, changes: dict[str, object], ids: set[str]
) -> None:
    loaded(operator, "identities", line("identities", **{flag: True}))
    legacy = controls(operator)[0].id
    row = line("controls", **(FLAGS[flag] | changes))
    assert outcome(operator, "controls", row) == "inserted"
    assert {control.id for control in controls(operator)} == {
        legacy if name == "legacy" else name for name in ids
    }
    assert operator.check()["ok"]


@pytest.mark.parametrize("controls_first", [False, True])
def test_active_controls_in_any_order_give_the_same_result(
    operator: Service, tmp_path: Path, controls_first: bool
) -> None:
    row = line("controls", **FLAGS["user_disabled"])
    steps = [("identities", line("identities", user_disabled=True)), ("controls", row)]
    for kind, given in reversed(steps) if controls_first else steps:
        assert outcome(operator, kind, given) == "inserted"
    assert exported(operator, "controls", tmp_path) == [row]
    assert exported(operator, "identities", tmp_path) == [line("identities")]


def test_a_given_status_is_ignored(operator: Service) -> None:
    row = line("identities", status="ERROR", status_details={"active_controls": []})
    result = loaded(operator, "identities", row)
    assert (result.inserted, result.unknown_members) == (1, {})
    assert operator.identities.get("alice").status == "APPROVED"


@pytest.mark.parametrize("kind", ["identities", "orchestrations", "payout-groups", "claims"])
def test_updated_at_defaults_to_created_at(operator: Service, tmp_path: Path, kind: str) -> None:
    assert outcome(operator, kind, short_line(kind)) == "inserted"
    assert exported(operator, kind, tmp_path)[0]["updated_at"] == NOON
    assert outcome(operator, kind, short_line(kind, updated_at=NOON)) == "unchanged"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "balances"])
@pytest.mark.parametrize(
    ("in_line", "of_load", "expected"),
    [
        (..., None, "default"),
        (..., "acme", "acme"),
        ("globex", None, "globex"),
        ("globex", "acme", "globex"),
    ],
)
def test_the_customer_of_a_line(
    operator: Service, kind: str, in_line: Any, of_load: str | None, expected: str
) -> None:
    row = line(kind, customer_id=in_line)
    assert outcome(operator, kind, row, customer_id=of_load) == "inserted"
    resource = getattr(operator, kind.replace("-", "_"))
    assert resource.get(row["id"]).customer_id == expected
    assert [item.id for item in resource.list(customer_id=expected)] == [row["id"]]


def test_a_put_orchestration_or_claim_is_a_load_of_one_line(operator: Service) -> None:
    resources = ((operator.claims, "claims"), (operator.orchestrations, "orchestrations"))
    for resource, kind in resources:
        row = line(kind)
        first = resource.put(row)
        assert resource.put(first) == first
        assert first.created_at == datetime(2026, 1, 31, 12, tzinfo=UTC)
        assert outcome(operator, kind, row) == "unchanged"
