"""Programs that write to a store until they are killed, for the tests of durability.

`python killed_writers.py` forks a writer for each line of its input: a JSON object with the
`program`, the `store`, and the number of acknowledgements after which to `kill` it. The output is a
line of JSON with the acknowledged writes. The parent never opens a store, so that it may fork.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import threading
import traceback
from typing import Any

import comptroller
from comptroller import Service

CLAIM = {
    "payout_group_id": "00000000-0000-4000-8000-000000000001",
    "claim_type": "CLAIM_ALL",
    "onchain_status": "PENDING",
    "amount": "1.50",
    "created_at": "2026-01-31T12:00:00Z",
}


def write_one(svc: Service, name: str) -> None:
    """One of several writes: of one row, of two at once, and a change."""
    turn = int(name.rpartition("-")[2]) % 4
    if turn == 0:
        svc.identities.put(id=name, user_disabled=True)
    elif turn == 1:
        svc.claims.put({"id": name, **CLAIM})
    elif turn == 2:
        svc.identities.put(id=name)
        svc.controls.create(identity_id=name, type="CLOSED", reason_code="KILLED")
    else:
        svc.claims.put({"id": name, **CLAIM})
        svc.claims.submit(name, tx_hash="0x" + "ab" * 32)


def write_from_four_threads(svc: Service, prefix: str, acknowledge: Any) -> None:
    def work(thread: int) -> None:
        for number in itertools.count():
            name = f"{prefix}-{thread}-{number}"
            write_one(svc, name)
            acknowledge(name)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Announced:
    """A file that reports each piece that is read."""

    def __init__(self, path: str, acknowledge: Any) -> None:
        self._file = open(path, "rb")  # noqa: PTH123, SIM115
        self._acknowledge = acknowledge
        self._pieces = itertools.count()

    def readable(self) -> bool:
        return True

    def peek(self, size: int) -> bytes:
        return self._file.peek(size)

    def readinto(self, buffer: Any) -> int:
        self._acknowledge(str(next(self._pieces)))
        return self._file.readinto(memoryview(buffer)[: 1 << 15])


def load(svc: Service, path: str, acknowledge: Any, keep_going: bool) -> None:
    svc.load("claims", Announced(path, acknowledge), keep_going=keep_going)
    acknowledge("done")
    signal.pause()


def run(order: dict[str, Any], pipe: int) -> None:
    def acknowledge(name: str) -> None:
        os.write(pipe, name.encode() + b"\n")

    svc = comptroller.open(order["store"])
    if order["program"] == "write":
        write_from_four_threads(svc, order["prefix"], acknowledge)
    else:
        load(svc, order["path"], acknowledge, order.get("keep_going", False))


def killed(order: dict[str, Any]) -> list[str]:
    """Returns what a writer acknowledged before it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            run(order, writing)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as acknowledged:
        names = [acknowledged.readline() for _ in range(order["kill"])]
        os.kill(child, signal.SIGKILL)
        names += acknowledged.readlines()
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, f"the writer ended by itself: {status}"
    # A name without its newline was cut off.
    return [name.decode().strip() for name in names if name.endswith(b"\n")]


if __name__ == "__main__":
    for text in sys.stdin:
        print(json.dumps(killed(json.loads(text))), flush=True)
