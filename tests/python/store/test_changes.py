"""The change feed: each change once, in order of commit, resumable at each cursor."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller.records import Change
from lines import numbered_claim

NOW = "2026-03-01T00:00:00.000000Z"
LATER = "2026-03-02T00:00:00.000000Z"


def claim(number: int, **members: Any) -> dict[str, Any]:
    """Returns a row of a load."""
    return numbered_claim(number, NOW, **members)


def furnish(svc: comptroller.Service) -> None:
    """Writes records of two customers, by operations and by loads."""
    svc.identities.put(id="alice", customer_id="acme", metadata={"desk": "7"})
    control = svc.controls.create(identity_id="alice", type="SELL_ONLY", reason_code="REVIEW")
    svc.controls.delete(control_id=control.id, reason="done")
    rows = [claim(number, customer_id=("acme", "globex")[number % 2]) for number in range(10)]
    svc.load("claims", rows)
    svc.load("claims", [claim(7, customer_id="globex", amount="8.25", updated_at=LATER)])
    svc.claims.submit(id="claim-9", tx_hash="0x" + "9" * 64)


def seen(changes: Any) -> list[tuple[str, str]]:
    """Returns the operation and the id of each change."""
    return [(each.operation, each.id) for each in changes]


def replayed(changes: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """Returns the records that follow from all changes."""
    records: dict[tuple[str, str], dict[str, Any]] = {}
    for each in changes:
        key = (each.resource, each.id)
        if each.before is None:
            assert key not in records
            records[key] = dict(each.after)
        elif each.after is None:
            assert records.pop(key) == each.before
        else:
            record = records[key]
            for name, value in each.before.items():
                assert record.pop(name) == value
            record.update(each.after)
    return records


def test_changes_are_in_order_of_commit(operator: comptroller.Service) -> None:
    furnish(operator)
    changes = list(operator.changes.iter())
    control = changes[1].id
    assert seen(changes) == [
        ("identities.put", "alice"),
        ("controls.create", control),
        ("controls.delete", control),
        *(("claims.load", f"claim-{number}") for number in range(10)),
        ("claims.load", "claim-7"),
        ("claims.submit", "claim-9"),
    ]
    assert changes[0].after is not None
    assert changes[0].after["metadata"] == '{"desk":"7"}'
    assert (changes[-2].before, changes[-2].after) == (
        {"amount": "7.50", "updated_at": NOW},
        {"amount": "8.25", "updated_at": LATER},
    )
    sequences = [each.sequence or 0 for each in changes]
    assert sequences == sorted(sequences)


def test_a_feed_resumes_at_each_cursor(operator: comptroller.Service) -> None:
    furnish(operator)
    changes = list(operator.changes.iter())
    for place, each in enumerate(changes):
        assert list(operator.changes.iter(after=each.cursor)) == changes[place + 1 :]
    for limit in range(1, len(changes) + 1):
        found: list[Change] = []
        page = operator.changes.list(limit=limit)
        while True:
            assert len(page.items) <= limit
            found += page.items
            if not page.has_more:
                break
            page = operator.changes.list(after=page.next_cursor, limit=limit)
        assert found == changes


def test_a_record_of_a_load_is_as_the_load_left_it(operator: comptroller.Service) -> None:
    operator.load("claims", [claim(1), claim(1, amount="2", updated_at=LATER), claim(2)])
    first, second = operator.changes.iter()
    assert first.before is None
    assert first.after is not None
    assert first.after["amount"] == "2"
    operator.claims.fail(id="claim-1", error_message="no")
    operator.claims.fail(id="claim-2", error_message="no")
    assert list(operator.changes.iter())[:2] == [first, second]


def test_a_record_that_was_removed_later_is_shown_as_created(
    operator: comptroller.Service,
) -> None:
    operator.load("identities", [{"id": "bob", "created_at": NOW, "user_disabled": True}])
    (legacy,) = operator.controls.iter()
    line = {
        "id": "loaded",
        "identity_id": "bob",
        "type": "SELL_ONLY",
        "set_by": "CLIENT",
        "is_overridable": True,
        "created_at": NOW,
    }
    operator.load("controls", [line])  # replaces the legacy control
    changes = list(operator.changes.iter(resources="controls"))
    assert [each.id for each in changes] == [legacy.id, legacy.id, "loaded"]
    created, removed, _ = changes
    assert (created.before, removed.after) == (None, None)
    assert created.after == removed.before
    assert replayed(operator.changes.iter(resources="controls")).keys() == {("controls", "loaded")}
    for place, each in enumerate(changes):
        assert (
            list(operator.changes.iter(after=each.cursor, resources="controls"))
            == (changes[place + 1 :])
        )


def test_the_changes_lead_to_the_records(operator: comptroller.Service) -> None:
    furnish(operator)
    operator.load("identities", [{"id": "bob", "created_at": NOW, "user_disabled": True}])
    operator.load("claims", [claim(1), claim(2), claim(30)], keep_going=True)
    operator.identities.update(id="bob", user_disabled=False)
    records = replayed(operator.changes.iter())
    for each in operator.claims.iter():
        assert records["claims", each.id] == each.to_dict()
    controls = {each.id for each in operator.controls.iter(include_deleted=True)}
    assert {id for resource, id in records if resource == "controls"} == controls


def test_a_change_of_every_kind_names_its_record(store_path: Path, tmp_path: Path) -> None:
    comptroller.sample("all", rows=30, seed=7, out=tmp_path)
    with comptroller.open(store_path) as svc:
        svc.load_all(tmp_path)
        kinds = set()
        for each in svc.changes.iter():
            kinds.add(each.resource)
            if each.before is None:
                assert each.after is not None
                assert each.id == each.after.get("id", each.after.get("address_id"))
    assert len(kinds) == 7


def test_only_the_named_resources(operator: comptroller.Service) -> None:
    furnish(operator)
    found = operator.changes.iter(resources=["controls", "identities"])
    assert [each.resource for each in found] == ["identities", "controls", "controls"]
    assert len(list(operator.changes.iter(resources="claims"))) == 12
    page = operator.changes.list(resources="balances")
    assert (page.items, page.has_more) == ((), False)
    assert list(operator.changes.iter(after=page.next_cursor)) == []


def test_a_client_sees_its_customers_records(
    operator: comptroller.Service, open_as: Callable[..., comptroller.Service]
) -> None:
    furnish(operator)
    acme = open_as(customer="acme")
    changes = list(acme.changes.iter())
    assert [each.id for each in changes if each.resource == "claims"] == [
        f"claim-{number}" for number in range(0, 10, 2)
    ]
    assert len(changes) == 8
    assert {each.sequence for each in changes} == {each.customer_id for each in changes} == {None}
    for each in changes:
        members = {**(each.before or {}), **(each.after or {})}
        assert ("customer_id" in members) == (each.resource == "identities"), each
    assert list(operator.changes.iter(customer_id="acme")) != changes
    assert seen(operator.changes.iter(customer_id="acme")) == seen(changes)
    for place, each in enumerate(changes):
        assert list(acme.changes.iter(after=each.cursor)) == changes[place + 1 :]
    assert list(open_as(customer="initech").changes.iter()) == []


def test_a_client_sees_the_resources_of_its_scopes(
    operator: comptroller.Service, open_as: Callable[..., comptroller.Service]
) -> None:
    furnish(operator)
    one = open_as(customer="acme", scopes=["changes:read", "rewards:read_claims"])
    assert {each.resource for each in one.changes.iter()} == {"claims"}
    for resource in ("controls", "balances"):
        with pytest.raises(comptroller.Forbidden):
            one.changes.list(resources=["claims", resource])  # type: ignore[list-item]
    with pytest.raises(comptroller.Forbidden):
        one.changes.list(customer_id="globex")
    with pytest.raises(comptroller.Forbidden):
        open_as(customer="acme", scopes=["rewards:read_claims"]).changes.list()
    assert list(open_as(customer="acme", scopes=["changes:read"]).changes.iter()) == []


def test_a_cursor_belongs_to_its_feed(
    operator: comptroller.Service, open_as: Callable[..., comptroller.Service]
) -> None:
    furnish(operator)
    cursor = operator.changes.list().next_cursor
    of_client = open_as(customer="acme").changes.list().next_cursor
    page = operator.claims.list(limit=1).next_page_cursor
    hostile = ["x", cursor[:-1], cursor + "A", cursor.swapcase(), of_client, page, "\0", "é" * 50]
    for each in hostile:
        with pytest.raises(comptroller.InvalidRequest) as refused:
            operator.changes.list(after=each)
        assert refused.value.errors[0].field == "after"
    assert operator.changes.list(after="").items  # the beginning, as without a cursor


def test_a_cursor_behind_the_end_is_refused(
    open_as: Callable[..., comptroller.Service], store_path: Path
) -> None:
    with comptroller.open(store_path) as svc:
        svc.identities.put(id="alice")
    cursor = open_as().changes.list().next_cursor
    with closing(sqlite3.connect(store_path)) as connection, connection:
        connection.execute("DROP TRIGGER journal_is_not_deleted")
        connection.execute("DELETE FROM journal WHERE sequence > 0")
    with pytest.raises(comptroller.InvalidRequest, match="an older backup was restored"):
        open_as().changes.list(after=cursor)


def test_a_feed_begins_at_the_end(operator: comptroller.Service) -> None:
    furnish(operator)
    page = operator.changes.list(after="end")
    assert (page.items, page.has_more) == ((), False)
    operator.identities.put(id="bob")
    assert seen(operator.changes.iter(after=page.next_cursor)) == [("identities.put", "bob")]


#: Reads a feed, and prints its length and how much memory the process has gained.
READER = """
import resource, sys, comptroller
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
with comptroller.open(sys.argv[1]) as svc:
    svc.changes.list()
    before = used()
    print(sum(1 for _ in svc.changes.iter()), used() - before)
"""


@pytest.mark.slow
def test_a_feed_over_a_load_needs_the_memory_of_a_page(store_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        svc.load("claims", [claim(number) for number in range(100_000)])
    words = [sys.executable, "-c", READER, str(store_path)]
    printed = subprocess.run(words, check=True, capture_output=True).stdout
    count, megabytes = map(int, printed.split())
    assert count == 100_000
    assert megabytes < 32  # of about 60 MiB of JSON


def test_a_store_from_before_the_journal(
    open_as: Callable[..., comptroller.Service], store_path: Path
) -> None:
    with comptroller.open(store_path) as svc:
        furnish(svc)
    with closing(sqlite3.connect(store_path)) as connection, connection:
        connection.execute("DROP TRIGGER journal_is_not_deleted")
        connection.execute("DELETE FROM journal")
    with comptroller.open(store_path) as svc:  # the journal begins
        svc.claims.fail(id="claim-3", error_message="no")
    changes = list(open_as().changes.iter())
    assert {each.operation for each in changes} == {"journal.begin", "claims.fail"}
    assert [each.resource for each in changes[:3]] == ["identities", "controls", "claims"]
    records = replayed(changes)
    for each in open_as().claims.iter():
        assert records["claims", each.id] == each.to_dict()


#: Writes from several threads: records, changes of them, and loads.
WRITER = """
import sys, threading, comptroller
store, prefix, writers, writes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
CLAIM = {
    "payout_group_id": "00000000-0000-4000-8000-000000000001",
    "claim_type": "CLAIM_ALL",
    "onchain_status": "PENDING",
    "amount": "1.50",
    "created_at": "2026-01-31T12:00:00Z",
}
with comptroller.open(store) as svc:
    def write(writer):
        for number in range(writes):
            name = f"{prefix}-{writer}-{number}"
            if number % 10 == 0:
                rows = [{"id": f"{name}-{row}", **CLAIM} for row in range(20)]
                svc.load("claims", rows, keep_going=number % 20 == 0)
            svc.claims.put({"id": name, **CLAIM})
            svc.claims.submit(id=name, tx_hash="0x" + "ab" * 32)
            svc.identities.put(id=name, user_disabled=True)
    print("ready", flush=True)
    sys.stdin.readline()
    threads = [threading.Thread(target=write, args=(n,)) for n in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


@pytest.mark.slow
def test_a_feed_beside_eight_writers_in_three_processes(store_path: Path) -> None:
    writes = 30
    with ExitStack() as closings:
        writers = [
            closings.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", WRITER, str(store_path), name, str(count), str(writes)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            for name, count in (("a", 3), ("b", 3), ("c", 2))
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write(b"go\n")
            writer.stdin.flush()
        svc = closings.enter_context(comptroller.open(store_path))
        expected = 8 * (writes * 4 + 3 * 20)  # the control is a change of its own
        followed = list(islice(svc.changes.follow(poll_s=0.05, timeout_s=60), expected))
        assert [writer.wait(60) for writer in writers] == [0, 0, 0]
        assert len({each.cursor for each in followed}) == expected
        assert followed == list(svc.changes.iter())
        records = replayed(followed)
        claims = [each.to_dict() for each in svc.claims.iter()]
        assert len(claims) == 8 * (writes + 3 * 20)
        for each in claims:
            assert records["claims", each["id"]] == each


def test_following_ends_when_it_is_stopped_or_nothing_changes(
    operator: comptroller.Service,
) -> None:
    furnish(operator)
    stop = threading.Event()
    found = []
    for change in operator.changes.follow(stop=stop, poll_s=0.02):
        found.append(change)
        if len(found) == 15:
            operator.claims.fail(id="claim-1", error_message="no")
        if len(found) == 16:
            stop.set()
    assert found == list(operator.changes.iter())
    assert list(operator.changes.follow(after=found[-2].cursor, timeout_s=0.01)) == found[-1:]
    for poll_s in (0, -1, float("nan"), True):
        with pytest.raises(comptroller.InvalidRequest, match="poll_s"):
            next(operator.changes.follow(poll_s=poll_s))


def test_commands(run: Any, store_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        furnish(svc)
        expected = [each.to_dict() for each in svc.changes.iter()]
    db = ("--db", str(store_path))
    lines = [json.loads(line) for line in run("changes", *db).out.splitlines()]
    assert lines == expected
    more = run("changes", "--after", lines[3]["cursor"], "--resource", "claims", *db)
    assert [json.loads(line) for line in more.out.splitlines()] == expected[4:]
    assert run("changes", "--after", "end", *db).out == ""
    assert run("changes", "--customer", "globex", *db).out.count("\n") == 7
    refused = run("changes", "--after", "x", *db)
    assert (refused.code, "invalid-cursor" in refused.err) == (1, True)


@pytest.mark.slow
def test_the_command_follows_until_it_is_interrupted(store_path: Path) -> None:
    words = ["changes", "--follow", "--db", str(store_path)]
    with (
        comptroller.open(store_path) as svc,
        subprocess.Popen(
            [sys.executable, "-m", "comptroller", *words], stdout=subprocess.PIPE
        ) as command,
    ):
        assert command.stdout is not None
        for name in ("alice", "bob"):
            svc.identities.put(id=name)
            assert json.loads(command.stdout.readline())["id"] == name
        command.send_signal(signal.SIGINT)
        assert command.wait(10) == 130
