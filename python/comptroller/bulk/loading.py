"""Sources of a load, adapted for the core, and the result of a load."""

from __future__ import annotations

import io
import itertools
import lzma
import os
import select
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias, cast

import msgspec

from comptroller import arguments
from comptroller._core import arrow_lines
from comptroller.bulk import tables
from comptroller.bulk.compression import COMPRESSED, Content, content, spooled
from comptroller.bulk.files import refuse_open_store
from comptroller.bulk.mapping import ColumnMapping, RowMapping
from comptroller.bulk.streams import Rows
from comptroller.display.html import SHOWN_ROWS, TableColumn, html
from comptroller.display.progress import Progress
from comptroller.errors import Error, InvalidRequest, Unavailable, invalid, require
from comptroller.values import KINDS

if TYPE_CHECKING:
    from comptroller._core import Readable, TextPiece

LoadSource: TypeAlias = (
    str | os.PathLike[str] | BinaryIO | Rows | Iterable[Mapping[str, object] | msgspec.Struct]
)

_LONGEST_WAIT_S = 0.1
_MAX_SELECT_DESCRIPTORS = 1024  # select() accepts only smaller descriptors
_LISTED_REJECTIONS = 1000
_UNCHANGED = ColumnMapping()


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
    lines that were not stored. `floats` counts the floats that became decimals, see the option
    of `load`.
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
    floats: int = 0

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
    lines_before: int = 0  # in the file, such as the header of a table
    mapping: RowMapping | None = None

    def explained(self, result: LoadResult) -> LoadResult:
        """Returns the core's result, with the messages of rows that JSON cannot represent."""
        if self.mapping is not None and self.mapping.floats:
            result = msgspec.structs.replace(result, floats=self.mapping.floats)
        if not self.faults and not self.lines_before:
            return result
        faults = self.faults or {}
        rejections = [
            Rejection(each.line + self.lines_before, each.code, faults.get(each.line, each.message))
            for each in result.rejections
        ]
        return msgspec.structs.replace(result, rejections=rejections)


@contextmanager
def opened(
    source: LoadSource,
    kind: str,
    progress: Progress | None,
    mapping: ColumnMapping = _UNCHANGED,
) -> Iterator[Opened]:
    """Adapts a source of records for the core: decompresses files, and reads tables.

    Closes the files that it opened. Raises InvalidRequest for an invalid source. Reading raises
    InvalidRequest if the source cannot be read to its end.
    """
    if hasattr(source, "__arrow_c_stream__"):
        yield _from_frame(cast("Rows", source), _Work(kind, progress, mapping))
    elif isinstance(source, (str, os.PathLike)):
        path = arguments.path("source", source)
        refuse_open_store("source", path)
        with ExitStack() as closing:
            with _naming(path):
                file = closing.enter_context(Path(path).open("rb"))
                given = _from_path(path, file, _Work(kind, progress, mapping), closing)
            yield given
    elif hasattr(source, "readinto") or hasattr(source, "read"):
        name = str(getattr(source, "name", "the file"))
        with ExitStack() as closing:
            with _naming(name):
                given = _from_file(
                    cast("BinaryIO", source), name, _Work(kind, progress, mapping), closing
                )
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
        yield _from_rows(source, _Work(kind, progress, mapping))


class _Work(NamedTuple):
    """The arguments of a load that every source needs."""

    kind: str
    progress: Progress | None
    mapping: ColumnMapping


def refuse_saved_controls(result: LoadResult) -> None:
    """Raises InvalidRequest for records of `GET /controls`, none of which names its identity."""
    every = result.rejections
    is_same = all("identity_id: is required" in each.message for each in every)
    if every and is_same and result.rejected == result.read - result.blank:
        raise invalid(
            "identity_id",
            "no record has it, as in answers of GET /controls, which are about one identity; "
            'give constants={"identity_id": ...}',
        )


def files_of_kinds(folder: str) -> dict[str, Path]:
    """Returns the files of a folder by the kind in their name, in the order of loading.

    Raises InvalidRequest for a folder that `Service.load_all` cannot load.
    """
    with _naming(folder):
        files = sorted(each for each in Path(folder).iterdir() if each.is_file())
    found: dict[str, Path] = {}
    for file in files:
        plain = Path(file.stem) if file.suffix.lower() in COMPRESSED else Path(file.name)
        if plain.suffix.lower() not in tables.FORMATS:
            continue
        kind = plain.stem.replace("_", "-")
        if kind not in KINDS:
            allowed = ", ".join(KINDS)
            raise invalid("folder", f"{file} is not named after a kind; kinds are {allowed}")
        if kind in found:
            raise invalid("folder", f"{found[kind]} and {file} both have {kind}; keep one")
        found[kind] = file
    if not found:
        raise invalid("folder", f"{folder} has no file of a kind, such as claims.ndjson")
    return {kind: found[kind] for kind in KINDS if kind in found}


def _frames_reader(frames: Iterable[Any], kind: str) -> PieceReader:
    """Reads the rows of several frames as lines of a kind."""
    return PieceReader(
        piece for frame in frames for piece in _pieces(frame.__arrow_c_stream__(), kind)
    )


def _pieces(stream: object, kind: str) -> Iterator[TextPiece]:
    """Returns the pieces of an Arrow stream. Raises InvalidRequest for columns that are invalid."""
    with _refusing_failures():
        rows = arrow_lines(stream, kind)

    def pieces() -> Iterator[TextPiece]:
        with _refusing_failures():
            while piece := rows.next():
                yield piece

    return pieces()


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

    Args:
        rows: the rows.
        mapping: converts the rows; or if not `is_mapped`, only those that JSON cannot represent.
        is_mapped: whether all rows are converted.
    """

    def __init__(
        self, rows: Iterable[object], mapping: RowMapping | None = None, *, is_mapped: bool = True
    ) -> None:
        super().__init__(itertools.starmap(self._line, enumerate(rows, start=1)))
        self._mapping = mapping
        self._is_mapped = is_mapped
        self.faults: dict[int, str] = {}

    def _line(self, number: int, row: object) -> bytes:
        try:
            return self._encoded(row)
        except InvalidRequest as error:
            if len(self.faults) < _LISTED_REJECTIONS:
                field, message = error.errors[0]
                self.faults[number] = f"{field}: {message}" if field else message
            return b"NaN\n"

    def _encoded(self, row: object) -> bytes:
        if self._mapping is None:
            return arguments.line(row)
        if not self._is_mapped:
            try:
                return arguments.line(row)
            except InvalidRequest:  # columns that are not members, scalars of numpy, missing values
                return arguments.line(self._mapping(row))
        if isinstance(row, bytes):
            return row.rstrip(b"\r\n") + b"\n"  # a line that is not JSON
        record = self._mapping(row)
        return arguments.line(record) if record else b"\n"  # an empty row is a blank line


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

    def __init__(
        self,
        file: io.BufferedReader,
        descriptor: int,
        abandoned: Event,
        progress: Progress | None,
    ) -> None:
        self._file = file
        self._descriptor = descriptor
        self._abandoned = abandoned
        self.progress = progress  # called while a read waits, if not None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        while not select.select([self._descriptor], [], [], _LONGEST_WAIT_S)[0]:
            if self._abandoned.is_set():
                return 0
            if self.progress is not None:
                self.progress(0, None, 0)
        if hasattr(self._file, "readinto1"):
            return self._file.readinto1(buffer)
        return self._file.readinto(buffer)


class _Named:
    """A file whose read errors become InvalidRequest errors with its name."""

    def __init__(self, file: BinaryIO, name: str, abandoned: Event) -> None:
        self._file = cast("io.BufferedIOBase", cast("object", file))
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
    except (
        *(OSError, EOFError, UnicodeError, zlib.error, lzma.LZMAError),
        *(
            zipfile.BadZipFile,
            RuntimeError,
            NotImplementedError,
        ),  # the last two: encrypted, unknown
    ) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise invalid("source", f"{name} cannot be read: {why}") from error


def _from_frame(source: Rows, work: _Work) -> Opened:
    if not work.mapping.changes_rows():
        try:
            stream = source.__arrow_c_stream__()
        except (Error, ImportError):
            raise
        except Exception as error:  # each library raises its own classes
            if hasattr(source, "itertuples"):  # pandas, with a column of several types
                return _from_rows(tables.pandas_rows(source), work, is_mapped=True)
            raise invalid("source", f"cannot be read as an Arrow stream: {error}") from error
        return Opened(PieceReader(_pieces(stream, work.kind)), None, work.progress)
    if hasattr(source, "itertuples"):
        return _from_rows(tables.pandas_rows(source), work)
    library = require("polars", "a mapping of a data frame", "analysis")
    with tables.refusing(library, "the data frame"):
        frame = library.DataFrame(source)
    return _from_rows(tables.rows_of((frame,)), work)


def _from_rows(rows: Iterable[object], work: _Work, *, is_mapped: bool = False) -> Opened:
    mapping = RowMapping(work.kind, work.mapping)
    reader = RowReader(rows, mapping, is_mapped=is_mapped or work.mapping.changes_rows())
    return Opened(reader, None, work.progress, reader.faults, mapping=mapping)


def _from_path(path: str, file: io.BufferedReader, work: _Work, closing: ExitStack) -> Opened:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        return _from_file(file, path, work, closing)
    of_packed = work.progress and _compressed_progress(file, status.st_size, work.progress)
    found = content(file, path, closing)
    format = tables.format_of(found.head, found.name)
    if format != "json":
        return _from_table(found, None if found.is_packed else path, format, work, closing)
    if work.mapping.changes_rows():
        return _from_rows(tables.json_rows(found.file), work)
    if found.is_packed:
        return Opened(_Named(found.file, path, Event()), None, of_packed)
    return Opened(path, status.st_size, work.progress)


def _from_file(file: BinaryIO, name: str, work: _Work, closing: ExitStack) -> Opened:
    if isinstance(file, io.TextIOBase):
        raise _text_file()
    readable: Any = file
    if not hasattr(file, "readinto"):
        readable = io.BufferedReader(_ReadInto(file))
    progress = of_packed = work.progress
    total = _remaining(readable)
    abandoned = Event()
    descriptor = _pipe_descriptor(file)
    pipe = None
    if descriptor is not None:
        pipe = _AbandonablePipe(readable, descriptor, abandoned, progress)
    elif progress is not None and total is not None:
        of_packed = _compressed_progress(readable, total, progress)
    found = content(cast("BinaryIO", pipe or readable), name, closing)
    format = tables.format_of(found.head, found.name)
    if format != "json":
        return _from_table(found, None, format, work, closing)
    if work.mapping.changes_rows():
        return _from_rows(tables.json_rows(found.file), work)
    if pipe:
        pipe.progress = None  # the core calls it, on this thread
    given = _Named(found.file, name, abandoned)
    return Opened(given, None, of_packed) if found.is_packed else Opened(given, total, progress)


def _from_table(
    found: Content, path: str | None, format: tables.Format, work: _Work, closing: ExitStack
) -> Opened:
    """Reads a table from `path`, or from a copy of its content."""
    options = work.mapping
    path = path or spooled(found.file, closing).name
    lines_before = 1
    if format == "parquet":
        batches = tables.parquet_frames(path, found.name)
        lines_before = 0
        if not options.changes_rows():
            return Opened(_frames_reader(batches, work.kind), None, work.progress)
    elif format == "xlsx":
        batches = iter((tables.sheet_frame(path, found.name, options.sheet),))
    else:
        separator = options.separator or tables.separator_of(found.head)
        batches = tables.csv_frames(path, found.name, separator)
    mapping = RowMapping(work.kind, options, unescapes=format != "parquet")
    reader = RowReader(tables.rows_of(batches), mapping)
    return Opened(reader, None, work.progress, reader.faults, lines_before, mapping)


def _pipe_descriptor(file: object) -> int | None:
    """Returns the descriptor of a pipe or terminal that select() can watch, else None."""
    # Other objects with a descriptor may have buffered bytes, which select() does not see.
    raw = file.raw if isinstance(file, io.BufferedReader) else file
    if not isinstance(raw, io.FileIO) or raw.fileno() >= _MAX_SELECT_DESCRIPTORS:
        return None
    return None if stat.S_ISREG(os.fstat(raw.fileno()).st_mode) else raw.fileno()


def _text_file() -> Exception:
    return invalid("source", "the file is open for text; open it in binary mode ('rb')")


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


def _compressed_progress(file: BinaryIO, total: int, progress: Progress) -> Progress:
    """Returns a callback that reports the progress of a packed file in compressed bytes."""
    start = file.tell()

    def report(_done: int, _total: int | None, rows: int) -> None:
        progress(file.tell() - start, total, rows)

    return report
