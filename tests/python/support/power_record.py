"""The record of a process's changes to a folder, and what a loss of power can leave of them.

`tests/power/recorder.cpp` writes the record. A file system may lose, reorder and tear all that was
not synchronised: the writes to a file, sector by sector, its length, and the names in the folder.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

SECTOR = 512
_HEADER = struct.Struct("<cIQQ")


@dataclass(frozen=True)
class Event:
    """One change, synchronisation or mark; see the recorder for the kinds."""

    kind: str
    file: int
    offset: int
    payload: bytes

    @property
    def names(self) -> list[str]:
        return self.payload.decode().split("\0")

    @property
    def mark(self) -> dict[str, Any]:
        mark: dict[str, Any] = json.loads(self.payload)
        return mark


def read_events(record: Path) -> list[Event]:
    return list(_read(record.read_bytes()))


def _read(record: bytes) -> Iterator[Event]:
    at = 0
    while at < len(record):
        kind, file, offset, size = _HEADER.unpack_from(record, at)
        at += _HEADER.size
        yield Event(kind.decode(), file, offset, record[at : at + size])
        at += size


@dataclass
class File:
    """What is on the disk for certain, and the later changes in order."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Event] = field(default_factory=list)


class Disk:
    """A folder, as the events so far have changed it.

    Args:
        before: the content of the files that existed before the recording.
        ignores: the synchronisations that have no effect, by the name of the file; the folder's
            name is ``.``. Tests use it to show that they find a missing one.
    """

    def __init__(
        self, before: dict[str, bytes], ignores: Callable[[str], bool] = lambda _name: False
    ) -> None:
        self._before = before
        self._ignores = ignores
        self._files: dict[int, File] = {}
        self._numbers: dict[str, int] = {}  # of the files that existed before
        self._names_of: dict[int, str] = {}
        self._names: dict[str, int] = {}  # on the disk for certain
        self._renamings: list[Event] = []  # the later changes of names in order
        self._latest: dict[str, int] = {}  # the names after all of them
        for number, (name, content) in enumerate(before.items(), start=1):
            self._numbers[name] = self._names[name] = self._latest[name] = -number
            self._files[-number] = File(bytearray(content))

    def apply(self, event: Event) -> None:
        if event.kind == "o":
            name = event.payload.decode()
            self._files[event.file] = self._files[self._numbers[name]]
            self._names_of[event.file] = name
        elif event.kind == "c":
            self._files[event.file] = File()
            self._names_of[event.file] = event.payload.decode()
            if event.payload:
                self._rename(event)
        elif event.kind in "lru":
            self._rename(event)
        elif event.kind in "wt":
            self._files[event.file].pending.append(event)
        elif event.kind == "s" and not self._ignores(self._names_of[event.file]):
            file = self._files[event.file]
            for change in file.pending:
                _change(file.durable, change, [(0, len(change.payload))])
            file.pending.clear()
        elif event.kind == "d" and not self._ignores("."):
            for renaming in self._renamings:
                _rename(self._names, renaming)
            self._renamings.clear()

    def _rename(self, event: Event) -> None:
        file = self._latest[event.names[0]] if event.kind == "r" else event.file
        renaming = replace(event, file=file)
        self._renamings.append(renaming)
        _rename(self._latest, renaming)

    def lost(self, loss: Loss) -> dict[str, bytes]:
        """Returns the files that a loss of power leaves."""
        names = dict(self._names)
        for renaming in loss.kept(self._renamings):
            _rename(names, renaming)
        return {name: self._content(name, self._files[file], loss) for name, file in names.items()}

    def _content(self, name: str, file: File, loss: Loss) -> bytes:
        if name.endswith("-shm"):  # the memory that processes share, which SQLite makes anew
            return loss.noise(8 * SECTOR)
        content = bytearray(file.durable)
        length = len(content)
        kept = {id(change) for change in loss.kept(file.pending)}
        for change in file.pending:
            length = change.offset if change.kind == "t" else max(length, _end(change))
            if id(change) in kept:
                _change(content, change, loss.pieces(change))
        missing = length - len(content)
        return bytes(content) + (loss.noise(missing) if missing > 0 and loss.lengthens else b"")


class Loss:
    """What one loss of power keeps of the changes that were not synchronised."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._way = chance.choice(["none", "all", "first", "last", "some", "some", "some"])
        self._share = chance.choice([0.1, 0.5, 0.9])
        self._tears = self._way != "all" and chance.random() < 0.7
        self.lengthens = self._way != "none" and chance.random() < 0.5
        self._has_noise = chance.random() < 0.5

    def kept(self, changes: list[Event]) -> list[Event]:
        if self._way in ("none", "all"):
            return changes if self._way == "all" else []
        cut = self._chance.randint(0, len(changes))
        if self._way == "first":
            return changes[:cut]
        if self._way == "last":
            return changes[cut:]
        return [change for change in changes if self._chance.random() < self._share]

    def pieces(self, change: Event) -> list[tuple[int, int]]:
        """Returns the parts of a written payload that are kept, by sectors of the file."""
        size = len(change.payload)
        if not self._tears or self._chance.random() < 0.7:
            return [(0, size)]
        first = -change.offset % SECTOR
        cuts = [0, *range(first or SECTOR, size, SECTOR), size]
        return [part for part in pairwise(cuts) if self._chance.random() < 0.5]

    def noise(self, size: int) -> bytes:
        return self._chance.randbytes(size) if self._has_noise else bytes(size)


def _end(change: Event) -> int:
    return change.offset + len(change.payload)


def _change(content: bytearray, change: Event, pieces: list[tuple[int, int]]) -> None:
    if change.kind == "t":
        del content[change.offset :]
        content.extend(bytes(max(0, change.offset - len(content))))
        return
    for begin, end in pieces:
        at = change.offset + begin
        content.extend(bytes(max(0, at - len(content))))
        content[at : change.offset + end] = change.payload[begin:end]


def _rename(names: dict[str, int], event: Event) -> None:
    if event.kind in "cl":
        names[event.payload.decode()] = event.file
    elif event.kind == "u":
        names.pop(event.payload.decode(), None)
    else:
        before, after = event.names
        names.pop(before, None)
        names[after] = event.file
