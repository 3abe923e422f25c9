"""The delivery of events: what is sent, in which order, and what happens to a failure."""

from __future__ import annotations

import itertools
import json
import os
import resource
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller.webhooks.shares import MAX_REQUESTS
from open_file_limits import open_files
from receiver import Received, Receiver, delivering, process
from webhook_cases import LONG_AGO, claim, outcome, until

pytest.importorskip("httpx2")


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


def test_events_of_other_types_are_forgotten_when_the_types_change(
    svc: comptroller.Service,
) -> None:
    """With the URL, they could be moved to somebody who may not read their records. One failed
    before the change, others are in flight, or wait for these.
    """
    arrived, changed = threading.Semaphore(0), threading.Event()

    def fail(received: Received) -> int:
        if received.event["data"]["id"] != "failed":
            arrived.release()
            assert changed.wait(30)
        return 503

    with (
        Receiver(fail) as former,
        Receiver() as later,
        Receiver() as other,
        delivering(svc, retry_s=lambda _attempts: 3600),
    ):
        made = svc.webhooks.create(url=former.url)
        svc.identities.put(id="failed")
        until(lambda: len(svc.webhooks.deliveries(made.id)) == 1)
        lines = [{"id": f"loaded-{each}", "created_at": LONG_AGO} for each in range(100)]
        svc.load("identities", lines)
        for _ in range(2):
            assert arrived.acquire(timeout=30)
        svc.webhooks.update(made.id, url=later.url, event_types=["claim.*"])
        assert svc.webhooks.deliveries(made.id) == ()
        svc.webhooks.create(url=other.url, event_types=["claim.*"])
        svc.load("claims", [claim(1)])
        other.take(1)  # so that the process has seen the change
        changed.set()
        later.take(1)
        until(lambda: svc.webhooks.deliveries(made.id) == ())
    assert [each.type for each in later.received] == ["claim.created"]
    assert svc.webhooks.deliveries(made.id) == ()


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


def test_a_resumed_webhook_tries_as_if_for_the_first_time(svc: comptroller.Service) -> None:
    """The three days before it is paused begin again."""
    with Receiver(lambda _: 500) as receiver:
        made = svc.webhooks.create(url=receiver.url)
        svc.identities.put(id="alice")
        with delivering(svc):
            until(lambda: any(each.attempts for each in svc.webhooks.deliveries(made.id)))
            svc.identities.put(id="alice", ref_id="later")  # waits for the first event
            until(lambda: len(svc.webhooks.deliveries(made.id)) == 2)
    svc.webhooks.update(made.id, status="PAUSED")
    paused, _ = svc.webhooks.deliveries(made.id)
    assert paused.first_attempt_at is not None
    resumed = svc.webhooks.update(made.id, status="ACTIVE")
    event, blocked = svc.webhooks.deliveries(made.id)
    assert (blocked.attempts, blocked.next_attempt_at) == (0, None)
    assert (event.attempts, event.first_attempt_at) == (0, None)
    assert event.next_attempt_at is not None
    assert event.next_attempt_at <= resumed.updated_at
    assert event.last_error == "the receiver answered 500"


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


@pytest.mark.parametrize("when", ["Mon, 01 Jan 99999999999 00:00:00 GMT", "-5", "soon", "9 s"])
def test_an_odd_time_is_ignored(svc: comptroller.Service, when: str) -> None:
    answers: list[int | tuple[int, dict[str, str]]] = [(503, {"retry-after": when}), 200]
    with Receiver(lambda _: answers.pop(0)) as receiver, delivering(svc) as counts:
        made = svc.webhooks.create(url=receiver.url)
        svc.identities.put(id="alice")
        until(lambda: counts.delivered == 1)
        until(lambda: svc.webhooks.deliveries(made.id) == ())
    assert (len(receiver.received), counts.failed) == (2, 1)


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


@pytest.mark.parametrize("end", ["pause", "delete"])
def test_nothing_is_sent_after_the_requests_in_flight(svc: comptroller.Service, end: str) -> None:
    arrived, ended = threading.Semaphore(0), threading.Event()

    def hold(_received: Received) -> int:
        arrived.release()
        assert ended.wait(30)
        return 200

    with Receiver(hold) as receiver, Receiver() as other, delivering(svc):
        made = svc.webhooks.create(url=receiver.url)
        svc.load("claims", [claim(number) for number in range(100)])
        for _ in range(16):
            assert arrived.acquire(timeout=30)
        if end == "pause":
            svc.webhooks.update(made.id, status="PAUSED")
        else:
            svc.webhooks.delete(made.id)
        svc.webhooks.create(url=other.url)
        svc.identities.put(id="alice")
        other.take(1)  # so the deliverer knows of the end
        ended.set()
        receiver.wait(lambda got: len(got) >= 16)
        if end == "pause":
            until(lambda: len(svc.webhooks.deliveries(made.id)) == 84)
    assert len(receiver.received) == 16
    if end == "pause":
        with Receiver() as later, delivering(svc):
            svc.webhooks.update(made.id, url=later.url, status="ACTIVE")
            until(lambda: svc.webhooks.deliveries(made.id) == ())
        assert len({each.headers["webhook-id"] for each in later.received}) == 85


def test_one_of_several_processes_delivers(svc: comptroller.Service) -> None:
    with Receiver() as receiver, delivering(svc), delivering(svc), delivering(svc):
        svc.webhooks.create(url=receiver.url)
        svc.load("claims", [claim(number) for number in range(500)])
        svc.load("claims", [claim(number) for number in range(500, 600)])
        receiver.take(600)
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 600
    assert len(receiver.received) == 600


def test_a_process_that_delivers_may_open_a_file_for_each_request(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    comptroller.open(path).close()
    with open_files(256), process(path) as deliverer:
        soft, hard = resource.prlimit(deliverer.pid, resource.RLIMIT_NOFILE)
    assert soft == hard or soft > MAX_REQUESTS


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
