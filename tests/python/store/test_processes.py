"""Several processes and many threads on one store."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import Conflict, Service, Unsupported
from examples import loaded, short_line
from held_writer import while_writing
from places import SUPPORT

PROCESSES = 4
WRITES = 300

WRITER = """
import sys, comptroller
from examples import short_line
store, prefix, writes = sys.argv[1:]
with comptroller.open(store) as svc:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(writes)):
        name = f"{prefix}-{number}"
        if number % 2:
            svc.claims.put(short_line("claims", id=name))
        else:
            svc.identities.put(id=name, user_disabled=True)
        if number % 50 == 0:
            svc.claims.list(limit=10)
"""

DELETER = """
import sys, comptroller
with comptroller.open(sys.argv[1]) as svc:
    print("ready", flush=True)
    for control in sys.stdin.readline().split():
        try:
            svc.controls.delete(control)
            print("deleted")
        except comptroller.Conflict as error:
            print(error.code)
"""

OPENER = """
import sys, comptroller
print("ready", flush=True)
sys.stdin.readline()
for number in range(25):
    with comptroller.open(sys.argv[1]) as svc:
        svc.identities.put(id=f"{sys.argv[2]}-{number}")
"""

# In a separate process, because Python warns of a fork with threads.
FORKER = """
import gc, json, os, sys, comptroller
print("ready", flush=True)
svc = comptroller.open(sys.argv[1])
svc.identities.put(id="alice")
svc.reports.claims_summary()
reading, writing = os.pipe()
svc.reports._turn.acquire()  # as if another thread ran a report
child = os.fork()
if child == 0:
    outcomes = []
    for ask in (
        lambda: svc.identities.get("alice"),
        lambda: svc.identities.put(id="bob"),
        lambda: svc.claims.stream(),
        lambda: svc.load("claims", []),
        lambda: svc.check(),
        lambda: svc.reports.claims_summary(),
        lambda: svc.reports.overview(),
        lambda: svc.export("claims", "-"),
        lambda: svc.host.store.commits(),
    ):
        try:
            outcomes.append(repr(ask()))
        except comptroller.Closed as error:
            outcomes.append(error.code)
    if sys.argv[2] == "close":
        svc.close()
    os.write(writing, json.dumps(outcomes).encode())
    del svc
    gc.collect()
    sys.exit(0)
os.close(writing)
print(os.fdopen(reading).read())
assert os.waitpid(child, 0)[1] == 0
svc.reports._turn.release()
svc.identities.put(id="carol")
assert svc.check()["ok"]
"""

# A child for each attempt, because libraries initialize at the first call.
FIRST_CALLS = """
import os, sys, threading, comptroller
from killed_writers import write_one
comptroller.open  # so that children need not import it
print("ready", flush=True)
sys.stdin.readline()
for child in range(30):
    if os.fork() == 0:
        sys.setswitchinterval(1e-6)
        svc = comptroller.open(sys.argv[1])
        barrier = threading.Barrier(8)
        def call(thread):
            barrier.wait()
            write_one(svc, f"c{child}-{thread}")
        threads = [threading.Thread(target=call, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        svc.close()
        os._exit(0)
    print(os.wait()[1])
"""


def run_together(program: str, arguments: list[list[str]], start: str = "go") -> list[str]:
    """Returns the outputs of processes that run this program and start at the same time."""
    environment = dict(os.environ)
    places = [str(SUPPORT), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(places)
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", program, *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for more in arguments
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(start + "\n")
        process.stdin.flush()
    printed = []
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert "locked" not in err.lower()
        assert (process.returncode, err) == (0, "")
        printed.append(out)
    return printed


def test_four_processes_write_one_file(store_path: Path) -> None:
    arguments = [[str(store_path), f"p{n}", str(WRITES)] for n in range(PROCESSES)]
    run_together(WRITER, arguments)
    names = {f"p{n}-{number}" for n in range(PROCESSES) for number in range(WRITES)}
    with comptroller.open(store_path) as svc:
        identities = list(svc.identities.iter())
        claims = list(svc.claims.iter())
        assert {record.id for record in [*identities, *claims]} == names
        assert len(identities) == len(claims) == len(names) // 2
        assert all(identity.user_disabled for identity in identities)
        assert svc.check()["ok"]


def test_processes_may_create_and_open_one_file_at_once(tmp_path: Path) -> None:
    store = tmp_path / "new.db"
    run_together(OPENER, [[str(store), f"p{n}"] for n in range(PROCESSES)])
    with comptroller.open(store) as svc:
        assert len(list(svc.identities.iter())) == PROCESSES * 25
        assert svc.check()["ok"]


def test_exactly_one_of_many_deletes_succeeds(store_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        rows = [short_line("controls", id=f"c{n}", identity_id=f"i{n}") for n in range(40)]
        loaded(svc, "controls", *rows)
    names = " ".join(f"c{n}" for n in range(40))
    printed = run_together(DELETER, [[str(store_path)]] * 3, names)
    counts = Counter(" ".join(printed).split())
    assert counts == {"deleted": 40, "already-deleted": 80}


def test_the_first_calls_of_a_process_may_come_from_many_threads(store_path: Path) -> None:
    (printed,) = run_together(FIRST_CALLS, [[str(store_path)]])
    assert printed.split() == ["0"] * 30
    with comptroller.open(store_path) as svc:
        assert len(list(svc.identities.iter())) == 30 * 4


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Returns the results of the same work in threads that start at the same time."""
    results: list[Any] = [None] * count
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except comptroller.Error as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_exactly_one_of_many_creates_succeeds(operator: Service) -> None:
    for number in range(10):
        operator.identities.put(id=f"i{number}")

        def create(_thread: int, identity: str = f"i{number}") -> Any:
            return operator.controls.create(identity_id=identity, type="CLOSED", reason_code="X")

        results = in_threads(8, create)
        refused = [result for result in results if isinstance(result, Conflict)]
        (made,) = (result for result in results if isinstance(result, comptroller.Control))
        assert {(error.code, error.existing) for error in refused} == {("already-exists", made.id)}
        assert len(refused) == 7


def test_threads_write_and_read_their_own_writes(operator: Service) -> None:
    def work(thread: int) -> bool:
        for number in range(40):
            name = f"t{thread}-{number}"
            made = operator.claims.put(short_line("claims", id=name))
            assert operator.claims.get(name) == made
        return True

    assert in_threads(8, work) == [True] * 8
    assert len(list(operator.claims.iter(limit=7))) == 320


def test_readers_continue_during_a_load(operator: Service) -> None:
    operator.identities.put(id="alice")
    seen: set[int] = set()
    rows = [short_line("claims", id=f"c{n}") for n in range(4000)]

    def progressing() -> Any:
        for number, row in enumerate(rows):
            if number % 1000 == 0:
                seen.add(operator.check()["rows"]["claims"])
                assert operator.identities.get("alice").status == "APPROVED"
            yield row

    assert operator.load("claims", progressing()).committed
    assert seen == {0}


INNER_WRITES: list[Callable[[Service], object]] = [
    lambda svc: svc.identities.put(id="inner"),
    lambda svc: svc.load("claims", [short_line("claims", id="inner")]),
]


@pytest.mark.parametrize("write", INNER_WRITES)
def test_a_thread_that_loads_may_not_write(
    operator: Service, write: Callable[[Service], object]
) -> None:
    with pytest.raises(Unsupported, match="this thread is loading"):
        while_writing(operator, lambda: write(operator))
    write(operator)
    assert len(operator.claims.list()) <= 1


@pytest.mark.parametrize("write", INNER_WRITES)
@pytest.mark.parametrize("keep_going", [False, True])
def test_rows_may_write(
    operator: Service, write: Callable[[Service], object], keep_going: bool
) -> None:
    """They are read before the load writes."""

    def rows() -> Any:
        write(operator)
        yield short_line("claims", id="outer")

    assert operator.load("claims", rows(), keep_going=keep_going).inserted == 1
    assert len(operator.claims.list()) + len(operator.identities.list()) == 2


def test_a_load_inside_the_load_of_another_store_may_not_write_to_the_outer_store(
    operator: Service, tmp_path: Path
) -> None:
    def write() -> None:
        with pytest.raises(Unsupported, match="this thread is loading"):
            operator.identities.put(id="inner")

    with comptroller.open(tmp_path / "other.db") as other:
        while_writing(operator, lambda: while_writing(other, write))


WAITER = """
import sys, comptroller
with comptroller.open(sys.argv[1]) as svc:
    print("ready", flush=True)
    try:
        eval(sys.argv[2])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def interrupt_waiter(store_path: Path, write: str) -> None:
    """Starts a write that waits, and ends it with Ctrl-C."""
    command = [sys.executable, "-c", WAITER, str(store_path), write]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiter:
        assert waiter.stdout
        assert waiter.stdout.readline() == "ready\n"
        with suppress(subprocess.TimeoutExpired):
            waiter.wait(timeout=0.5)  # it waits, and does not end
        waiter.send_signal(signal.SIGINT)
        assert waiter.communicate(timeout=10)[0] == "interrupted\n"


WAITING_WRITES = pytest.mark.parametrize(
    "write", ["svc.identities.put(id='bob')", "svc.load('claims', [])"]
)


@WAITING_WRITES
def test_a_wait_for_another_process_can_be_interrupted(store_path: Path, write: str) -> None:
    with comptroller.open(store_path) as svc:
        while_writing(svc, lambda: interrupt_waiter(store_path, write))
        assert len(svc.identities.list()) == 0


@WAITING_WRITES
def test_a_wait_for_another_program_can_be_interrupted(store_path: Path, write: str) -> None:
    comptroller.open(store_path).close()
    with closing(sqlite3.connect(store_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        interrupt_waiter(store_path, write)


# Holds the lock of writers, with an idle forked child, until it is killed.
HOLDER = """
import os, sys, comptroller
from held_writer import while_writing
svc = comptroller.open(sys.argv[1])
def hold():
    child = os.fork()
    if child == 0:
        sys.stdin.read()  # until the test ends
        os._exit(0)
    print("ready", child, flush=True)
    sys.stdin.read()
while_writing(svc, hold)
"""


def test_a_killed_process_leaves_no_lock_to_its_forked_child(store_path: Path) -> None:
    comptroller.open(store_path).close()
    command = [sys.executable, "-W", "ignore", "-c", HOLDER, str(store_path)]
    here = SUPPORT
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=here
    ) as holder:
        assert holder.stdout
        ready, child = holder.stdout.readline().split()
        assert ready == b"ready"
        holder.kill()
        holder.wait()
        os.kill(int(child), 0)  # the child is alive
        (printed,) = run_together(WRITE_ONE, [[str(store_path)]])
        os.kill(int(child), 0)
    assert printed == "written\n"


# Gives up after ten seconds; a writer would wait for thirty.
WRITE_ONE = """
import signal, sys, comptroller
print("ready", flush=True)
sys.stdin.readline()
signal.alarm(10)
with comptroller.open(sys.argv[1]) as svc:
    svc.identities.put(id="alice")
print("written")
"""


@pytest.mark.parametrize("end", ["close", "exit"])
def test_a_forked_child_is_refused(store_path: Path, end: str) -> None:
    (printed,) = run_together(FORKER, [[str(store_path), end]])
    assert json.loads(printed) == ["closed"] * 9
