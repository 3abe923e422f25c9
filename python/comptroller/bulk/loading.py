"""Sources of a load, adapted for the core, and the result of a load."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import select
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias, cast

import msgspec

from comptroller import arguments
from comptroller._core import arrow_lines
from comptroller.bulk.files import refuse_open_store
from comptroller.bulk.streams import Rows
from comptroller.display.html import SHOWN_ROWS, TableColumn, html
from comptroller.display.progress import Progress
from comptroller.errors import Error, InvalidRequest, Unavailable, invalid
from comptroller.values import KINDS

if TYPE_CHECKING:
    from comptroller._core import Readable, TextPiece

LoadSource: TypeAlias = (
    str | os.PathLike[str] | BinaryIO | Rows | Iterable[Mapping[str, object] | msgspec.Struct]
)

_LONGEST_WAIT_S = 0.1
_MAX_SELECT_DESCRIPTORS = 1024  # select() accepts only smaller descriptors
_LISTED_REJECTIONS = 1000
_LOADED_SUFFIXES = frozenset({".ndjson", ".jsonl", ".json"})
_GZIP_MAGIC = b"\x1f\x8b"


class Rejection(msgspec.Struct, frozen=True):
    """A rejected line: its number from 1, the error code, and a message."""

    line: int
    code: str
    message: str


class LoadResult(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a load: read = inserted + updated + unchanged + rejected + blank.

    `committed` is True if lines were stored; otherwise the counts are those that a commit would
    have had. `rejections` has the first 1,000 rejected lines. `unknown_members` counts the lines
    of each member that the service does not know, and ignored; if the load ended early, also some
    lines that were not stored.
    """

    committed: bool
    read: int
    inserted: int
    updated: int
    unchanged: int
    rejected: int
    blank: int
    unknown_members: dict[str, int] = {}
    rejections: list[Rejection] = []

    def __repr__(self) -> str:
        names = ("inserted", "updated", "unchanged", "rejected", "blank")
        counts = ", ".join(f"{getattr(self, name):,} {name}" for name in names)
        state = "committed" if self.committed else "not committed"
        return f"<LoadResult {state}: {self.read:,} read = {counts}>"

    def _repr_html_(self) -> str:
        lines = [repr(self)]
        if self.unknown_members:
            left_out = ", ".join(f"{name} ({n:,})" for name, n in self.unknown_members.items())
            lines.append(f"Unknown members, ignored (lines): {left_out}")
        shown = self.rejections[:SHOWN_ROWS]
        columns = [
            TableColumn("line", [str(each.line) for each in shown], is_number=True),
            TableColumn("code", [each.code for each in shown]),
            TableColumn("message", [each.message for each in shown]),
        ]
        left = self.rejected - len(shown)
        notes = [f"{left:,} more rejected lines"] if left > 0 else []
        return html("notebook.html", lines=lines, columns=columns if shown else [], notes=notes)


class LoadOptions(NamedTuple):
    """Options of a load; `customer_id` is the customer of records that name none."""

    customer_id: str | None
    keep_going: bool
    dry_run: bool


class Opened(NamedTuple):
    """A source for the core: a path or a readable object, its size, and a progress callback."""

    source: str | Readable
    total_bytes: int | None
    progress: Progress | None
    faults: Mapping[int, str] | None = None  # messages by line, see RowReader

    def explained(self, result: LoadResult) -> LoadResult:
        """Returns the core's result, with the messages of rows that JSON cannot represent."""
        if not self.faults:
            return result
        rejections = [
            Rejection(each.line, each.code, self.faults.get(each.line, each.message))
            for each in result.rejections
        ]
        return msgspec.structs.replace(result, rejections=rejections)


@contextmanager
def opened(source: LoadSource, kind: str, progress: Progress | None) -> Iterator[Opened]:
    """Adapts a source of records for the core, decompressing gzip.

    Closes the files that it opened. Raises InvalidRequest for an invalid source. Reading raises
    InvalidRequest if the source cannot be read to its end.
    """
    if hasattr(source, "__arrow_c_stream__"):
        yield Opened(_rows_reader(cast("Rows", source), kind), None, progress)
    elif isinstance(source, (str, os.PathLike)):
        path = arguments.path("source", source)
        refuse_open_store("source", path)
        with ExitStack() as closing:
            with _naming(path):
                file = closing.enter_context(Path(path).open("rb"))
                given = _from_path(path, file, progress)
            yield given
    elif hasattr(source, "readinto") or hasattr(source, "read"):
        name = str(getattr(source, "name", "the file"))
        with _naming(name):
            given = _from_file(cast("BinaryIO", source), name, progress)
        yield given
    elif isinstance(source, (bytes, bytearray, memoryview, Mapping)) or not isinstance(
        source, Iterable
    ):
        raise invalid(
            "source",
            f"{type(source).__name__} is not allowed; give a path, a binary file "
            "(io.BytesIO for bytes), a data frame or an iterable of dicts",
        )
    else:
        reader = RowReader(source)
        yield Opened(reader, None, progress, reader.faults)


def files_of_kinds(folder: str) -> dict[str, Path]:
    """Returns the files of a folder by the kind in their name, in the order of loading.

    Raises InvalidRequest for a folder that `Service.load_all` cannot load.
    """
    with _naming(folder):
        files = sorted(each for each in Path(folder).iterdir() if each.is_file())
    found: dict[str, Path] = {}
    for file in files:
        stem, *suffixes = file.name.removesuffix(".gz").rsplit(".", 1)
        if not suffixes or f".{suffixes[0]}" not in _LOADED_SUFFIXES:
            continue
        kind = stem.replace("_", "-")
        if kind not in KINDS:
            allowed = ", ".join(KINDS)
            raise invalid("folder", f"{file} is not named after a kind; kinds are {allowed}")
        if kind in found:
            raise invalid("folder", f"{found[kind]} and {file} both have {kind}; keep one")
        found[kind] = file
    if not found:
        raise invalid("folder", f"{folder} has no file of a kind, such as claims.ndjson")
    return {kind: found[kind] for kind in KINDS if kind in found}


def _rows_reader(source: Rows, kind: str) -> PieceReader:
    """Reads the rows of a table or data frame as lines of a kind."""
    try:
        stream = source.__arrow_c_stream__()
    except (Error, ImportError):
        raise
    except Exception as error:  # each library raises its own classes
        raise invalid("source", f"cannot be read as an Arrow stream: {error}") from error
    with _refusing_failures():
        rows = arrow_lines(stream, kind)

    def pieces() -> Iterator[TextPiece]:
        with _refusing_failures():
            while piece := rows.next():
                yield piece

    return PieceReader(pieces())


@contextmanager
def _refusing_failures() -> Iterator[None]:
    """Raises InvalidRequest for a failure of the caller's stream."""
    try:
        yield
    except Unavailable as error:
        raise invalid("source", f"cannot be read: {error.detail}") from error


class PieceReader(io.RawIOBase):
    """Pieces of bytes as a file. Several threads may read."""

    def __init__(self, pieces: Iterator[bytes | TextPiece]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")
        self._lock = Lock()

    def readable(self) -> bool:
        """Returns True."""
        return True

    def abandon(self) -> None:
        """Does nothing, because a read of the pieces cannot be ended early."""

    def readinto(self, buffer: Any, /) -> int:
        """Fills `buffer`; returns the size, 0 after the last piece."""
        target = memoryview(buffer).cast("B")
        filled = 0
        with self._lock:
            while filled < len(target):
                if not self._left:
                    piece = next(self._pieces, None)
                    if piece is None:
                        break
                    self._left = memoryview(piece)
                size = min(len(self._left), len(target) - filled)
                target[filled : filled + size] = self._left[:size]
                self._left = self._left[size:]
                filled += size
        return filled


class RowReader(PieceReader):
    """Encodes rows as NDJSON while they are read.

    A row that JSON cannot represent becomes a line of invalid JSON, which the load rejects;
    `faults` has the message of each such line, up to the number that a result lists.
    """

    def __init__(self, rows: Iterable[object]) -> None:
        super().__init__(itertools.starmap(self._line, enumerate(rows, start=1)))
        self.faults: dict[int, str] = {}

    def _line(self, number: int, row: object) -> bytes:
        try:
            return arguments.line(row)
        except InvalidRequest as error:
            if len(self.faults) < _LISTED_REJECTIONS:
                field, message = error.errors[0]
                self.faults[number] = f"{field}: {message}" if field else message
            return b"NaN\n"


class _ReadInto(io.RawIOBase):
    """Adds `readinto` to an object that has only `read`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        data = self._file.read(len(buffer))
        if data is None:
            return None
        if isinstance(data, str):
            raise _text_file()
        buffer[: len(data)] = data
        return len(data)


class _AbandonablePipe(io.RawIOBase):
    """A pipe or terminal whose blocked read ends when `abandoned` is set."""

    def __init__(self, file: io.BufferedReader, descriptor: int, abandoned: Event) -> None:
        self._file = file
        self._descriptor = descriptor
        self._abandoned = abandoned

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        while not select.select([self._descriptor], [], [], _LONGEST_WAIT_S)[0]:
            if self._abandoned.is_set():
                return 0
        return self._file.readinto1(buffer)


class _Named:
    """A file whose read errors become InvalidRequest errors with its name."""

    def __init__(self, file: io.IOBase, name: str, abandoned: Event) -> None:
        self._file = cast("io.BufferedIOBase", file)
        self._name = name
        self._abandoned = abandoned

    def abandon(self) -> None:
        self._abandoned.set()

    def readinto(self, buffer: memoryview, /) -> int:
        with _naming(self._name):
            size = self._file.readinto(buffer)
        if size is None:
            raise invalid("source", f"{self._name} has no data yet; give a blocking file")
        return size


@contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise invalid("source", f"{name} cannot be read: {why}") from error


def _from_path(path: str, file: io.BufferedReader, progress: Progress | None) -> Opened:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or file.peek(2)[:2] == _GZIP_MAGIC:
        return _from_file(file, path, progress)
    return Opened(path, status.st_size, progress)


def _from_file(file: BinaryIO, name: str, progress: Progress | None) -> Opened:
    if isinstance(file, io.TextIOBase):
        raise _text_file()
    readable = cast("io.BufferedReader", file)
    if not hasattr(file, "readinto"):
        readable = cast("io.BufferedReader", io.BufferedReader(_ReadInto(file)))
    head, readable = _head(readable)
    total = _remaining(readable)
    abandoned = Event()
    descriptor = _pipe_descriptor(file)
    raw = readable if descriptor is None else _AbandonablePipe(readable, descriptor, abandoned)
    if head != _GZIP_MAGIC:
        return Opened(_Named(raw, name, abandoned), total, progress)
    if progress is not None and total is not None:
        progress = _compressed_progress(readable, total, progress)
    content = gzip.GzipFile(fileobj=raw, mode="rb")
    return Opened(_Named(content, name, abandoned), None, progress)


def _pipe_descriptor(file: object) -> int | None:
    """Returns the descriptor of a pipe or terminal that select() can watch, else None."""
    # Other objects with a descriptor may have buffered bytes, which select() does not see.
    raw = file.raw if isinstance(file, io.BufferedReader) else file
    if not isinstance(raw, io.FileIO) or raw.fileno() >= _MAX_SELECT_DESCRIPTORS:
        return None
    return None if stat.S_ISREG(os.fstat(raw.fileno()).st_mode) else raw.fileno()


def _text_file() -> Exception:
    return invalid("source", "the file is open for text; open it in binary mode ('rb')")


def _head(file: io.BufferedReader) -> tuple[bytes, io.BufferedReader]:
    """Returns the first two bytes, and a file that still begins with them."""
    if hasattr(file, "peek"):
        return bytes(file.peek(2)[:2]), file
    if hasattr(file, "seekable") and file.seekable():
        start = file.tell()
        head = file.read(2)
        file.seek(start)
        return bytes(head or b""), file
    # _ReadInto, because a BufferedReader directly over the caller's file would close that file.
    buffered = cast("io.BufferedReader", io.BufferedReader(_ReadInto(file)))
    return bytes(buffered.peek(2)[:2]), buffered


def _remaining(file: object) -> int | None:
    if isinstance(file, io.BytesIO):
        return max(len(file.getbuffer()) - file.tell(), 0)
    raw = file.raw if isinstance(file, io.BufferedReader) else file
    # The descriptor of another file object may have another size: a GzipFile returns the descriptor
    # of the compressed file.
    if isinstance(raw, io.FileIO):
        status = os.fstat(raw.fileno())
        if stat.S_ISREG(status.st_mode):
            return max(status.st_size - cast("io.IOBase", file).tell(), 0)
    return None


def _compressed_progress(file: io.BufferedReader, total: int, progress: Progress) -> Progress:
    """Returns a callback that reports the progress of a gzip file in compressed bytes."""
    start = file.tell()

    def report(_done: int, _total: int | None, rows: int) -> None:
        progress(file.tell() - start, total, rows)

    return report
