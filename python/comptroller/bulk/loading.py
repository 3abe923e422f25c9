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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias, cast

import msgspec

from comptroller import arguments
from comptroller._core import arrow_lines
from comptroller.bulk import tables
from comptroller.bulk.columns import FrameMapping
from comptroller.bulk.compression import COMPRESSED, Content, content, spooled
from comptroller.bulk.files import refuse_open_store
from comptroller.bulk.mapping import ColumnMapping, RowMapping
from comptroller.bulk.rejections import (
    Fault,
    Rejection,
    RejectionGroup,
    Rejections,
    Rejects,
    Summary,
)
from comptroller.bulk.streams import Rows
from comptroller.display.html import SHOWN_ROWS, html
from comptroller.display.progress import Progress
from comptroller.errors import Error, InvalidRequest, Unavailable, invalid, require
from comptroller.values import KINDS

if TYPE_CHECKING:
    import polars

    from comptroller._core import Readable, TextPiece

LoadSource: TypeAlias = (
    str | os.PathLike[str] | BinaryIO | Rows | Iterable[Mapping[str, object] | msgspec.Struct]
)

_LONGEST_WAIT_S = 0.1
_MAX_SELECT_DESCRIPTORS = 1024  # select() accepts only smaller descriptors
_UNCHANGED = ColumnMapping()
_FRAMES = {("polars", "DataFrame"), ("pyarrow", "Table")}


class LoadResult(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a load: read = inserted + updated + unchanged + rejected + blank.

    `committed` is True if lines were stored; otherwise the counts are those that a commit would
    have had. `rejections` has the first 1,000 rejected lines, as a list and as a table;
    `rejection_groups` counts all of them by member and code, see `summary`. `unknown_members`
    counts the lines of each member that the service does not know, and ignored; if the load ended
    early, also some lines that were not stored. `floats` counts the floats that became decimals,
    see the option of `load`.
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
    rejection_groups: list[RejectionGroup] = []
    floats: int = 0

    def __post_init__(self) -> None:
        """Makes a table of the rejections."""
        msgspec.structs.force_setattr(self, "rejections", Rejections(self.rejections))

    def summary(self) -> Summary:
        """Returns the number of rejected lines for each member and code, the most frequent first.

        Each group has the message of its first line.
        """
        return Summary(self.rejection_groups)

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
        left = self.rejected - len(shown)
        notes = [f"{left:,} more rejected lines; summary() groups all"] if left > 0 else []
        columns = Rejections(shown).shown() if shown else []
        return html("notebook.html", lines=lines, columns=columns, notes=notes)


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
    faults: Mapping[int, Fault] | None = None  # by line, see RowReader
    lines_before: int = 0  # in the file, such as the header of a table
    mapping: RowMapping | None = None
    frames: Callable[[], Iterable[polars.DataFrame]] | None = None  # read the table again
    rejects: Rejects | None = None
    is_of_caller: bool = False  # reading runs the code of the caller

    def explained(self, result: LoadResult) -> LoadResult:
        """Returns the core's result, with the messages of rows that JSON cannot represent."""
        if self.mapping is not None and self.mapping.floats:
            result = msgspec.structs.replace(result, floats=self.mapping.floats)
        if not self.faults and not self.lines_before:
            return result
        rejections = [self._explained(each)[0] for each in result.rejections]
        return msgspec.structs.replace(
            result, rejections=rejections, rejection_groups=self._groups(result.rejection_groups)
        )

    def write_rejects(self, result: LoadResult) -> None:
        """Writes the file of rejected rows, if the caller named one."""
        if self.rejects is not None:
            self.rejects.write(self._explained, self.frames, result.rejections)

    def _explained(self, rejection: Rejection) -> tuple[Rejection, Mapping[Any, object] | None]:
        """Returns a rejection with its line in the file, and its row, if it has no line."""
        fault = (self.faults or {}).get(rejection.line)
        shown = fault.explained(rejection) if fault else rejection
        line = rejection.line + self.lines_before
        return msgspec.structs.replace(shown, line=line), fault.row if fault else None

    def _groups(self, groups: list[RejectionGroup]) -> list[RejectionGroup]:
        """Returns the groups of all rejections, with the rows that have no line in theirs."""
        counts = Counter(fault.member for fault in (self.faults or {}).values())
        found: dict[tuple[str | None, str], RejectionGroup] = {}
        for each in groups:
            lines = each.lines - (counts.total() if each.code == "malformed-json" else 0)
            if lines > 0:
                line = each.first_line + self.lines_before
                found[each.member, each.code] = msgspec.structs.replace(
                    each, lines=lines, first_line=line
                )
        for number, fault in (self.faults or {}).items():
            count = counts.pop(fault.member, 0)
            if not count:
                continue
            shown, _ = self._explained(Rejection(number, "", ""))
            group = RejectionGroup(shown.code, count, shown.line, shown.message, shown.member)
            known = found.get((shown.member, shown.code))
            if known is not None:
                first = min(known, group, key=lambda each: each.first_line)
                group = msgspec.structs.replace(first, lines=count + known.lines)
            found[shown.member, shown.code] = group
        return sorted(found.values(), key=lambda each: -each.lines)


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


def explain_saved_controls(result: LoadResult) -> LoadResult:
    """Adds what to do to the rejections of controls without an identity."""
    without = "identity_id: is required"
    advice = (
        f"{without}; answers of GET /controls are about one identity and do not name it: give it "
        'with constants={"identity_id": ...}'
    )
    return msgspec.structs.replace(
        result,
        rejections=[
            msgspec.structs.replace(each, message=each.message.replace(without, advice))
            for each in result.rejections
        ],
        rejection_groups=[
            msgspec.structs.replace(each, message=each.message.replace(without, advice))
            for each in result.rejection_groups
        ],
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
    `faults` has each such row.

    Args:
        rows: the rows.
        mapping: converts the rows; or if not `is_mapped`, only those that JSON cannot represent.
        is_mapped: whether all rows are converted.
    """

    def __init__(
        self, rows: Iterable[object], mapping: RowMapping | None = None, *, is_mapped: bool = True
    ) -> None:
        super().__init__(itertools.starmap(self.line, enumerate(rows, start=1)))
        self._mapping = mapping
        self._is_mapped = is_mapped
        self._columns = mapping.columns if mapping else {}
        self.faults: dict[int, Fault] = {}

    def line(self, number: int, row: object) -> bytes:
        """Returns a row as a line; notes why, if it cannot be one."""
        try:
            return self._encoded(row)
        except InvalidRequest as error:
            field, message = error.errors[0]
            given = dict(row) if isinstance(row, Mapping) else None
            self.faults[number] = Fault(field, message, given, self._columns)
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


class TableReader(PieceReader):
    """Encodes the rows of frames as NDJSON while they are read, whole columns at a time.

    Rows with a value that `columns` cannot convert are converted one by one, so their outcome is
    that of RowReader.
    """

    def __init__(
        self,
        frames: Iterable[polars.DataFrame],
        kind: str,
        columns: FrameMapping,
        mapping: RowMapping,
    ) -> None:
        super().__init__(piece for frame in frames for piece in self._frame(frame))
        self._kind = kind
        self._columns = columns
        self._rows = RowReader((), mapping)
        self._done = 0
        self.faults = self._rows.faults

    def _frame(self, frame: polars.DataFrame) -> Iterator[bytes | TextPiece]:
        mapped = self._columns(frame)
        for begin, end, is_fast in mapped.parts():
            if is_fast:
                part = mapped.frame[begin:end]
                yield from _pieces(part.__arrow_c_stream__(), self._kind)
                continue
            for number, row in enumerate(tables.rows_of((frame[begin:end],)), start=begin + 1):
                yield self._rows.line(self._done + number, row)
        self._done += frame.height


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
        reader = PieceReader(_pieces(stream, work.kind))
        return Opened(reader, None, work.progress, frames=_again(source))
    if hasattr(source, "itertuples"):
        return _from_rows(tables.pandas_rows(source), work)
    library = require("polars", "a mapping of a data frame", "analysis")
    with tables.refusing(library, "the data frame"):
        frame = library.DataFrame(source)
    return _from_rows(tables.rows_of((frame,)), work)._replace(frames=lambda: (frame,))


def _again(source: Rows) -> Callable[[], Iterable[polars.DataFrame]] | None:
    """Returns how to read a frame again; None for what may be a stream, and for pandas."""
    kind = type(source)
    if (kind.__module__.partition(".")[0], kind.__name__) not in _FRAMES:
        return None
    return lambda: (require("polars", "rejects", "analysis").DataFrame(source),)


def _from_rows(rows: Iterable[object], work: _Work, *, is_mapped: bool = False) -> Opened:
    mapping = RowMapping(work.kind, work.mapping)
    reader = RowReader(rows, mapping, is_mapped=is_mapped or work.mapping.changes_rows())
    return Opened(reader, None, work.progress, reader.faults, mapping=mapping, is_of_caller=True)


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
    lines_before = 0 if format == "parquet" else 1
    again = partial(tables.frames_of, format, path, found, options)
    batches = again()
    if format == "parquet" and not options.changes_rows():
        reader = _frames_reader(batches, work.kind)
        return Opened(reader, None, work.progress, frames=again)
    mapping = RowMapping(work.kind, options, unescapes=format != "parquet")
    columns = FrameMapping(work.kind, mapping, options)
    reader = TableReader(batches, work.kind, columns, mapping)
    return Opened(reader, None, work.progress, reader.faults, lines_before, mapping, again)


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
