"""Archives of a journal: entries in Parquet files, and their verification."""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from itertools import chain, islice, repeat
from operator import eq, itemgetter
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from comptroller import arguments
from comptroller._core import microseconds
from comptroller.bulk.files import refuse_existing, refuse_open_store, refuse_store, whole_file
from comptroller.bulk.streams import interruptible
from comptroller.decoding import NOT_JSON
from comptroller.errors import (
    Error,
    OutcomeUnknown,
    Unavailable,
    from_os_error,
    invalid,
    require,
    unavailable,
    unusable,
)

if TYPE_CHECKING:
    from comptroller.arguments import Timestamp
    from comptroller.journal import Journal

# `entry` is the canonical JSON; `leaf` the SHA-256 of a zero byte and it, the leaf of the tree.
_COLUMNS = {
    "sequence": "BIGINT",
    "recorded_at": "TIMESTAMPTZ",
    "actor": "VARCHAR",
    "operation": "VARCHAR",
    "resource": "VARCHAR",
    "id": "VARCHAR",
    "customer_id": "VARCHAR",
    "entry": "VARCHAR",
    "leaf": "VARCHAR",
}
_BATCH_ROWS = 2_048


class Archived(msgspec.Struct, frozen=True):
    """The result of `Journal.archive`: a file with the entries `first` to `size` - 1.

    `sha256` is that of the file, `root` that of the tree over the first `size` entries.
    """

    file: str
    first: int
    size: int
    sha256: str
    root: str


class _Archive(msgspec.Struct):
    entries: int
    file_sha256: str
    root: str


class _ArchiveEntry(msgspec.Struct):
    archive: _Archive


class Tree:
    """The Merkle tree (RFC 9162) over the leaves that are appended."""

    def __init__(self) -> None:
        self.size = 0
        self._subtrees: list[tuple[int, bytes]] = []  # level and hash, the largest first

    def append(self, leaf: bytes) -> None:
        """Appends the hash of a leaf."""
        level = 0
        while self._subtrees and self._subtrees[-1][0] == level:
            leaf = _node(self._subtrees.pop()[1], leaf)
            level += 1
        self._subtrees.append((level, leaf))
        self.size += 1

    def root(self) -> str:
        """Returns the root, as hexadecimal digits."""
        hashes = [each for _, each in self._subtrees]
        root = hashes.pop() if hashes else hashlib.sha256().digest()
        while hashes:
            root = _node(hashes.pop(), root)
        return root.hex()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def _leaf(entry: str) -> bytes:
    return hashlib.sha256(b"\0" + entry.encode()).digest()


def archive(journal: Journal, before: Timestamp, out: str) -> Archived:
    """Moves entries to a file; see `Journal.archive`."""
    require("duckdb", "an archive", "analysis")
    end = _instant(before)
    refuse_store("out", out)
    if Path(out).suffix.lower() != ".parquet":
        raise invalid("out", f"{out} names no Parquet file; end it in .parquet")
    refuse_existing(out)
    first = first_unarchived(journal)
    written: os.stat_result | None = None
    try:
        with TemporaryDirectory() as folder, whole_file(out) as part:
            lines = Path(folder) / "entries.ndjson"
            count = _write_lines(journal, end, lines)
            if not count:
                message = "no entry that is still in the journal was recorded before it"
                raise invalid("before", message)
            _copy(lines, part, out)
            root = _root_of(journal, part, first, count)
            with part.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            written = part.stat()
        archived = Archived(out, first, first + count, sha256, root)
        journal.remove_archived(archived)
    except (OutcomeUnknown, Unavailable):  # the commit may still be found on the disk
        raise
    except BaseException:
        if written is not None:
            _remove_unneeded(journal, first, out, written)
        raise
    return archived


def first_unarchived(journal: Journal) -> int:
    """Returns the sequence number of the first entry that is not archived, for the operator."""
    return journal.list(limit=1)[0].sequence


def _remove_unneeded(journal: Journal, first: int, out: str, written: os.stat_result) -> None:
    """Removes the file of an archive that failed, if the store still has its entries.

    An interrupt may come after the commit, so the exception does not say whether it has them. A
    file that another program wrote in its place stays.
    """
    with suppress(Error, OSError):
        if first_unarchived(journal) == first and os.path.samestat(Path(out).stat(), written):
            Path(out).unlink()


def verify_archives(
    journal: Journal,
    paths: Sequence[str | PathLike[str]],
    checkpoint: tuple[int, str] | None,
) -> tuple[list[tuple[str, str]], bool]:
    """Returns the findings of the files, and whether the checkpoint is of archived entries."""
    findings: list[tuple[str, str]] = []
    tree = Tree()
    size, root = checkpoint or (0, "")
    archives = {each.archive["entries"]: each.archive for each in journal.batches() if each.archive}
    roots: dict[int, tuple[str, str, str]] = {}  # by size: file, root, SHA-256
    for path, first in sorted(map(_with_first, paths), key=itemgetter(1)):
        if first < tree.size:
            raise invalid("archives", f"{path} has entries of another file; give each file once")
        for sequence, entry in entries_in(path):
            if sequence != tree.size:
                raise invalid("archives", f"the file with entry {tree.size} is missing")
            if (found := _archive_in(entry)) is not None:
                archives[found["entries"]] = found
            tree.append(_leaf(entry))
            if tree.size == size and tree.root() != root:
                message = f"the first {size} entries are not those of the checkpoint"
                findings.append(("checkpoint", message))
        with Path(path).open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        roots[tree.size] = path, tree.root(), sha256
    if tree.size < first_unarchived(journal):
        raise invalid("archives", f"the file with entry {tree.size} is missing")
    for end, (path, *written) in roots.items():
        archive = archives.get(end, {})
        if written != [archive.get("root"), archive.get("file_sha256")]:
            message = f"{path} is not as it was written: an entry in it may have been altered"
            findings.append(("archive", message))
    return findings, 0 < size <= tree.size


def entries_in(path: str | PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yields the entries of a file in order: the sequence number and the canonical JSON."""
    refuse_open_store("archives", path)
    duckdb = require("duckdb", "an archive", "analysis")
    try:
        with Path(path).open("rb"), duckdb.connect() as connection:
            connection.execute("SET threads = 1")
            connection.execute(
                "SELECT sequence::BIGINT, entry::VARCHAR FROM read_parquet($1) ORDER BY 1",
                # A pattern would read several files.
                [glob.escape(str(path))],
            )
            while rows := connection.fetchmany(_BATCH_ROWS):
                if any(None in row for row in rows):
                    raise _is_no_archive(path)
                yield from rows
    except duckdb.Error as error:
        raise _is_no_archive(path) from error
    except OSError as error:
        raise from_os_error(error, f"{path} cannot be read: {error.strerror}") from error


def _is_no_archive(path: str | PathLike[str]) -> Error:
    message = f"{path} is no archive of a journal; give files that `journal archive` wrote"
    return invalid("archives", message)


def _with_first(path: str | PathLike[str]) -> tuple[str, int]:
    """Returns a file and the sequence number of its first entry."""
    for sequence, _ in entries_in(path):
        return str(path), sequence
    raise invalid("archives", f"{path} has no entries")


def _archive_in(entry: str) -> dict[str, Any] | None:
    """Returns what an entry says of an archive; None if it is another one, or was altered."""
    if '"operation":"journal.archive"' not in entry:
        return None
    try:
        found = msgspec.json.decode(entry, type=_ArchiveEntry).archive
    except NOT_JSON:
        return None
    return msgspec.structs.asdict(found)


def _instant(before: Timestamp) -> int:
    """Returns a time in microseconds since 1970."""
    text = before.isoformat() if type(before) is date else arguments.text("before", before)
    since_epoch = microseconds(f"{text}T00:00:00Z" if len(text) == len("2026-01-31") else text)
    if since_epoch is None:
        form = "2026-01-31, or a time with its offset from UTC, such as 2026-01-31T12:00:00Z"
        raise invalid("before", f"must be a date such as {form}")
    return since_epoch


def _write_lines(journal: Journal, end: int, path: Path) -> int:
    """Writes the entries before a time as NDJSON; returns how many."""
    count = 0
    with path.open("wb") as file:
        for text in journal.texts():
            members = json.loads(text)
            if (microseconds(members["recorded_at"]) or 0) >= end:
                break
            row = {name: members.get(name) for name in _COLUMNS}
            file.write(msgspec.json.encode({**row, "entry": text, "leaf": _leaf(text).hex()}))
            file.write(b"\n")
            count += 1
    return count


def _copy(lines: Path, part: Path, out: str) -> None:
    duckdb = require("duckdb", "an archive", "analysis")
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in _COLUMNS.items())
    name = str(lines).replace("'", "''")
    rows = f"read_json('{name}', format = 'newline_delimited', columns = {{{columns}}})"
    form = "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false"
    try:
        with duckdb.connect() as connection, interruptible(duckdb):
            # With one thread, the rows keep their order in bounded memory.
            connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
            connection.execute(f"COPY (SELECT * FROM {rows}) TO $1 ({form})", [str(part)])
    except duckdb.Error as error:
        raise unavailable(f"{out} cannot be written: {error}") from error


def _root_of(journal: Journal, part: Path, first: int, count: int) -> str:
    """Returns the root of the tree up to the last entry of a file, if the file is right."""
    expected = islice(enumerate(journal.texts(), first), count)
    if not all(map(eq, expected, chain(entries_in(part), repeat(None)))):
        raise unusable("the written file differs from the journal; nothing was archived")
    return journal.state(first + count).root
