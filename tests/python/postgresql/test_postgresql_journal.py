"""The journal of a database: writes run at once, and their entries get their numbers later."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller.webhooks.delivering import delivering as deliver
from comptroller.webhooks.endpoint import Counts
from lines import claim, load
from postgresql_server import Connection
from receiver import Receiver, delivering

_WRITERS = 3
_RECORDS = 40


def put(svc: comptroller.Service, id: str, key: str | None = None) -> None:
    svc.identities.put(id=id, customer_id="acme", idempotency_key=key)


def shown(svc: comptroller.Service, after: str | None = None) -> tuple[list[str], str | None]:
    """Returns the ids of changes of identities, and the cursor after them."""
    page = svc.changes.list(resources=["identities"], after=after, limit=1000)
    return [each.id for each in page.items], page.next_cursor


@contextmanager
def holding(address: str, sql: str) -> Iterator[Connection]:
    """Holds a lock in another session."""
    with closing(Connection(address)) as other:
        other.execute("BEGIN")
        other.execute(sql)
        yield other
        other.execute("COMMIT")


@contextmanager
def waiting_for_lock(address: str, action: Any) -> Iterator[Future[Any]]:
    """Runs an action in a thread; yields when it waits for a lock."""
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(action)
        with closing(Connection(address)) as connection:
            while not connection.execute(
                "SELECT 1 FROM pg_locks JOIN pg_database AS d ON d.oid = database"
                " WHERE datname = current_database() AND NOT granted"
            ):
                assert not running.done(), running.result()
        yield running


def test_writers_at_once_have_one_journal(store_path: str) -> None:
    """Each change is in the feed once, and those of a record are in order."""
    with ExitStack() as stack:
        services = [stack.enter_context(comptroller.open(store_path)) for _ in range(_WRITERS)]

        def write(number: int) -> None:
            svc = services[number % _WRITERS]
            for record in range(_RECORDS):
                svc.identities.put(id=f"of-{number}-{record}", customer_id="acme")
                svc.identities.put(id="of-all", customer_id="acme", ref_id=f"{number}-{record}")

        with ThreadPoolExecutor(12) as threads:
            list(threads.map(write, range(12)))
        svc = services[0]
        entries = list(svc.journal.list(limit=1000))
        while entries[-1].sequence < 12 * _RECORDS * 2:
            more = svc.journal.list(limit=1000, after=entries[-1].sequence)
            assert more
            entries += more
        assert [each.sequence for each in entries] == list(range(len(entries)))
        counted = Counter(each.id for each in entries if each.id)
        assert counted.pop("of-all") == 12 * _RECORDS
        assert set(counted.values()) == {1}
        assert len(counted) == 12 * _RECORDS
        of_all = [each for each in entries if each.id == "of-all"]
        for before, after in pairwise(of_all):
            assert after.before["ref_id"] == before.after["ref_id"]
        result = svc.journal.verify()
        assert result.ok, result.findings
        assert result.size == len(entries)
        assert svc.check()["ok"]


def test_the_feed_misses_nothing_of_a_write_that_commits_late(store_path: str) -> None:
    with comptroller.open(store_path) as early, comptroller.open(store_path) as late:
        put(early, "first")  # a new customer would make the writes wait for each other
        # The answer of a write with a key is stored last.
        lock = "LOCK TABLE idempotency_keys IN SHARE ROW EXCLUSIVE MODE"
        with (
            holding(store_path, lock) as other,
            waiting_for_lock(store_path, lambda: put(late, "late", "key")) as running,
        ):
            put(early, "early")
            ids, cursor = shown(early)
            assert ids == ["first", "early"]
            other.execute("COMMIT")
            running.result()
        assert shown(early, cursor)[0] == ["late"]
        assert [each.id for each in early.journal.list()][-2:] == ["early", "late"]
        assert early.journal.verify().ok


# The lock under which entries get their numbers.
_NUMBERS = "SELECT only_row FROM journal_writer FOR UPDATE"


def test_a_change_without_a_number_is_verified(store_path: str) -> None:
    with comptroller.open(store_path) as svc:
        put(svc, "alice")
        assert len(svc.journal.list()) == 2
        with holding(store_path, _NUMBERS):
            svc.identities.put(id="alice", customer_id="acme", ref_id="r")
            control = svc.controls.create(identity_id="alice", type="FROZEN", reason_code="R")
            svc.controls.delete(control_id=control.id)
            svc.identities.put(id="bob", customer_id="acme")
            with comptroller.open(store_path, read_only=True) as reader:
                result = reader.journal.verify()
                assert result.ok, result.findings
                assert result.size == 2
                assert [each.id for each in reader.journal.list()] == [None, "alice"]
                assert shown(reader)[0] == ["alice"]
                assert reader.check()["ok"]
        assert len(svc.journal.list()) == 6
        assert svc.journal.verify().ok


_ALTERATIONS = {
    "UPDATE journal_pending SET content = replace(content, 'mine', 'other')": (
        "ref_id is not as it was written by an entry that has no sequence number yet"
    ),
    "UPDATE identities SET ref_id = 'other' WHERE ref_id = 'mine'": (
        "ref_id is not as it was written by an entry that has no sequence number yet"
    ),
    "DELETE FROM journal_pending": "it has no entry in the journal",
    "DELETE FROM identities WHERE ref_id = 'mine'": (
        "is missing; it was written by an entry that has no sequence number yet"
    ),
}


@pytest.mark.parametrize("alteration", _ALTERATIONS)
def test_an_altered_change_without_a_number_is_found(store_path: str, alteration: str) -> None:
    with comptroller.open(store_path) as svc, closing(Connection(store_path)) as other:
        other.execute("DROP TRIGGER journal_pending_is_not_updated ON journal_pending")
        with holding(store_path, _NUMBERS):
            svc.identities.put(id="alice", customer_id="acme", ref_id="mine")
            other.execute(alteration)
            with comptroller.open(store_path, read_only=True) as reader:
                messages = [each.message for each in reader.journal.verify().findings]
        assert any(_ALTERATIONS[alteration] in each for each in messages), messages


def test_changes_without_a_number_are_not_updated(store_path: str) -> None:
    with (
        comptroller.open(store_path) as svc,
        closing(Connection(store_path)) as other,
        holding(store_path, _NUMBERS),
    ):
        put(svc, "alice")
        for statement in ("UPDATE journal_pending SET key = 1", "TRUNCATE journal_pending"):
            with pytest.raises(RuntimeError, match="is never"):
                other.execute(statement)


def test_a_load_follows_the_changes_before_it(store_path: str) -> None:
    with comptroller.open(store_path) as svc:
        load(svc, "claims", claim(id="one"))
        with holding(store_path, _NUMBERS) as other:
            svc.claims.submit("one", tx_hash="0x1")
            other.execute("COMMIT")
            other.execute("BEGIN")
        load(svc, "claims", claim(id="two"))
        changes = [
            (each.id, each.operation) for each in svc.changes.list(resources=["claims"]).items
        ]
        assert changes == [
            ("one", "claims.load"),
            ("one", "claims.submit"),
            ("two", "claims.load"),
        ]
        assert svc.journal.verify().ok


def test_the_feed_is_read_beside_a_load(store_path: str) -> None:
    with comptroller.open(store_path) as svc, comptroller.open(store_path) as reader:
        put(svc, "alice")
        lock = "LOCK TABLE claims IN SHARE ROW EXCLUSIVE MODE"
        with (
            holding(store_path, lock) as other,
            waiting_for_lock(store_path, lambda: load(svc, "claims", claim(id="c"))) as running,
        ):
            assert shown(reader)[0] == ["alice"]
            assert not running.done()
            other.execute("COMMIT")
            running.result()
        assert len(reader.changes.list(resources=["claims"]).items) == 1


def test_an_archive_has_all_changes(run: Any, store_path: str, tmp_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        for number in range(20):
            put(svc, f"i{number}")
    out = ("--out", str(tmp_path / "archive.parquet"))
    archived = run(
        "journal", "archive", "--before", "2100-01-01T00:00:00Z", *out, "--db", store_path
    )
    assert archived.code == 0, archived.err
    with comptroller.open(store_path) as svc:
        put(svc, "later")
        result = svc.journal.verify()
        assert result.ok, result.findings
        assert len(shown(svc)[0]) == 21


def test_of_two_servers_one_delivers_each_event(store_path: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with Receiver() as receiver, ExitStack() as stack:
        one = stack.enter_context(comptroller.open(store_path, state=first))
        one.webhooks.create(url=receiver.url, event_types=["identity.*"])
        stack.enter_context(delivering(one))
        put(one, "first")
        receiver.take(1)
        shutil.copytree(first, second)
        two = stack.enter_context(comptroller.open(store_path, state=second))
        stack.enter_context(delivering(two))
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda n: put((one, two)[n % 2], f"i{n}"), range(100)))
        receiver.wait(lambda received: len({each.event["data"]["id"] for each in received}) == 101)
        put(two, "last")
        receiver.wait(lambda received: received[-1].event["data"]["id"] == "last")
        assert len(receiver.received) == 102


def test_a_server_with_another_webhook_key_does_not_deliver(
    store_path: str, tmp_path: Path
) -> None:
    with (
        comptroller.open(store_path, state=tmp_path / "first") as one,
        comptroller.open(store_path, state=tmp_path / "second") as two,
    ):
        with deliver(one.host.store, Counts()):
            webhook = one.webhooks.create(url="https://a.example")
        secret = one.webhooks.secret(webhook.id)
        with pytest.raises(comptroller.Unusable, match="copy the state folder of one of them"):
            two.webhooks.secret(webhook.id)
        with (
            pytest.raises(comptroller.Unusable, match="copy the state folder of one of them"),
            deliver(two.host.store, Counts()),
        ):
            pass
        shutil.copytree(tmp_path / "first", tmp_path / "second", dirs_exist_ok=True)
        with deliver(two.host.store, Counts()):
            assert two.webhooks.secret(webhook.id) == secret
