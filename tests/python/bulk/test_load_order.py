"""Loads of lines whose record exists, or that refer to later lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from comptroller import Service
from examples import (
    ADDRESS,
    EARLIER,
    EVM_ADDRESSES,
    GROUP,
    KINDS,
    LATER,
    NOON,
    exported,
    group_id,
    line,
    loaded,
    outcome,
    short_line,
)


def ready(operator: Service, kind: str) -> None:
    """Loads the record that must exist before a line that refers to it."""
    if kind == "balances":
        assert outcome(operator, "reward-addresses", line("reward-addresses")) == "inserted"


TIMED = ("identities", "orchestrations", "payout-groups", "claims")

# A second line of the same id: its changes, and its outcome.
SECOND_LINES: list[tuple[str, dict[str, object], str]] = [
    *((kind, {}, "unchanged") for kind in KINDS),
    *((kind, {"updated_at": LATER}, "updated") for kind in TIMED),
    *((kind, {"updated_at": EARLIER}, "already-exists") for kind in TIMED),
    *((kind, {"created_at": EARLIER}, "already-exists") for kind in KINDS if kind != "balances"),
    *((kind, {"created_at": EARLIER, "updated_at": LATER}, "already-exists") for kind in TIMED),
    *((kind, {"customer_id": "acme"}, "already-exists") for kind in KINDS if kind != "balances"),
    *((kind, {"customer_id": "acme", "updated_at": LATER}, "already-exists") for kind in TIMED),
    *(
        (
            kind,
            dict.fromkeys(("created_at", "updated_at"), "2026-01-31T13:00:00+01:00"),
            "unchanged",
        )
        for kind in TIMED
    ),
    ("identities", {"ref_id": "other"}, "already-exists"),
    ("identities", {"ref_id": "other", "updated_at": LATER}, "updated"),
    ("identities", {"metadata": {"tier": "tin"}, "updated_at": LATER}, "updated"),
    ("identities", {"status": "ERROR"}, "unchanged"),
    ("identities", {"user_disabled": False, "admin_disabled": False}, "unchanged"),
    ("orchestrations", {"source_amount": "10408.650"}, "unchanged"),
    ("orchestrations", {"source_amount": "10408.66"}, "already-exists"),
    ("orchestrations", {"status": "COMPLETED"}, "already-exists"),
    ("orchestrations", {"status": "COMPLETED", "updated_at": LATER}, "updated"),
    ("orchestrations", {"status": "COMPLETED", "updated_at": EARLIER}, "already-exists"),
    ("payout-groups", {"claimer_address": EVM_ADDRESSES[0].lower()}, "unchanged"),
    ("payout-groups", {"name": "Merlin"}, "already-exists"),
    ("payout-groups", {"name": "Merlin", "updated_at": LATER}, "updated"),
    ("payout-groups", {"id": GROUP.upper()}, "unchanged"),
    ("reward-addresses", {"name": "other"}, "updated"),
    ("reward-addresses", {"status": "INACTIVE"}, "updated"),
    ("reward-addresses", {"payout_group_id": group_id(9)}, "updated"),
    ("reward-addresses", {"address": EVM_ADDRESSES[3].lower()}, "unchanged"),
    ("reward-addresses", {"address": EVM_ADDRESSES[1]}, "already-exists"),
    ("reward-addresses", {"ledger": "INK"}, "already-exists"),
    ("reward-addresses", {"id": group_id(9)}, "already-exists"),
    ("reward-addresses", {"id": group_id(9), "customer_id": "acme"}, "already-exists"),
    ("reward-addresses", {"id": group_id(9), "ledger": "INK", "payout_group_id": ...}, "inserted"),
    ("claims", {"amount": "33"}, "already-exists"),
    ("claims", {"amount": "33", "updated_at": LATER}, "updated"),
    ("claims", {"addresses": [], "updated_at": LATER}, "updated"),
    ("balances", {"balance": "12.5"}, "unchanged"),
    ("balances", {"balance": "12.500000000000000000"}, "unchanged"),
    ("balances", {"at": "2026-01-31T12:00:00.0000009Z"}, "unchanged"),
    ("balances", {"balance": "12.51"}, "already-exists"),
    ("balances", {"balance": "12.51", "at": LATER}, "inserted"),
    ("controls", {"deleted_at": LATER}, "updated"),
    (
        "controls",
        {"deleted_at": LATER, "deleted_by": "bob", "deletion_reason": "done"},
        "updated",
    ),
    ("controls", {"deleted_at": LATER, "reason": "other"}, "already-exists"),
    ("controls", {"deleted_at": LATER, "reason_code": "OTHER"}, "already-exists"),
    ("controls", {"reason": "other"}, "already-exists"),
    ("controls", {"type": "DORMANT"}, "already-exists"),
    ("controls", {"is_overridable": False}, "already-exists"),
    ("controls", {"id": "control-2"}, "already-exists"),
    ("controls", {"id": "control-2", "deleted_at": LATER}, "inserted"),
    ("controls", {"id": "control-2", "set_by": "PROVIDER"}, "inserted"),
    ("controls", {"id": "control-2", "type": "DORMANT"}, "inserted"),
    ("controls", {"id": "control-2", "identity_id": "bob"}, "inserted"),
]


@pytest.mark.parametrize(("kind", "changes", "expected"), SECOND_LINES)
def test_a_second_line(
    operator: Service, tmp_path: Path, kind: str, changes: dict[str, object], expected: str
) -> None:
    ready(operator, kind)
    assert outcome(operator, kind, line(kind)) == "inserted"
    before = exported(operator, kind, tmp_path)
    assert outcome(operator, kind, line(kind, **changes)) == expected
    if expected in ("inserted", "updated"):
        assert outcome(operator, kind, line(kind, **changes)) == "unchanged"
    else:
        assert exported(operator, kind, tmp_path) == before
    assert operator.check()["ok"]


@pytest.mark.parametrize(("kind", "changes", "expected"), SECOND_LINES)
def test_a_second_line_of_the_same_file(
    shared_operator: Service, kind: str, changes: dict[str, object], expected: str
) -> None:
    first = line(kind)
    if kind == "balances":
        first["address_id"] = group_id(50)
        other = {"id": group_id(50), "address": EVM_ADDRESSES[0]}
        loaded(shared_operator, "reward-addresses", short_line("reward-addresses", **other))
    # A dry run sees its own earlier lines, and does not change the store.
    second = {name: value for name, value in (first | changes).items() if value is not ...}
    result = loaded(shared_operator, kind, first, second, dry_run=True)
    counts = {"inserted": 1, "updated": 0, "unchanged": 0, "rejected": 0}
    counts[expected if expected in counts else "rejected"] += 1
    assert {name: getattr(result, name) for name in counts} == counts
    rejections = [(rejection.line, rejection.code) for rejection in result.rejections]
    assert rejections == ([] if expected in counts else [(2, expected)])


def test_the_first_text_of_an_amount_is_kept(operator: Service, tmp_path: Path) -> None:
    ready(operator, "balances")
    loaded(operator, "balances", line("balances"), line("balances", balance="12.5"))
    assert exported(operator, "balances", tmp_path)[0]["balance"] == "12.50"


CLAIM_STATES = ("PENDING", "SUBMITTED", "CONFIRMED", "FAILED")
CLAIM_MOVES = {
    ("PENDING", "SUBMITTED"),
    ("PENDING", "CONFIRMED"),
    ("PENDING", "FAILED"),
    ("SUBMITTED", "CONFIRMED"),
    ("SUBMITTED", "FAILED"),
}


@pytest.mark.parametrize("stored", CLAIM_STATES)
@pytest.mark.parametrize("arriving", CLAIM_STATES)
def test_a_claim_only_advances(operator: Service, stored: str, arriving: str) -> None:
    first = short_line("claims", onchain_status=stored)
    assert outcome(operator, "claims", first) == "inserted"
    second = first | {"onchain_status": arriving}
    may_move = stored == arriving or (stored, arriving) in CLAIM_MOVES
    if stored != arriving:
        expected = "already-exists" if may_move else "illegal-transition"
        assert outcome(operator, "claims", second) == expected
    expected = "updated" if may_move else "illegal-transition"
    assert outcome(operator, "claims", second | {"updated_at": LATER}) == expected
    assert operator.claims.get("claim-1").onchain_status == (arriving if may_move else stored)


def test_a_deleted_control_is_unchanged(operator: Service) -> None:
    loaded(operator, "controls", line("controls", deleted_at=LATER, deleted_by="bob"))
    for changes in (
        {"deleted_at": None},
        {"deleted_at": "2027-01-01T00:00:00Z", "deleted_by": "bob"},
        {"deleted_at": LATER, "deleted_by": "eve"},
        {"deleted_at": LATER, "deleted_by": "bob", "deletion_reason": "why not"},
    ):
        assert outcome(operator, "controls", line("controls", **changes)) == "already-exists"


# ---- what a line names may come after it ---------------------------------------------------------


@pytest.mark.parametrize("claims_first", [False, True])
@pytest.mark.parametrize(
    ("claim", "given", "expected"),
    [
        ({"onchain_status": "CONFIRMED", "confirmed_at": LATER}, ..., LATER),
        ({"onchain_status": "CONFIRMED", "confirmed_at": LATER}, NOON, LATER),
        ({"onchain_status": "CONFIRMED", "confirmed_at": EARLIER}, NOON, NOON),
        ({"onchain_status": "SUBMITTED", "confirmed_at": LATER}, NOON, NOON),
        ({"onchain_status": "FAILED", "confirmed_at": LATER}, ..., None),
        ({"onchain_status": "CONFIRMED", "confirmed_at": ...}, ..., None),
        (
            {"onchain_status": "CONFIRMED", "confirmed_at": LATER, "claim_type": "CLAIM_SOME"},
            NOON,
            NOON,
        ),
    ],
)
def test_a_confirmed_claim_all_updates_its_group(
    operator: Service,
    tmp_path: Path,
    claims_first: bool,
    claim: dict[str, object],
    given: Any,
    expected: str | None,
) -> None:
    group = line("payout-groups", last_claim_all_at=given)
    steps = [("payout-groups", group), ("claims", line("claims", **claim))]
    for kind, row in reversed(steps) if claims_first else steps:
        assert outcome(operator, kind, row) == "inserted"
    shown = exported(operator, "payout-groups", tmp_path)[0]
    assert shown.pop("last_claim_all_at", None) == expected
    group.pop("last_claim_all_at", None)
    assert shown == group
    assert outcome(operator, "payout-groups", line("payout-groups", last_claim_all_at=given)) == (
        "unchanged"
    )


def test_a_claim_that_becomes_confirmed_updates_its_group(operator: Service) -> None:
    loaded(operator, "payout-groups", short_line("payout-groups"))
    claims = [short_line("claims", id=name) for name in ("a", "b")]
    loaded(operator, "claims", *claims)
    moved = {"onchain_status": "CONFIRMED", "confirmed_at": LATER, "updated_at": LATER}
    loaded(operator, "claims", *(claim | moved for claim in claims))
    noted = operator.payout_groups.get(GROUP).last_claim_all_at
    assert noted == operator.claims.get("a").confirmed_at


def test_a_claim_gets_its_jurisdiction_with_its_group(operator: Service) -> None:
    def ids(jurisdiction: str) -> list[str]:
        return [claim.id for claim in operator.claims.list(jurisdiction=jurisdiction)]

    loaded(operator, "claims", short_line("claims"))
    assert ids("DE") == []
    loaded(operator, "payout-groups", line("payout-groups"))
    assert ids("DE") == ["claim-1"]
    loaded(operator, "payout-groups", line("payout-groups", jurisdiction="FR", updated_at=LATER))
    assert (ids("DE"), ids("FR")) == ([], ["claim-1"])


FOREIGN_PAIRS = [
    ("payout-groups", "claims"),
    ("claims", "payout-groups"),
    ("payout-groups", "reward-addresses"),
    ("reward-addresses", "payout-groups"),
    ("identities", "controls"),
    ("controls", "identities"),
]


@pytest.mark.parametrize(("first", "second"), FOREIGN_PAIRS)
@pytest.mark.parametrize("named_by", ["line", "load"])
def test_a_reference_to_another_customer_is_rejected(
    operator: Service, first: str, second: str, named_by: str
) -> None:
    rows = {kind: short_line(kind) for kind in (first, second)}
    rows.get("reward-addresses", {})["payout_group_id"] = GROUP
    assert outcome(operator, first, rows[first]) == "inserted"
    row = rows[second]
    if named_by == "line":
        result = loaded(operator, second, row | {"customer_id": "acme"}, keep_going=True)
    else:
        result = loaded(operator, second, row, customer_id="acme", keep_going=True)
    assert (result.rejected, result.inserted) == (1, 0)
    assert outcome(operator, second, row) == "inserted"
    assert operator.check()["ok"]


@pytest.mark.parametrize("group_first", [False, True])
def test_an_address_and_its_group_are_on_one_ledger(operator: Service, group_first: bool) -> None:
    steps = [
        ("payout-groups", short_line("payout-groups", ledger="INK")),
        ("reward-addresses", line("reward-addresses")),
    ]
    (first, row), (second, other) = steps if group_first else reversed(steps)
    assert outcome(operator, first, row) == "inserted"
    assert outcome(operator, second, other) == "ledger-mismatch"
    assert operator.check()["ok"]


def test_an_address_of_an_unknown_group_is_stored(operator: Service) -> None:
    assert outcome(operator, "reward-addresses", line("reward-addresses")) == "inserted"
    assert operator.reward_addresses.get(ADDRESS).payout_group_id == GROUP
    assert outcome(operator, "payout-groups", line("payout-groups")) == "inserted"
    assert [a.id for a in operator.reward_addresses.list(payout_group_id=GROUP)] == [ADDRESS]


def test_a_balance_of_an_unknown_address_is_rejected(operator: Service) -> None:
    assert outcome(operator, "balances", line("balances")) == "not-found"
