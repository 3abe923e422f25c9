"""Writes that move a claim to another group while the jurisdiction of a group changes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import comptroller
from lines import at, claim, group, load
from postgresql_server import Connection, Server, wait_until

GROUPS = [f"01900000-0000-7000-8000-00000000000{number}" for number in (1, 2, 3)]
JURISDICTIONS = ("CH", "DE", "FR")


def line(place: int, days: int) -> dict[str, Any]:
    return claim(id="c", payout_group_id=GROUPS[place], updated_at=at(days=days))


def test_a_claim_never_keeps_the_jurisdiction_of_a_group_that_it_left(
    server: Server, store_path: str
) -> None:
    """A put moves it to the second group, a load to the third, and the second one changes."""
    database = store_path.rpartition("?")[0].rpartition("/")[2]

    def waiting() -> int:
        locks = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted AND pid IN"
        sessions = f"(SELECT pid FROM pg_stat_activity WHERE datname = '{database}')"
        ((count,),) = server.execute(f"{locks} {sessions}")
        return int(count or 0)

    def start(threads: ThreadPoolExecutor, write: Callable[[], Any], count: int) -> Future[Any]:
        running = threads.submit(write)
        wait_until(lambda: running.done() or waiting() == count)
        assert not running.done(), running.result()
        return running

    with (
        comptroller.open(store_path) as svc,
        closing(Connection(store_path)) as keys,
        closing(Connection(store_path)) as journal,
        ThreadPoolExecutor(3) as threads,
    ):
        groups = zip(GROUPS, JURISDICTIONS, strict=True)
        load(svc, "payout-groups", *(group(id=id, jurisdiction=each) for id, each in groups))
        load(svc, "claims", line(0, 0))
        keys.execute("BEGIN")  # holds up the put before its commit
        keys.execute("INSERT INTO idempotency_keys VALUES ('', 'claims.put', 'k', '', '', 0)")
        journal.execute("BEGIN")  # holds up the load before its commit
        journal.execute("SELECT only_row FROM journal_writer FOR UPDATE")
        moved = line(1, 1)
        start(threads, lambda: svc.claims.put(moved, idempotency_key="k"), 1)
        loading = start(threads, lambda: svc.load("claims", [line(2, 2)]), 2)
        keys.execute("ROLLBACK")
        wait_until(lambda: waiting() == 1)
        update = lambda: svc.payout_groups.update(GROUPS[1], jurisdiction="US")  # noqa: E731
        start(threads, update, 2)
        journal.execute("ROLLBACK")
        assert loading.result().updated == 1
        threads.shutdown()
        (found,) = svc.claims.list(jurisdiction="FR")
        assert (found.payout_group_id, found.id) == (GROUPS[2], "c")
        assert not list(svc.claims.list(jurisdiction="US"))
        assert svc.check()["ok"]
