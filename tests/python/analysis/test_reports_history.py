"""The history of a claim, an identity, a group or an address: its events in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import comptroller
import polars
import pytest
from lines import address, at, balance, claim, control, group, identity, load, orchestration
from reporting import IN_JOURNAL, MONEY, only, ran

GROUP = "01900000-0000-7000-8000-0000000000aa"
OTHER = "01900000-0000-7000-8000-0000000000ab"
ADDRESS = "01900000-0000-7000-8000-0000000000bb"
PLACE = "0x" + "ab" * 20


def of(svc: comptroller.Service, id: str, **bounds: Any) -> list[tuple[Any, ...]]:
    return only(events(svc, id, **bounds), "at", "record", "event", "detail")


def events(svc: comptroller.Service, id: str, **bounds: Any) -> list[dict[str, Any]]:
    """Returns the rows that are not of the journal."""
    rows = ran(svc, "history", id, **bounds)
    return [row for row in rows if row["event"] not in IN_JOURNAL]


@pytest.fixture
def store(operator: comptroller.Service) -> comptroller.Service:
    """A group with an address, a failed claim, and the claim that made it good."""
    load(
        operator, "payout-groups", group(id=GROUP, name="ours", created_at=at(0), asset_type="ETH")
    )
    owned = address(id=ADDRESS, payout_group_id=GROUP, address=PLACE, created_at=at(1))
    load(operator, "reward-addresses", owned)
    load(operator, "balances", balance(address_id=ADDRESS, at=at(2), balance="7"))
    given = {"payout_group_id": GROUP, "addresses": [PLACE]}
    failed = {"onchain_status": "FAILED", "error_message": "out of gas", "updated_at": at(20)}
    good = {"onchain_status": "CONFIRMED", "submitted_at": at(32), "confirmed_at": at(40)}
    load(
        operator,
        "claims",
        claim(id="failed", created_at=at(10), submitted_at=at(12), **failed, **given),
        claim(id="good", created_at=at(30), **good, **given),
        claim(
            id="later", created_at=at(50), confirmed_at=at(60), onchain_status="CONFIRMED", **given
        ),
        claim(id="theirs"),
    )
    return operator


def test_a_failed_claim_shows_the_claim_that_made_it_good(store: comptroller.Service) -> None:
    assert of(store, "failed") == [
        (at(10), "claim", "created", None),
        (at(12), "claim", "submitted", None),
        (at(20), "claim", "failed", "out of gas"),
        (at(40), "claim", "made good", "good"),
    ]
    assert [event for _, _, event, _ in of(store, "good")] == ["created", "submitted", "confirmed"]


def test_a_group_shows_its_addresses_balances_and_claims(store: comptroller.Service) -> None:
    rows = events(store, GROUP)
    assert only(rows[:3], "record", "event", "detail", "amount") == [
        ("group", "created", "ours", None),
        ("address", "created", store.reward_addresses.get(ADDRESS).address, None),
        ("address", "balance", store.reward_addresses.get(ADDRESS).address, Decimal(7)),
    ]
    assert {row["id"] for row in rows if row["record"] == "claim"} == {"failed", "good", "later"}
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)


@pytest.mark.parametrize("named", [ADDRESS, PLACE, PLACE.upper().replace("X", "x")])
def test_an_address_is_found_by_its_id_or_its_text(store: comptroller.Service, named: str) -> None:
    rows = events(store, named)
    assert {row["id"] for row in rows if row["record"] == "claim"} == {"failed", "good", "later"}
    assert [row["amount"] for row in rows if row["event"] == "balance"] == [Decimal(7)]


def test_an_identity_shows_its_controls_and_orchestrations(operator: comptroller.Service) -> None:
    identity = operator.identities.put(id="someone", customer_id="acme")
    why = {"reason_code": "COURT_ORDER", "reason": "asked by a court"}
    control = operator.controls.create(identity_id=identity.id, type="FROZEN", **why)
    operator.controls.delete(control.id, reason="lifted")
    moved = {"identity_id": identity.id, "status": "COMPLETED", "source_asset": "EUR"}
    load(operator, "orchestrations", orchestration(**moved, updated_at=at(90)))
    rows = events(operator, identity.id)
    found = {(row["record"], row["event"]): row for row in rows}
    assert set(found) == {
        *(("identity", "created"), ("control", "created"), ("control", "deleted")),
        *(("orchestration", "created"), ("orchestration", "completed")),
    }
    made = found["control", "created"]
    assert made["actor"] == "operator"
    assert "FROZEN" in made["detail"]
    assert "asked by a court" in made["detail"]
    assert found["control", "deleted"]["detail"] == "lifted"


def test_events_of_one_time_are_in_logical_order(operator: comptroller.Service) -> None:
    times = dict.fromkeys(("created_at", "submitted_at", "confirmed_at", "updated_at"), at())
    load(operator, "claims", claim(id="tied", onchain_status="CONFIRMED", **times))
    rows = events(operator, "tied")
    assert [row["event"] for row in rows] == ["created", "submitted", "confirmed"]


def test_the_case_of_a_uuid_does_not_matter(operator: comptroller.Service) -> None:
    load(operator, "claims", claim(id="019F1345-CF41-750F-B069-71EA6C5780E2"))
    for id in ("019f1345-cf41-750f-b069-71ea6c5780e2", "019F1345-CF41-750F-B069-71EA6C5780E2"):
        assert len(events(operator, id)) == 1


def test_an_existing_subject_may_have_no_events_in_a_period(store: comptroller.Service) -> None:
    assert len(store.reports.history("failed", since="2030-01-01")) == 0


def test_a_period_bounds_the_events(store: comptroller.Service) -> None:
    rows = of(store, "failed", since=at(12), until=at(40))
    assert [event for _, _, event, _ in rows] == ["submitted", "failed"]


def test_an_unknown_subject_is_not_found(store: comptroller.Service) -> None:
    with pytest.raises(comptroller.NotFound, match="no claim, identity, payout group or address x"):
        store.reports.history("x")


@pytest.mark.parametrize(
    "bounds", [{"since": at()}, {"until": at()}, {"since": at(), "until": at()}]
)
def test_an_unknown_subject_is_not_found_in_any_period(
    store: comptroller.Service, bounds: dict[str, Any]
) -> None:
    with pytest.raises(comptroller.NotFound, match="no claim, identity, payout group or address x"):
        store.reports.history("x", **bounds)
    with pytest.raises(comptroller.NotFound, match=f"no payout group {ADDRESS}"):
        store.reports.group_statement(ADDRESS, "2026-01", **bounds)
    assert len(store.reports.history("failed", until=at())) == 0


def test_a_client_without_any_scope_is_forbidden_everything(
    store: comptroller.Service, open_as: Any
) -> None:
    client = open_as(customer="default", scopes=[])
    for id in (GROUP, "x"):
        with pytest.raises(comptroller.Forbidden, match="rewards:read_claims; or ") as refused:
            client.reports.history(id)
        assert refused.value.code == "insufficient-scope"


def test_a_history_omits_records_without_permission(
    store: comptroller.Service, open_as: Any
) -> None:
    reader = open_as(customer="default", scopes=["identity:read_identity"])
    with pytest.raises(comptroller.NotFound):
        reader.reports.history(GROUP)


def test_a_client_has_the_history_of_its_records(store: comptroller.Service, open_as: Any) -> None:
    rows = open_as(customer="default").reports.history(GROUP).to_dicts()
    assert {row["event"] for row in rows} >= {"created", "confirmed", "failed", "made good"}
    assert "balance" not in {row["event"] for row in rows}
    with pytest.raises(comptroller.NotFound):
        open_as(customer="acme").reports.history(GROUP)


def test_columns_have_their_types(store: comptroller.Service) -> None:
    schema = dict(store.reports.history(GROUP).to_polars().schema)
    assert schema.pop("amount") == MONEY
    assert schema.pop("at") == polars.Datetime("us", "UTC")
    assert set(schema.values()) == {polars.String}


def rewritten(operator: comptroller.Service) -> datetime:
    """Loads a claim, then another amount of it; returns a time between them."""
    paid = {"id": "paid", "payout_group_id": GROUP}
    confirmed = {**paid, "onchain_status": "CONFIRMED", "confirmed_at": at(5)}
    load(operator, "claims", claim(**confirmed, amount="7.50", updated_at=at(5)))
    between = datetime.now(UTC)
    load(operator, "claims", claim(**confirmed, amount="8.25", updated_at=at(6)))
    return between


def test_a_rewritten_amount_shows_who_wrote_it(open_as: Any) -> None:
    between = rewritten(open_as(actor="operator:desk"))
    svc = open_as()
    rows = svc.reports.history("paid").to_dicts()
    (changed,) = [row for row in rows if row["member"] == "amount"]
    shown = (changed["event"], changed["record"], changed["id"], changed["actor"])
    assert shown == ("changed", "claim", "paid", "operator:desk")
    assert (changed["old"], changed["new"]) == ("7.50", "8.25")
    assert changed["at"] > between
    entry = svc.journal.list(id="paid")[-1]
    assert changed["detail"] == f"entry {entry.sequence}: claims.load"
    assert changed["at"] == entry.recorded_at
    # The amounts of earlier events are those of their time.
    assert [row["amount"] for row in rows if row["amount"]] == [Decimal("7.50")] * 2
    (recorded,) = [row for row in rows if row["event"] == "recorded"]
    assert recorded["actor"] == "operator:desk"
    assert recorded["at"] < between


def test_a_record_is_shown_as_the_store_had_it(operator: comptroller.Service) -> None:
    before = datetime.now(UTC)
    between = rewritten(operator)
    rows = operator.reports.history("paid", as_of_recorded=between).to_dicts()
    assert [(row["event"], row["amount"]) for row in rows] == [
        ("created", Decimal("7.50")),
        ("confirmed", Decimal("7.50")),
        ("recorded", None),
    ]
    assert len(operator.reports.history("paid", as_of_recorded=before)) == 0
    assert len(operator.reports.history("paid", as_of_recorded="2100-01-01")) > len(rows)


def test_controls_are_shown_as_the_store_had_them(operator: comptroller.Service) -> None:
    operator.identities.put(id="alice", customer_id="acme")
    control = operator.controls.create(identity_id="alice", type="FROZEN", reason_code="REVIEW")
    between = datetime.now(UTC)
    operator.controls.delete(control.id, reason="done")
    shown = operator.reports.history("alice", as_of_recorded=between).to_dicts()
    assert [(row["record"], row["event"]) for row in shown] == [
        ("identity", "created"),
        ("identity", "recorded"),
        ("control", "created"),
        ("control", "recorded"),
    ]
    now = operator.reports.history("alice").to_dicts()
    changed = {row["member"]: row["new"] for row in now if row["event"] == "changed"}
    assert changed.keys() == {"deleted_at", "deleted_by", "deletion_reason"}


def test_bounds_also_select_changes(operator: comptroller.Service) -> None:
    between = rewritten(operator)
    rows = operator.reports.history("paid", since=between).to_dicts()
    assert [row["member"] for row in rows] == ["amount", "updated_at"]
    rows = operator.reports.history("paid", until=between).to_dicts()
    assert [row["event"] for row in rows] == ["created", "confirmed", "recorded"]


def test_bounds_select_events_whether_or_not_controls_are_known(
    operator: comptroller.Service, open_as: Any
) -> None:
    operator.identities.put(id="alice", customer_id="acme")
    now, since = datetime.now(UTC), at()
    rows = operator.reports.history("alice", since=since).to_dicts()
    assert operator.reports.history("alice", since=since, as_of_recorded=now).to_dicts() == rows
    reader = open_as(customer="acme", scopes=["identity:read_identity"])
    assert [row["event"] for row in reader.reports.history("alice", since=since).to_dicts()] == [
        "created"
    ]


def test_a_client_sees_no_events_of_the_journal(
    operator: comptroller.Service, open_as: Any
) -> None:
    rewritten(operator)
    client = open_as(customer="default")
    assert [row["event"] for row in client.reports.history("paid").to_dicts()] == [
        "created",
        "confirmed",
    ]
    with pytest.raises(comptroller.Unsupported, match="as_of_recorded"):
        client.reports.history("paid", as_of_recorded="2100-01-01")


def test_an_address_that_moved_is_shown_where_it_was(operator: comptroller.Service) -> None:
    for id, asset in ((GROUP, "ETH"), (OTHER, "RPL")):
        load(operator, "payout-groups", group(id=id, asset_type=asset, created_at=at(0)))
    owned = {"id": ADDRESS, "address": PLACE, "created_at": at(1)}
    load(operator, "reward-addresses", address(payout_group_id=GROUP, **owned))
    load(operator, "balances", balance(address_id=ADDRESS, at=at(2), balance="7"))
    claimed = {"id": "moved", "addresses": [PLACE], "updated_at": at(3)}
    load(operator, "claims", claim(payout_group_id=GROUP, **claimed))
    subjects = (GROUP, OTHER, ADDRESS, PLACE)
    before = {id: operator.reports.history(id).to_dicts() for id in subjects}
    between = datetime.now(UTC)
    load(operator, "reward-addresses", address(payout_group_id=OTHER, **owned))
    load(operator, "claims", claim(payout_group_id=OTHER, id="moved", updated_at=at(4)))
    for id, rows in before.items():
        assert operator.reports.history(id, as_of_recorded=between).to_dicts() == rows
        assert operator.reports.history(id).to_dicts() != rows
    (row,) = [row for row in before[GROUP] if row["event"] == "balance"]
    assert (row["asset"], row["amount"]) == ("ETH", Decimal(7))
    assert "moved" in {row["id"] for row in before[PLACE]}


def test_a_claim_that_moved_made_another_one_good(operator: comptroller.Service) -> None:
    for id in (GROUP, OTHER):
        load(operator, "payout-groups", group(id=id))
    failed = {"onchain_status": "FAILED", "created_at": at(10), "updated_at": at(20)}
    load(operator, "claims", claim(id="failed", payout_group_id=GROUP, **failed))
    good = {"onchain_status": "CONFIRMED", "created_at": at(30), "confirmed_at": at(40)}
    load(operator, "claims", claim(id="good", payout_group_id=GROUP, updated_at=at(40), **good))
    before = operator.reports.history("failed").to_dicts()
    between = datetime.now(UTC)
    load(operator, "claims", claim(id="good", payout_group_id=OTHER, updated_at=at(50), **good))
    assert operator.reports.history("failed", as_of_recorded=between).to_dicts() == before
    assert "made good" in {row["event"] for row in before}
    now = operator.reports.history("failed").to_dicts()
    assert "made good" not in {row["event"] for row in now}


def test_a_removed_control_is_shown_by_its_id(operator: comptroller.Service) -> None:
    load(operator, "identities", {**identity(id="alice"), "user_disabled": True})
    (removed,) = operator.controls.iter(identity_id="alice")
    between = datetime.now(UTC)
    load(operator, "controls", control(identity_id="alice", created_at=at(9)))
    shown = [row["event"] for row in operator.reports.history(removed.id).to_dicts()]
    assert shown == ["recorded", "removed"]
    rows = operator.reports.history(removed.id, as_of_recorded=between).to_dicts()
    assert [row["event"] for row in rows] == ["created", "recorded"]
    rows = operator.reports.history("alice", as_of_recorded=between).to_dicts()
    assert [row["event"] for row in rows if row["id"] == removed.id] == ["created", "recorded"]


def test_a_load_after_the_archived_entries_says_when_it_recorded(
    operator: comptroller.Service, tmp_path: Path
) -> None:
    operator.identities.put(id="alice")
    early = datetime.now(UTC)
    load(operator, "claims", claim(id="loaded"))
    before = operator.reports.history("loaded").to_dicts()
    late = datetime.now(UTC)
    operator.journal.archive(early, tmp_path / "old.parquet")
    assert operator.reports.history("loaded").to_dicts() == before
    first = operator.journal.list()[0].recorded_at
    assert operator.reports.history("loaded", as_of_recorded=late).to_dicts() == before
    known = first - timedelta(microseconds=1)
    with pytest.raises(comptroller.InvalidRequest, match="before the first entry"):
        operator.reports.history("loaded", as_of_recorded=known)
    operator.journal.archive("2100-01-01", tmp_path / "more.parquet")
    rows = operator.reports.history("loaded").to_dicts()
    assert [row["event"] for row in rows] == ["created"]
