"""Writers in threads and processes never overwrite each other's writes."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import comptroller
import pytest
from callers import Caller
from histories import Call, contradictions
from serving import serving

pytestmark = pytest.mark.promise(5)

CLIENTS = 64
CALLS = 20_000
REGISTERS = 50
PROCESSES = 4
WRITES = 2_000

WRITER = """
import sys, comptroller
with comptroller.open(sys.argv[1]) as service:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[3])):
        service.identities.put(id=f"{sys.argv[2]}-{number}", user_disabled=True)
"""


async def crowd(address: str, calls: int) -> list[Call]:
    """Writes and reads the metadata of identities as many clients; returns what they saw."""
    values = itertools.count()
    numbers = iter(range(calls))
    history = []

    async def act(seed: int) -> None:
        chance, caller = random.Random(seed), Caller(address)
        for _ in numbers:
            register = f"r{chance.randrange(REGISTERS)}"
            is_write = chance.random() < 0.5
            value = str(next(values)) if is_write else None
            sent = time.monotonic()
            if is_write:
                body = json.dumps({"id": register, "metadata": {"value": value}}).encode()
                answer = await caller.ask("PUT", "/operator/identity/identities", body)
            else:
                answer = await caller.ask("GET", f"/v2/identity/identities/{register}")
            answered = time.monotonic()
            assert answer.status == 200 or (answer.status == 404 and not is_write), answer
            if answer.status == 200:
                shown = json.loads(answer.body)["metadata"]["value"]
                assert value in (None, shown)
                value = shown
            history.append(Call(register, value, is_write, sent, answered))
        caller.hang_up()

    await asyncio.gather(*(act(seed) for seed in range(CLIENTS)))
    return history


def order_of_writes(service: comptroller.Service) -> dict[str, list[str]]:
    """Returns the values of each register as the journal has them."""
    written: dict[str, list[str]] = {f"r{number}": [] for number in range(REGISTERS)}
    for change in service.changes.iter():
        assert change.after
        written[change.id].append(json.loads(change.after["metadata"])["value"])
    return written


def test_a_crowd_of_writers(tmp_path: Path, figures: dict[str, Any]) -> None:
    """20,000 writes and reads of 50 records by 64 clients are linearizable"""
    with serving("--auth", "off", cwd=tmp_path) as server:
        history = asyncio.run(crowd(server.address, CALLS))
    with comptroller.open(tmp_path / "store.db") as service:
        written = order_of_writes(service)
    writes = [call.value for call in history if call.is_write]
    figures["clients"] = CLIENTS
    figures["writes"] = len(writes)
    figures["reads"] = len(history) - len(writes)
    found = contradictions(history, written)
    figures["contradictions"] = len(found)
    assert len(history) == CALLS
    assert Counter(writes) == Counter(itertools.chain.from_iterable(written.values()))
    assert not found, found[:5]


def test_processes(tmp_path: Path, figures: dict[str, Any]) -> None:
    """4 processes write one file: all writes are there"""
    store = tmp_path / "store.db"
    comptroller.open(store).close()
    command = [sys.executable, "-c", WRITER, str(store)]
    started = [
        subprocess.Popen(
            [*command, f"p{number}", str(WRITES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for process in started:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    printed = [process.communicate()[1] for process in started]
    assert [process.returncode for process in started] == [0] * PROCESSES, printed
    with comptroller.open(store) as service:
        stored = Counter(identity.id for identity in service.identities.iter(limit=1000))
        assert service.check()["ok"]
    figures["processes"] = PROCESSES
    figures["writes"] = PROCESSES * WRITES
    figures["lost"] = PROCESSES * WRITES - len(stored)
    names = [f"p{process}-{number}" for process in range(PROCESSES) for number in range(WRITES)]
    assert stored == Counter(names)


WRITTEN = {"r": ["1", "2"]}
FIRST = Call("r", "1", is_write=True, sent=0, answered=1)
SECOND = Call("r", "2", is_write=True, sent=2, answered=3)
AT_ONCE = Call("r", "2", is_write=True, sent=0, answered=3)


def read(value: str | None, sent: float, answered: float) -> Call:
    return Call("r", value, is_write=False, sent=sent, answered=answered)


@pytest.mark.parametrize(
    ("calls", "is_linearizable"),
    [
        pytest.param([FIRST, SECOND], True, id="two writes"),
        pytest.param([FIRST, SECOND, read("1", 4, 5)], False, id="a stale read"),
        pytest.param([FIRST, SECOND, read("1", 2.5, 5)], True, id="a read during a write"),
        pytest.param([FIRST, SECOND, read(None, 1.5, 5)], False, id="a read without a write"),
        pytest.param([FIRST, SECOND, read("2", 0, 1.5)], False, id="a read before its write"),
        pytest.param(
            [FIRST._replace(sent=4, answered=5), SECOND], False, id="writes in the wrong order"
        ),
        pytest.param(
            [FIRST, AT_ONCE, read("2", 1, 1.2), read("1", 1.3, 1.4)], False, id="a value goes back"
        ),
    ],
)
def test_the_check_finds_contradictions(
    calls: list[Call], is_linearizable: bool, figures: dict[str, Any]
) -> None:
    """The check of histories finds stale, early and reordered answers"""
    found = contradictions(calls, WRITTEN)
    figures["calls"] = len(calls)
    figures["contradictions found"] = len(found)
    assert (found == []) == is_linearizable
