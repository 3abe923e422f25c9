"""Programs that write to a store until they are killed, for the tests of durability.

`python killed_writers.py` forks writers for each line of its input: a JSON object with the
`program`, the `store`, the number of acknowledgements after which to `kill` it, and the seconds of
a further `delay`. There is a further writer for each of the prefixes `others`; each is killed after
as many further acknowledgements. The output is a line of JSON with the acknowledged writes. The
parent never opens a store, so that it may fork.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
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


Order = dict[str, Any]
Acknowledge = Callable[[str], None]


def write(order: Order, acknowledge: Acknowledge) -> None:
    svc = comptroller.open(order["store"])
    write_from_four_threads(svc, order["prefix"], acknowledge)


def fork_and_write(order: Order, acknowledge: Acknowledge) -> None:
    """Writes, while children that were forked meanwhile have the files open, too."""
    svc = comptroller.open(order["store"])

    def fork() -> None:
        for number in range(4):
            svc.identities.put(id=f"{order['prefix']}-fork-{4 * number + 1}")
            if os.fork() == 0:
                os.close(order["pipe"])
                os.read(order["lifeline"], 1)
                os._exit(0)
            acknowledge("forked")

    threading.Thread(target=fork).start()
    write_from_four_threads(svc, order["prefix"], acknowledge)


def write_large(order: Order, acknowledge: Acknowledge) -> None:
    """Writes so much that there is a checkpoint after some 126 writes."""
    svc = comptroller.open(order["store"])
    note = {f"note-{number}": "x" * 500 for number in range(50)}
    for number in itertools.count():
        name = f"{order['prefix']}-{number}"
        svc.identities.put(id=name, metadata=note, user_disabled=True)
        acknowledge(name)


def load(order: Order, acknowledge: Acknowledge) -> None:
    svc = comptroller.open(order["store"])
    source = Announced(order["path"], acknowledge)
    svc.load("claims", source, keep_going=order.get("keep_going", False))
    acknowledge("done")
    signal.pause()


def migrate(order: Order, acknowledge: Acknowledge) -> None:
    """Opens a store of an earlier version."""
    acknowledge("begun")
    svc = comptroller.open(order["store"])
    svc.identities.put(id="migrated")
    acknowledge("done")
    signal.pause()


def move(order: Order, acknowledge: Acknowledge) -> None:
    """Changes the jurisdiction of a group again and again."""
    svc = comptroller.open(order["store"])
    for jurisdiction in itertools.cycle(("FR", "NL", "DE")):
        acknowledge(f"to {jurisdiction}")
        svc.payout_groups.update(CLAIM["payout_group_id"], jurisdiction=jurisdiction)
        acknowledge(jurisdiction)


def archive(order: Order, acknowledge: Acknowledge) -> None:
    """Archives the entries of the journal again and again."""
    svc = comptroller.open(order["store"])
    for number in itertools.count():
        for each in range(3):
            svc.identities.put(id=f"{order['prefix']}-{number}-{4 * each + 2}")
        file = f"{order['store']}.{order['prefix']}-{number}.parquet"
        acknowledge(f"to {file}")
        archived = svc.journal.archive("2100-01-01", file)
        acknowledge(f"{archived.size} {file}")


PROGRAMS = {
    each.__name__: each
    for each in (write, fork_and_write, write_large, load, migrate, move, archive)
}


def run(order: Order, pipe: int) -> None:
    def acknowledge(name: str) -> None:
        os.write(pipe, name.encode() + b"\n")

    PROGRAMS[order["program"]](order, acknowledge)


def start(order: Order, pipe: tuple[int, int], lifeline: tuple[int, int]) -> int:
    child = os.fork()
    if child:
        return child
    os.close(pipe[0])
    os.close(lifeline[1])
    try:
        run({**order, "pipe": pipe[1], "lifeline": lifeline[0]}, pipe[1])
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def killed(order: Order, lifeline: tuple[int, int]) -> list[str]:
    """Returns what writers acknowledged before they were killed.

    The children that they forked live until the second end of the lifeline is closed.
    """
    pipe = os.pipe()
    prefixes = [order.get("prefix", ""), *order.get("others", [])]
    children = [start({**order, "prefix": prefix}, pipe, lifeline) for prefix in prefixes]
    os.close(pipe[1])
    names: list[bytes] = []
    with os.fdopen(pipe[0], "rb") as acknowledged:
        for child in children:
            names += [acknowledged.readline() for _ in range(order["kill"])]
            time.sleep(order.get("delay", 0))
            os.kill(child, signal.SIGKILL)
        names += acknowledged.readlines()
    for child in children:
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, f"the writer ended by itself: {status}"
    # A name without its newline was cut off.
    return [name.decode().strip() for name in names if name.endswith(b"\n")]


def main() -> None:
    lifeline = os.pipe()
    for text in sys.stdin:
        for end in lifeline:
            os.close(end)
        lifeline = os.pipe()
        print(json.dumps(killed(json.loads(text), lifeline)), flush=True)


if __name__ == "__main__":
    main()
