"""Records operations on a store, loses power at many points of the record, and checks the store."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import comptroller
from places import ROOT, SUPPORT
from power_operations import CLAIMS, create_with_key, make_earlier_store, write_inputs
from power_record import Disk, Event, Loss, read_events

STORE = "store.db"
RECORDER = ROOT / "tests" / "power" / "recorder.cpp"


def compile_recorder(folder: Path) -> Path:
    library = folder / "recorder.so"
    how = ("-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    subprocess.run(["c++", *how, "-o", library, RECORDER, "-ldl"], check=True, timeout=120)
    return library


@dataclass
class Operation:
    """What an operation must leave: see `power_operations`."""

    name: str
    is_whole: bool
    begins: int  # the number of its first event
    ends: int = 0
    size: int = 0
    files: dict[str, str] = field(default_factory=dict)


@dataclass
class Record:
    """The events of a scenario, and the files that its folder had before and after it."""

    events: list[Event]
    before: dict[str, bytes]
    after: dict[str, bytes]
    operations: list[Operation]
    roots: dict[int, str]
    error: str  # of the program

    def answered(self, point: int) -> int:
        """Returns how many operations were answered before a point."""
        return sum(1 for each in self.operations if each.ends < point)


def record(
    scenario: str, folder: Path, recorder: Path, *, fails: bool = False, **variables: str
) -> Record:
    """Runs a scenario of `power_operations`, with further variables of its environment."""
    files, inputs = folder / "files", folder / "inputs"
    files.mkdir(parents=True)
    inputs.mkdir()
    write_inputs(inputs)
    if scenario == "migration":
        make_earlier_store(files / STORE, inputs)
    before = content_of(files)
    command = [sys.executable, SUPPORT / "power_operations.py", scenario, files, inputs]
    environment = {
        **os.environ,
        "PYTHONPATH": str(SUPPORT),
        "LD_PRELOAD": str(recorder),
        "POWER_ROOT": str(files.resolve()),
        "POWER_RECORD": str(folder / "record"),
        "TMPDIR": str(inputs),
        **variables,
    }
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    if fails != (done.returncode != 0):
        raise AssertionError(done.stderr)
    events = read_events(folder / "record")
    operations, roots = _operations(events)
    after = content_of(files)
    shutil.rmtree(folder)
    return Record(events, before, after, operations, roots, done.stderr)


def content_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def _operations(events: list[Event]) -> tuple[list[Operation], dict[int, str]]:
    operations: list[Operation] = []
    roots: dict[int, str] = {}
    for number, event in enumerate(events):
        mark = event.mark if event.kind == "m" else {}
        if "begun" in mark:
            operations.append(Operation(mark["name"], mark["is_whole"], number, len(events)))
        elif "answered" in mark:
            operations[-1].ends = number
        elif "state" in mark:
            operations[-1].size = mark["size"]
            operations[-1].files = mark["files"]
            roots |= {int(size): root for size, root in mark["roots"].items()}
    return operations, roots


def points_of(record: Record, count: int, chance: Random) -> list[int]:
    """Chooses points of time: the number of events before each.

    They are spread over the operations. A third follow an answer at once, and a third are beside a
    synchronisation or a change of names, where an order matters.
    """
    operations = chance.sample(record.operations, len(record.operations))
    points = (
        _point_of(record, operations[turn % len(operations)], chance) for turn in range(count)
    )
    return sorted(min(point, len(record.events)) for point in points)


def _point_of(record: Record, operation: Operation, chance: Random) -> int:
    inside = range(operation.begins, operation.ends)
    turning = [at for at in inside if record.events[at].kind not in "wt"]
    way = chance.choice(["answered", "inside", "turning"])
    if way == "answered":
        return operation.ends + 1
    return chance.choice(turning if way == "turning" else inside) + chance.choice([0, 1])


def lose_power(
    record: Record,
    points: list[int],
    seed: int,
    ignores: Callable[[str], bool] = lambda _name: False,
) -> list[str]:
    """Loses power at each point, and returns what is wrong with the store afterwards."""
    disk = Disk(record.before, ignores)
    findings: list[str] = []
    done = 0
    for turn, point in enumerate(points):
        for event in record.events[done:point]:
            disk.apply(event)
        done = point
        left = disk.lost(Loss(Random(f"{seed}-{turn}-{point}")))
        with TemporaryDirectory(dir=_memory()) as folder:
            for name, content in left.items():
                (Path(folder) / name).write_bytes(content)
            finding = _finding(record, point, Path(folder))
            if finding:
                during = record.operations[min(record.answered(point), len(record.operations) - 1)]
                findings.append(f"point {point} ({turn}), {during.name}: {finding}")
    return findings


def _memory() -> Path | None:
    """Returns a folder in memory, where synchronising takes no time."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() else None


def _finding(record: Record, point: int, folder: Path) -> str:
    try:
        _check(record, point, folder)
    except (AssertionError, comptroller.Error, OSError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _check(record: Record, point: int, folder: Path) -> None:
    """Checks what is left: the store has every answered write, is sound, and can be used."""
    answered = record.answered(point)
    last = record.operations[answered - 1] if answered else None
    during = record.operations[answered] if answered < len(record.operations) else None
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    with comptroller.open(folder / STORE) as svc:
        checked = svc.check()
        assert checked["ok"], checked["findings"]
        assert checked["findings"] == []
        if record.before:
            assert checked["rows"]["claims"] == CLAIMS
        state = svc.journal.state()
        if last is not None:
            _check_state(record, state, last, during)
            has_entry = during is not None and last.size < state.size == during.size
            _check_files(record, answered + has_entry, found)
        _check_acknowledged(record, point, svc)
        svc.identities.put(id="afterwards")
    with comptroller.open(folder / STORE, read_only=True) as svc:
        assert svc.identities.get("afterwards").id == "afterwards"
        assert svc.journal.state().size == state.size + 1
    assert not (folder / f"{STORE}-filling").exists()


def _check_state(record: Record, state: Any, last: Operation, during: Operation | None) -> None:
    sizes = {last.size}
    if during is not None:
        sizes |= {during.size} if during.is_whole else {*range(last.size, during.size + 1)}
    assert state.size in sizes, f"the journal has {state.size} entries, not {sizes}"
    assert state.root == record.roots[state.size], "the entries are others"


def _check_files(record: Record, answered: int, found: dict[str, str]) -> None:
    """An answered file is there; another one is complete, or as before, or missing."""
    expected: dict[str, str | None] = {}
    for operation in record.operations[:answered]:
        expected |= operation.files
    possible: dict[str, set[str | None]] = {name: {each} for name, each in expected.items()}
    for operation in record.operations[answered : answered + 1]:
        for name, digest in operation.files.items():
            possible.setdefault(name, {None}).add(digest)
    for name, digests in possible.items():
        assert found.get(name) in digests, f"{name} is lost or incomplete"


def _marks(record: Record, point: int) -> list[dict[str, Any]]:
    return [event.mark for event in record.events[:point] if event.kind == "m"]


def _check_acknowledged(record: Record, point: int, svc: comptroller.Service) -> None:
    for mark in _marks(record, point):
        if "acknowledged" in mark:
            assert svc.identities.get(mark["acknowledged"]).user_disabled
        elif "key" in mark:
            assert create_with_key(svc, mark["key"]) == mark["answer"], "a retry was executed"
