"""Events that are delivered again."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import comptroller
import pytest
from receiver import Receiver, delivering
from webhook_cases import LONG_AGO, claim, until

pytest.importorskip("httpx2")


def test_a_replay_delivers_again(svc: comptroller.Service) -> None:
    with Receiver() as receiver, delivering(svc):
        svc.identities.put(id="before")
        made = svc.webhooks.create(url=receiver.url)
        svc.identities.put(id="alice")
        (first,) = receiver.take(1)
        svc.webhooks.replay(made.id, since=LONG_AGO)
        _, *again = receiver.take(3)
        svc.identities.put(id="next")  # when it is sent, the store has the progress until alice
        receiver.take(4)
        svc.webhooks.replay(made.id, since=datetime.fromisoformat(first.event["timestamp"]))
        last = next(each for each in receiver.take(6)[4:] if each.event["data"]["id"] == "alice")
    ids = {each.event["data"]["id"]: each.headers["webhook-id"] for each in again}
    assert ids.keys() == {"before", "alice"}
    assert last.headers["webhook-id"] == first.headers["webhook-id"] == ids["alice"]


def test_a_replay_since_a_time_reads_what_is_not_archived(
    svc: comptroller.Service, tmp_path: Path
) -> None:
    pytest.importorskip("duckdb")
    times = [svc.identities.put(id=f"identity-{number}").updated_at for number in range(40)]
    made = svc.webhooks.create(url="https://hooks.example.com")
    svc.journal.archive(before=times[30], out=tmp_path / "archive.parquet")
    for early in (LONG_AGO, times[10], times[29]):
        with pytest.raises(comptroller.InvalidRequest, match=r"since: .* may be in an archive"):
            svc.webhooks.replay(made.id, since=early)
    with Receiver() as receiver:
        svc.webhooks.update(made.id, url=receiver.url)
        svc.webhooks.replay(made.id, since=times[30])
        with delivering(svc):
            ids = [each.event["data"]["id"] for each in receiver.take(10)]
    assert sorted(ids) == [f"identity-{number}" for number in range(30, 40)]


def write_changes_without_a_status(svc: comptroller.Service) -> list[tuple[str, str]]:
    """Changes records with and without their status; returns ids and types of the events."""
    later = "2026-02-01T00:00:00Z"
    svc.load("claims", [claim(1)])
    svc.load("claims", [claim(1, amount="7.5", updated_at=later)])
    svc.claims.submit("claim-1", tx_hash="0x1")
    svc.load(
        "claims",
        [
            claim(
                1,
                amount="8.5",
                onchain_status="SUBMITTED",
                tx_hash="0x1",
                updated_at="2100-01-01T00:00:00Z",
            )
        ],
    )
    svc.claims.fail("claim-1", error_message='"onchain_status":"CONFIRMED"')
    order = {
        "id": "o", "customer_id": "acme", "status": "IN_PROGRESS", "created_at": LONG_AGO,
        "updated_at": LONG_AGO, "source_asset": "ETH", "destination_asset": "USD",
    }  # fmt: skip
    changes = ({}, {"source_amount": "1"}, {"status": "DONE"}, {"source_amount": "2"})
    for day, changed in enumerate(changes, 1):
        order |= changed
        order["updated_at"] = f"2026-01-0{day}T00:00:00Z"
        svc.orchestrations.put(order)
    return [
        ("claim-1", "claim.created"),
        ("claim-1", "claim.created"),
        ("claim-1", "claim.submitted"),
        ("claim-1", "claim.submitted"),
        ("claim-1", "claim.failed"),
        ("o", "orchestration.in_progress"),
        ("o", "orchestration.in_progress"),
        ("o", "orchestration.done"),
        ("o", "orchestration.done"),
    ]


def test_a_late_event_and_a_replayed_one_have_the_type_of_their_change(
    svc: comptroller.Service,
) -> None:
    with Receiver() as receiver:
        made = svc.webhooks.create(url=receiver.url)
        expected = write_changes_without_a_status(svc)
        with delivering(svc):
            late = receiver.take(len(expected))
            svc.webhooks.replay(made.id, since=LONG_AGO)
            again = receiver.take(2 * len(expected))[len(expected) :]
    for received in (late, again):
        events = [(each.event["data"]["id"], each.type) for each in received]
        assert sorted(events, key=lambda event: event[0]) == expected
    types = {each.headers["webhook-id"]: each.type for each in late}
    assert types == {each.headers["webhook-id"]: each.type for each in again}


def test_a_replay_begins_at_a_place_of_the_change_feed(svc: comptroller.Service) -> None:
    with Receiver() as receiver, delivering(svc):
        made = svc.webhooks.create(url=receiver.url)
        place = svc.changes.list(after="end").next_cursor
        svc.identities.put(id="alice")
        (first,) = receiver.take(1)
        svc.identities.put(id="next")  # when it is sent, the store has the progress until alice
        receiver.take(2)
        svc.webhooks.replay(made.id, after=place)
        again = next(each for each in receiver.take(4)[2:] if each.event["data"]["id"] == "alice")
    assert again.headers["webhook-id"] == first.headers["webhook-id"]


def test_a_replay_skips_no_event(svc: comptroller.Service) -> None:
    from comptroller import _core

    made = svc.webhooks.create(url="https://hooks.example.com")
    svc.identities.put(id="alice")
    svc.webhooks.replay(made.id, after="end")
    svc.webhooks.replay(made.id, since="2100-01-01")
    store, principal = svc.host.store_with_principal()
    (webhook,) = _core.active_webhooks(store, principal)
    batch = _core.take_events(store, principal, webhook.key, webhook.considered, 9, 9)
    assert [event.record for event in batch.events] == [("identities", "alice")]


def test_a_replay_keeps_earlier_events_that_were_not_delivered(svc: comptroller.Service) -> None:
    with Receiver(lambda _received: 500) as receiver, delivering(svc):
        made = svc.webhooks.create(url=receiver.url)
        svc.identities.put(id="alice")
        receiver.take(1)
        until(lambda: len(svc.webhooks.deliveries(made.id)) == 1)
        place = svc.changes.list(after="end").next_cursor
        svc.identities.put(id="bob")
        until(lambda: len(svc.webhooks.deliveries(made.id)) == 2)
    svc.webhooks.replay(made.id, after=place)
    (kept,) = svc.webhooks.deliveries(made.id)
    assert kept.event_type == "identity.updated"


@pytest.mark.parametrize("place", range(4))
def test_a_replay_within_a_load_keeps_what_precedes_and_repeats_what_follows(
    svc: comptroller.Service, place: int
) -> None:
    """A load of identities with flags also creates controls, which follow them in the feed."""
    with Receiver(lambda received: 500 if "control" not in received.type else 204) as receiver:
        made = svc.webhooks.create(url=receiver.url)
        row = {"created_at": LONG_AGO, "user_disabled": True}
        svc.load("identities", [{"id": f"identity-{number}", **row} for number in range(2)])
        changes = svc.changes.list().items
        assert [each.resource for each in changes] == ["identities"] * 2 + ["controls"] * 2
        with delivering(svc):
            receiver.take(4)
            until(lambda: _considers_nothing(svc))
        svc.webhooks.replay(made.id, after=changes[place].cursor)
        kept = svc.webhooks.deliveries(made.id)
        assert [each.event_type for each in kept] == ["identity.updated"] * min(place + 1, 2)
        receiver.answering = lambda _received: 204
        svc.webhooks.update(made.id, status="PAUSED")
        svc.webhooks.update(made.id, status="ACTIVE")
        earlier = len(receiver.received)
        repeated = [*changes[:2], *changes[max(place + 1, 2) :]]
        with delivering(svc):
            again = receiver.take(earlier + len(repeated))[earlier:]
    ids = [each.event["data"]["id"] for each in again]
    assert sorted(ids) == sorted(each.id for each in repeated)


def _considers_nothing(svc: comptroller.Service) -> bool:
    """Whether all events were delivered or kept for later."""
    from comptroller import _core

    store, principal = svc.host.store_with_principal()
    (webhook,) = _core.active_webhooks(store, principal)
    return not _core.take_events(store, principal, webhook.key, webhook.considered, 9, 9).events


def _report_all(svc: comptroller.Service) -> None:
    """Reports that the only webhook has had all events."""
    from comptroller import _core

    store, principal = svc.host.store_with_principal()
    assert _core.lease_delivery(store, principal, "tests", 60)
    (webhook,) = _core.active_webhooks(store, principal)
    batch = _core.take_events(store, principal, webhook.key, webhook.considered, 99, 99)
    place, done = webhook.considered, [(each, True) for each in batch.events]
    assert _core.report_deliveries(store, principal, "tests", webhook.key, place, batch.next, done)


def test_a_client_learns_no_time_of_others_from_a_replay(
    svc: comptroller.Service, tmp_path: Path
) -> None:
    pytest.importorskip("duckdb")

    def archive(before: datetime) -> datetime:
        """Returns the time of the archive's entry."""
        svc.journal.archive(before=before, out=tmp_path / f"{before:%f}.parquet")
        *_, entry = (each for each in svc.journal.list() if each.operation == "journal.archive")
        return entry.recorded_at

    def others_write() -> list[datetime]:
        return [svc.identities.put(id=f"{n}", customer_id="globex").updated_at for n in range(4)]

    svc.identities.put(id="own", customer_id="acme")
    times = others_write()
    made = svc.webhooks.create(url="https://hooks.example.com", customer_id="acme")
    archive(before=times[2])
    with comptroller.open(tmp_path / "store.db", customer="acme") as client:

        def refused(since: datetime, told: datetime) -> None:
            with pytest.raises(comptroller.InvalidRequest) as caught:
                client.webhooks.replay(made.id, since=since)
            assert f"give {told:%Y-%m-%dT%H:%M:%S.%f}Z or a later time" in caught.value.detail

        refused(times[1], made.created_at)
        refused(times[3], made.created_at)
        client.webhooks.replay(made.id, since=made.created_at)
        times = others_write()
        _report_all(svc)
        archived_at = archive(before=times[2])
        refused(times[3], archived_at)
        client.webhooks.replay(made.id, since=archived_at)


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ({}, "invalid-request"),
        ({"since": LONG_AGO, "after": "end"}, "invalid-request"),
        ({"after": ""}, "invalid-request"),
        ({"after": "damaged"}, "invalid-cursor"),
    ],
)
def test_a_replay_needs_one_place(
    svc: comptroller.Service, place: dict[str, Any], code: str
) -> None:
    made = svc.webhooks.create(url="https://hooks.example.com")
    with pytest.raises(comptroller.InvalidRequest) as caught:
        svc.webhooks.replay(made.id, **place)
    assert caught.value.code == code
