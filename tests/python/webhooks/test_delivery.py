"""The delivery of events: what is sent, in which order, and what happens to a failure."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

import comptroller
import pytest
from receiver import Received, Receiver, delivering, process

pytest.importorskip("httpx2")

GROUP = "00000000-0000-4000-8000-000000000001"
LONG_AGO = "2026-01-01T00:00:00Z"


def claim(number: int, **members: Any) -> dict[str, Any]:
    return {
        "id": f"claim-{number}",
        "payout_group_id": GROUP,
        "claim_type": "CLAIM_ALL",
        "onchain_status": "PENDING",
        "amount": f"{number}.50",
        "created_at": LONG_AGO,
        "updated_at": LONG_AGO,
        **members,
    }


@pytest.fixture
def svc(tmp_path: Path):
    with comptroller.open(tmp_path / "store.db") as opened:
        yield opened


def write_everything(svc: comptroller.Service) -> list[str]:
    """Makes one event of each type; returns the types."""
    svc.identities.put(id="alice", customer_id="acme")
    control = svc.controls.create(identity_id="alice", type="CLOSED", reason_code="R")
    svc.controls.delete(control_id=control.id)
    group = svc.payout_groups.create(
        ledger="INK",
        asset_type="RPL",
        jurisdiction="CH",
        name="north",
        claimer_address="0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
        customer_id="acme",
    )
    svc.payout_groups.update(group.id, name="south")
    address = svc.reward_addresses.create(
        ledger="INK", address="0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359", customer_id="acme"
    )
    svc.reward_addresses.update(address.id, name="first")
    svc.load("claims", [claim(1), claim(2)])
    svc.claims.submit("claim-1", tx_hash="0x1")
    svc.claims.confirm("claim-1")
    svc.claims.fail("claim-2", error_message="out of gas")
    svc.orchestrations.put(
        {
            "id": "o",
            "customer_id": "acme",
            "status": "COMPLETED",
            "created_at": LONG_AGO,
            "updated_at": LONG_AGO,
            "source_asset": "ETH",
            "destination_asset": "USD",
        }
    )
    return [
        "identity.updated",
        "identity.control.created",
        "identity.control.deleted",
        "payout_group.created",
        "payout_group.updated",
        "reward_address.created",
        "reward_address.updated",
        "claim.created",
        "claim.created",
        "claim.submitted",
        "claim.confirmed",
        "claim.failed",
        "orchestration.completed",
    ]


def test_each_change_is_an_event_with_the_record(svc: comptroller.Service) -> None:
    with Receiver() as receiver, delivering(svc) as counts:
        svc.webhooks.create(url=receiver.url)
        types = write_everything(svc)
        received = receiver.take(len(types))
    assert Counter(each.type for each in received) == Counter(types)
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for each in received:
        event = each.event
        assert list(event) == ["type", "timestamp", "data"]
        assert datetime.fromisoformat(event["timestamp"]).tzinfo is not None
        last[event["type"].rpartition(".")[0], event["data"]["id"]] = event["data"]
        assert each.headers["content-type"] == "application/json"
    answer, _ = svc.host.store.call(svc.host.principal, "claims.get", [("id", "claim-1")], None)
    assert last["claim", "claim-1"] == json.loads(answer)
    assert last["identity.control", svc.controls.list(include_deleted=True)[0].id]["deleted_at"]
    assert len({each.headers["webhook-id"] for each in received}) == len(types)
    assert counts.delivered == len(types)
    assert svc.webhooks.deliveries(svc.webhooks.list()[0].id) == ()


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["claim.confirmed"], {"claim.confirmed"}),
        (["identity.*"], {"identity.updated", "identity.control.created",
                          "identity.control.deleted"}),
        (["claim.*", "orchestration.completed"], {"claim.created", "claim.submitted",
                                                  "claim.confirmed", "claim.failed",
                                                  "orchestration.completed"}),
    ],
)  # fmt: skip
def test_only_the_chosen_types_are_sent(
    svc: comptroller.Service, patterns: list[str], expected: set[str]
) -> None:
    with Receiver() as receiver, delivering(svc):
        svc.webhooks.create(url=receiver.url, event_types=patterns)
        marker = svc.webhooks.create(url=receiver.url + "/all")
        types = write_everything(svc)
        receiver.wait(lambda got: sum(each.path == "/hooks/all" for each in got) == len(types))
        receiver.wait(lambda got: {e.type for e in got if e.path == "/hooks"} == expected)
        svc.webhooks.delete(marker.id)


def test_a_webhook_of_a_customer_gets_its_events_as_the_customer_sees_them(
    svc: comptroller.Service, tmp_path: Path
) -> None:
    """A client's URL is https, so this looks at what would be sent."""
    from comptroller import _core

    made = svc.webhooks.create(url="https://hooks.example.com", customer_id="acme")
    svc.identities.put(id="alice", customer_id="acme")
    svc.identities.put(id="bob", customer_id="other")
    svc.load("claims", [claim(1)])  # of the customer `default`
    store, principal = svc.host.store_with_principal()
    (webhook,) = _core.active_webhooks(store, principal)
    assert (webhook.id, webhook.destination.customer_id) == (made.id, "acme")
    batch = _core.take_events(store, principal, webhook.key, webhook.considered, 10, 10)
    (event,) = batch.events
    assert json.loads(event.body)["data"]["id"] == "alice"
    made = svc.webhooks.create(url="https://hooks.example.com", customer_id="default")
    svc.claims.submit("claim-1", tx_hash="0x1")
    (webhook,) = (each for each in _core.active_webhooks(store, principal) if each.id == made.id)
    (event,) = _core.take_events(store, principal, webhook.key, webhook.considered, 9, 9).events
    assert event.type == "claim.submitted"
    assert "customer_id" not in json.loads(event.body)["data"]


def test_an_event_after_a_restored_backup_is_another_one(
    svc: comptroller.Service, tmp_path: Path
) -> None:
    """It has the position of one that was delivered, which receivers must not take it for."""
    from comptroller import _core

    svc.webhooks.create(url="https://hooks.example.com")
    svc.backup(tmp_path / "backup.db")
    store, principal = svc.host.store_with_principal()
    ids = []
    for name in ("alice", "bob"):
        svc.identities.put(id=name)
        (webhook,) = _core.active_webhooks(store, principal)
        batch = _core.take_events(store, principal, webhook.key, webhook.considered, 9, 9)
        (event,) = (each for each in batch.events if each.record == ("identities", name))
        ids.append(event.webhook_id)
        with (
            closing(sqlite3.connect(tmp_path / "backup.db")) as older,
            closing(sqlite3.connect(tmp_path / "store.db")) as present,
        ):
            older.backup(present)
    assert ids[0] != ids[1]


def test_a_load_is_an_event_for_each_record(svc: comptroller.Service) -> None:
    with Receiver() as receiver, delivering(svc):
        svc.webhooks.create(url=receiver.url)
        svc.load("claims", [claim(number) for number in range(1000)])
        received = receiver.take(1000)
    assert {each.event["data"]["id"] for each in received} == {f"claim-{n}" for n in range(1000)}


def test_a_failure_is_tried_again_and_the_events_of_its_record_wait(
    svc: comptroller.Service,
) -> None:
    failures = itertools.count()

    def answering(received: Received) -> int:
        is_first = received.event["data"]["id"] == "claim-1" and next(failures) < 3
        return 500 if is_first else 200

    with Receiver(answering) as receiver, delivering(svc) as counts:
        svc.webhooks.create(url=receiver.url)
        svc.load("claims", [claim(1), claim(2)])
        svc.claims.submit("claim-1", tx_hash="0x1")
        svc.claims.submit("claim-2", tx_hash="0x2")
        svc.claims.confirm("claim-1")
        receiver.wait(lambda got: sum(e.type == "claim.confirmed" for e in got) == 1)
        receiver.wait(lambda got: len(got) == 8)
    assert (counts.delivered, counts.failed) == (5, 3)
    first = [each for each in receiver.received if each.event["data"]["id"] == "claim-1"]
    assert [each.type for each in first] == [
        *["claim.created"] * 4,
        "claim.submitted",
        "claim.confirmed",
    ]
    # The attempts have one id, and each has its own timestamp.
    assert len({each.headers["webhook-id"] for each in first[:4]}) == 1
    assert len({each.headers["webhook-id"] for each in first}) == 3


def test_a_slow_receiver_delays_no_other(svc: comptroller.Service) -> None:
    released = threading.Event()

    def slow(_received: Received) -> int:
        released.wait(30)
        return 200

    with Receiver(slow) as stuck, Receiver() as quick, delivering(svc):
        svc.webhooks.create(url=stuck.url)
        svc.webhooks.create(url=quick.url)
        svc.load("claims", [claim(number) for number in range(300)])
        quick.take(300)
        assert stuck.received == []
        released.set()
        stuck.take(300)


def test_no_event_after_a_change_of_the_url_goes_to_the_former_one(
    svc: comptroller.Service,
) -> None:
    """The URL changes while a request is in flight, so that delivery goes on at once."""
    arrived, changed = threading.Semaphore(0), threading.Semaphore(0)

    def hold(received: Received) -> int:
        if received.event["data"]["id"].startswith("before"):
            arrived.release()
            assert changed.acquire(timeout=30)
        return 200

    with Receiver(hold) as former, Receiver(hold) as later, delivering(svc):
        made = svc.webhooks.create(url=former.url)
        svc.identities.put(id="before-0")
        for turn in range(10):
            assert arrived.acquire(timeout=30)
            svc.webhooks.update(made.id, url=(former, later)[turn % 2].url)
            svc.identities.put(id=f"{turn % 2}-{turn}")
            svc.identities.put(id=f"before-{turn + 1}")
            changed.release()
        assert arrived.acquire(timeout=30)
        changed.release()
    for turn, receiver in enumerate((former, later)):
        ids = [each.event["data"]["id"] for each in receiver.received]
        assert [id for id in ids if not id.startswith("before")] == [
            f"{turn}-{each}" for each in range(turn, 10, 2)
        ]


def test_a_receiver_that_does_not_answer_in_time_failed(svc: comptroller.Service) -> None:
    released = threading.Event()
    with (
        Receiver(lambda _: 200 if released.wait(30) else 500) as receiver,
        delivering(svc, timeout_s=0.2, retry_s=lambda _: 3600.0),
    ):
        made = svc.webhooks.create(url=receiver.url)
        svc.webhooks.test(made.id)
        delivery = outcome(svc, made.id)
        released.set()
    assert "did not answer within 0.2 seconds" in (delivery.last_error or "")


@contextmanager
def endless_receiver(
    head: bytes, piece: bytes, pause_s: float
) -> Iterator[tuple[str, Counter[str]]]:
    """Yields the URL of a receiver whose answers have no end, and counts what it does."""
    counts: Counter[str] = Counter()

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self.connection.recv(65536)
            counts["requests"] += 1
            with suppress(OSError):
                self.wfile.write(head)
                while not released.is_set():
                    counts["bytes"] += self.wfile.write(piece)
                    released.wait(pause_s)
            counts["closed"] += 1

    released = threading.Event()
    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/hooks", counts
        finally:
            released.set()
            server.shutdown()


_HEAD = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (_HEAD + b"\r\n", b"x" * 4096),
        (_HEAD + b"Content-Length: 1000000000000\r\n\r\n", b"x" * 4096),
        (_CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"),
    ],
    ids=["no length", "huge length", "chunked"],
)
def test_an_answer_without_end_is_not_read_to_its_end(
    svc: comptroller.Service, head: bytes, piece: bytes
) -> None:
    """The status was 200, so the event was delivered; the connection is closed."""
    with endless_receiver(head, piece, 0) as (url, counts), delivering(svc):
        made = svc.webhooks.create(url=url)
        svc.webhooks.test(made.id)
        delivery = outcome(svc, made.id)
        until(lambda: counts["closed"] == 1)
    assert delivery.last_error is None
    assert counts["requests"] == 1
    assert counts["bytes"] < 16 << 20  # 64 KiB, and what the buffers of the sockets hold


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (_CHUNKED, b"1\r\nx\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["body", "head", "interim responses"],
)
def test_a_slow_answer_without_end_has_the_time_limit(
    svc: comptroller.Service, head: bytes, piece: bytes
) -> None:
    """Each piece arrives soon after the other; the time limit is that of the whole attempt."""
    with (
        endless_receiver(head, piece, 0.02) as (url, counts),
        Receiver() as quick,
        delivering(svc, timeout_s=1.0, retry_s=lambda _: 3600.0),
    ):
        made = svc.webhooks.create(url=url)
        svc.webhooks.create(url=quick.url)
        svc.webhooks.test(made.id)
        svc.identities.put(id="alice")
        quick.take(1)
        delivery = outcome(svc, made.id)
        until(lambda: counts["closed"] == counts["requests"] > 0)
    assert "did not answer within 1 seconds" in (delivery.last_error or "")


def test_it_is_paused_after_three_days_and_resumes(svc: comptroller.Service) -> None:
    """With another number of days."""
    statuses = [500]
    with Receiver(lambda _: statuses[0]) as receiver, delivering(svc, give_up_s=0.2):
        made = svc.webhooks.create(url=receiver.url)
        svc.identities.put(id="alice")
        until(lambda: svc.webhooks.get(made.id).status == "PAUSED")
        paused = svc.webhooks.get(made.id)
        assert paused.status_reason == (
            "an event could not be delivered: the receiver answered 500"
        )
        (delivery,) = svc.webhooks.deliveries(made.id)
        assert delivery.event_type == "identity.updated"
        assert delivery.attempts > 1
        *_, entry = (each for each in svc.journal.list() if each.resource == "webhooks")
        assert entry.actor == "operator:webhooks"
        statuses[0] = 200
        svc.webhooks.update(made.id, status="ACTIVE")
        until(lambda: svc.webhooks.deliveries(made.id) == ())
    assert receiver.received[-1].headers["webhook-id"] == delivery.webhook_id


def test_a_receiver_that_is_gone_is_paused(svc: comptroller.Service) -> None:
    with Receiver(lambda _: 410) as receiver, delivering(svc):
        made = svc.webhooks.create(url=receiver.url)
        svc.identities.put(id="alice")
        until(lambda: svc.webhooks.get(made.id).status == "PAUSED")
        assert svc.webhooks.get(made.id).status_reason == "the receiver answered 410"
    assert len(receiver.received) == 1


def test_the_receiver_can_ask_for_time(svc: comptroller.Service) -> None:
    with Receiver(lambda _: (503, {"retry-after": "600"})) as receiver, delivering(svc):
        made = svc.webhooks.create(url=receiver.url)
        svc.identities.put(id="alice")
        until(lambda: svc.webhooks.deliveries(made.id) != ())
        (delivery,) = svc.webhooks.deliveries(made.id)
    assert delivery.next_attempt_at is not None
    assert delivery.last_attempt_at is not None
    assert 590 < (delivery.next_attempt_at - delivery.last_attempt_at).total_seconds() < 610


def test_events_during_an_outage_are_delivered_after_it(svc: comptroller.Service) -> None:
    statuses = [502]
    with Receiver(lambda _: statuses[0]) as receiver, delivering(svc):
        made = svc.webhooks.create(url=receiver.url)
        svc.load("claims", [claim(number) for number in range(2000)])
        receiver.take(20)
        # It is not flooded meanwhile, and the store keeps few of the events.
        assert len(svc.webhooks.deliveries(made.id)) <= 1000
        statuses[0] = 200
        delivered: Callable[[list[Received]], set[str]] = lambda got: {  # noqa: E731
            each.event["data"]["id"] for each in got
        }
        receiver.wait(lambda got: len(delivered(got)) == 2000, 60)
        until(lambda: svc.webhooks.deliveries(made.id) == ())


def test_a_test_is_sent_once(svc: comptroller.Service) -> None:
    statuses = [500]
    with Receiver(lambda _: statuses[0]) as receiver, delivering(svc):
        made = svc.webhooks.create(url=receiver.url)
        sent = svc.webhooks.test(made.id)
        failed = outcome(svc, made.id)
        assert (failed.webhook_id, failed.attempts, failed.next_attempt_at) == (
            sent.webhook_id,
            1,
            None,
        )
        assert failed.last_error == "the receiver answered 500"
        statuses[0] = 204
        svc.webhooks.test(made.id)
        assert outcome(svc, made.id).last_error is None
    assert [each.event["data"] for each in receiver.received] == [{}, {}]


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


def test_a_paused_webhook_gets_its_events_later(svc: comptroller.Service) -> None:
    with Receiver() as receiver, delivering(svc):
        made = svc.webhooks.create(url=receiver.url)
        marker = svc.webhooks.create(url=receiver.url + "/marker")
        svc.webhooks.update(made.id, status="PAUSED")
        svc.identities.put(id="alice")
        assert receiver.take(1)[0].path == "/hooks/marker"
        svc.webhooks.delete(marker.id)
        svc.webhooks.update(made.id, status="ACTIVE")
        assert receiver.take(2)[1].path == "/hooks"


def test_one_of_several_processes_delivers(svc: comptroller.Service) -> None:
    with Receiver() as receiver, delivering(svc), delivering(svc), delivering(svc):
        svc.webhooks.create(url=receiver.url)
        svc.load("claims", [claim(number) for number in range(500)])
        svc.load("claims", [claim(number) for number in range(500, 600)])
        receiver.take(600)
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 600
    assert len(receiver.received) == 600


@pytest.mark.slow
def test_a_killed_process_loses_no_event(tmp_path: Path) -> None:
    """Another takes over when the lease of the killed one has ended."""
    path = tmp_path / "store.db"
    with comptroller.open(path) as svc, Receiver() as receiver:
        svc.webhooks.create(url=receiver.url)
        with process(path) as first:
            svc.load("claims", [claim(number) for number in range(20_000)])
            receiver.take(1000)
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
        with process(path) as second:
            ids = lambda got: {each.headers["webhook-id"] for each in got}  # noqa: E731
            receiver.wait(lambda got: len(got) >= 20_000 and len(ids(got)) == 20_000, 120)
            second.send_signal(signal.SIGTERM)
            assert second.wait(30) == 143
        # A window of events and not more is sent again.
        assert len(receiver.received) - 20_000 <= 256


def outcome(svc: comptroller.Service, id: str) -> Any:
    """Returns the last test after its attempt."""
    until(lambda: svc.webhooks.deliveries(id)[0].attempts == 1)
    return svc.webhooks.deliveries(id)[0]


def until(is_true: Callable[[], bool], within_s: float = 30) -> None:
    """Looks again and again until a condition holds."""
    ended = threading.Event()
    for _ in range(int(within_s / 0.02)):
        if is_true():
            return
        ended.wait(0.02)
    raise AssertionError("the condition did not become true")


def test_only_the_holder_of_the_lease_reports(svc: comptroller.Service) -> None:
    from comptroller import _core

    svc.webhooks.create(url="http://127.0.0.1:1/x")
    place = svc.host.store_with_principal()
    (webhook,) = _core.active_webhooks(*place)
    assert _core.lease_delivery(*place, "mine", 60)
    assert not _core.lease_delivery(*place, "else", 60)
    at = webhook.considered
    for holder, may_report in (("else", False), ("mine", True)):
        reported = _core.report_deliveries(*place, holder, webhook.key, at, at, [])
        assert reported == may_report
