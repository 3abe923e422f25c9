"""Calls while another session locks the table of symbols, as a REINDEX does: they end in time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import comptroller
import pytest
from lines import identity, load, made_group
from postgresql_server import Connection, wait_until

_SECONDS = 20  # less than the limit of the wait for a lock

#: Creates a group in a thread, which waits for the lock, and then another one, which waits for the
#: thread, until a signal handler raises.
WAITER = """
import signal, sys, threading, comptroller
def interrupt(*_):
    raise KeyboardInterrupt
def create(address):
    svc.payout_groups.create(
        ledger="ETHEREUM",
        asset_type="ETH",
        jurisdiction="CH",
        name="North",
        claimer_address=address,
    )
def create_in_thread():
    try:
        create("0x0000000000000000000000000000000000000001")
    except comptroller.Error:
        pass
with comptroller.open(sys.argv[1]) as svc:
    print("ready", flush=True)
    sys.stdin.readline()
    threading.Thread(target=create_in_thread, daemon=True).start()
    sys.stdin.readline()
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        create("0x0000000000000000000000000000000000000002")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    else:
        print("ended", flush=True)
"""


@contextmanager
def locked_symbols(address: str) -> Iterator[Connection]:
    with closing(Connection(address)) as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE symbols IN ACCESS EXCLUSIVE MODE")
        try:
            yield other
        finally:
            other.execute("ROLLBACK")


def wait_for_waiter(session: Connection) -> None:
    """Waits until another session waits for the lock."""
    waits = (
        "SELECT pid FROM pg_locks JOIN pg_database AS d ON d.oid = database"
        " WHERE datname = current_database() AND NOT granted"
    )
    wait_until(lambda: session.execute(waits) != [])


def test_calls_with_known_texts_do_not_wait(store_path: str) -> None:
    with comptroller.open(store_path) as svc, ThreadPoolExecutor(2) as threads:
        load(svc, "identities", identity(id="alice"))
        svc.controls.create(identity_id="alice", type="FROZEN", reason_code="UNHEARD_OF")
        with locked_symbols(store_path) as session:
            creating = threads.submit(made_group, svc)
            wait_for_waiter(session)
            listing = threads.submit(svc.controls.list, reason_code=["UNHEARD_OF"])
            assert [each.identity_id for each in listing.result(_SECONDS)] == ["alice"]
            assert not creating.done()
        assert creating.result().name == "North"


def test_closing_ends_calls_that_wait(store_path: str) -> None:
    svc = comptroller.open(store_path)
    with ThreadPoolExecutor(2) as threads, locked_symbols(store_path) as session:
        creating = [threads.submit(made_group, svc) for _ in range(2)]
        wait_for_waiter(session)
        svc.close()
        for each in creating:
            with pytest.raises(comptroller.Closed):
                each.result(_SECONDS)


def test_ctrl_c_ends_a_call_that_waits_for_another_one(store_path: str) -> None:
    comptroller.open(store_path).close()
    command = [sys.executable, "-c", WAITER, store_path]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        with locked_symbols(store_path) as session:
            process.stdin.write("\n")
            process.stdin.flush()
            wait_for_waiter(session)
            assert process.communicate("\n", timeout=_SECONDS)[0] == "interrupted\n"
