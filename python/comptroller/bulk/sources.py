"""Sources of a load, adapted for the core: files of every format, frames and rows."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias, cast

import msgspec

from comptroller import arguments
from comptroller.bulk import tables
from comptroller.bulk.columns import FrameMapping
from comptroller.bulk.compression import Content, content, spool
from comptroller.bulk.digests import FileDigest
from comptroller.bulk.documents import documents
from comptroller.bulk.files import refuse_open_store
from comptroller.bulk.formats import Format, format_of
from comptroller.bulk.loading import Opened
from comptroller.bulk.mapping import ColumnMapping, RowMapping
from comptroller.bulk.pipes import (
    AbandonablePipe,
    NamedFile,
    ReadInto,
    compressed_progress,
    naming,
    pipe_descriptor,
    remaining,
    text_file,
)
from comptroller.bulk.readers import (
    DocumentReader,
    PieceReader,
    RowReader,
    TableReader,
    frames_reader,
    pieces_of,
)
from comptroller.bulk.rejects import SourceRows
from comptroller.bulk.streams import Rows
from comptroller.bulk.table_files import table_file
from comptroller.display.progress import Progress
from comptroller.errors import Error, invalid, require

if TYPE_CHECKING:
    import polars

    from comptroller._core import Readable

LoadSource: TypeAlias = (
    str | os.PathLike[str] | BinaryIO | Rows | Iterable[Mapping[str, object] | msgspec.Struct]
)

_UNCHANGED = ColumnMapping()
_FRAMES = {("polars", "DataFrame"), ("pyarrow", "Table")}


class _Work(NamedTuple):
    """The arguments of a load that every source needs."""

    kind: str
    progress: Progress | None
    mapping: ColumnMapping
    kept: SourceRows | None


@contextmanager
def open_source(
    source: LoadSource,
    kind: str,
    progress: Progress | None,
    mapping: ColumnMapping = _UNCHANGED,
    kept: SourceRows | None = None,
) -> Iterator[Opened]:
    """Adapts a source of records for the core: decompresses files, and reads tables.

    Closes the files that it opened. Raises InvalidRequest for an invalid source. Reading raises
    InvalidRequest if the source cannot be read to its end.

    Args:
        source: the source.
        kind: the kind of the records.
        progress: is called with the progress.
        mapping: how columns become members.
        kept: collects the rows of sources that cannot be read again.
    """
    work = _Work(kind, progress, mapping, kept)
    if hasattr(source, "__arrow_c_stream__"):
        yield _from_frame(cast("Rows", source), work)
    elif isinstance(source, (str, os.PathLike)):
        path = arguments.path("source", source)
        refuse_open_store("source", path)
        with ExitStack() as closing:
            with naming(path):
                file = closing.enter_context(Path(path).open("rb"))
                given = _from_path(path, file, work, closing)
            yield given
    elif hasattr(source, "readinto") or hasattr(source, "read"):
        name = str(getattr(source, "name", "the file"))
        with ExitStack() as closing:
            with naming(name):
                given = _from_file(cast("BinaryIO", source), name, work, closing)
            yield given
    elif isinstance(source, (bytes, bytearray, memoryview, Mapping)) or not isinstance(
        source, Iterable
    ):
        first = "call its collect(), or " if hasattr(source, "collect") else ""
        raise invalid(
            "source",
            f"{type(source).__name__} is not allowed; {first}give a path, a binary file "
            "(io.BytesIO for bytes), a data frame or an iterable of dicts",
        )
    else:
        yield _from_rows(source, work)


def input_name(source: object) -> str | None:
    """Returns the name of the file of a load; None for rows and other objects.

    Control characters become ?.
    """
    name: object = getattr(source, "name", source)  # an open file's, or a path
    if isinstance(name, os.PathLike):
        name = os.fsdecode(name)
    if not isinstance(name, str):
        return None
    return arguments.CONTROL_CHARACTER.sub("?", Path(name).name.encode(errors="replace").decode())


def _from_frame(source: Rows, work: _Work) -> Opened:
    if not hasattr(source, "itertuples"):
        return _from_stream(source, work, _again(source))
    frame = tables.of_pandas(source)
    table = None if work.mapping.changes_rows() else tables.arrow_of_pandas(frame)
    if table is None:
        rows = tables.pandas_rows(frame, RowMapping(work.kind, work.mapping).uses)
        return _from_rows(rows, work, is_mapped=True)
    return _from_stream(table, work, None)


def _from_stream(
    source: Rows, work: _Work, again: Callable[[], Iterable[polars.DataFrame]] | None
) -> Opened:
    is_used = RowMapping(work.kind, work.mapping).uses
    try:
        if not work.mapping.changes_rows() and not _has_python_values(source):
            reader: PieceReader = (
                frames_reader(lambda: (source,), work.kind)
                if again is not None
                else PieceReader(pieces_of(source.__arrow_c_stream__(), work.kind))
            )
            return Opened(reader, None, work.progress, frames=again)
        frame = tables.polars_frame(source, is_used)
    except (Error, ImportError):
        raise
    except Exception as error:  # each library raises its own classes
        raise invalid("source", f"cannot be read as an Arrow stream: {error}") from error
    given = _from_rows(tables.rows_of((frame,), is_used), work._replace(kept=None), is_mapped=True)
    return given._replace(frames=lambda: (frame,))


def _has_python_values(source: object) -> bool:
    """Whether a frame of polars has columns that Arrow cannot represent."""
    is_of_polars = type(source).__module__.partition(".")[0] == "polars"
    dtypes = map(str, getattr(source, "dtypes", ()) if is_of_polars else ())
    return not {"Object", "Int128", "UInt128"}.isdisjoint(dtypes)


def _again(source: Rows) -> Callable[[], Iterable[polars.DataFrame]] | None:
    """Returns how to read a frame again; None for what may be a stream, and for pandas."""
    kind = type(source)
    if (kind.__module__.partition(".")[0], kind.__name__) not in _FRAMES:
        return None
    return lambda: (require("polars", "rejects", "analysis").DataFrame(source),)


def _from_rows(rows: Iterable[object], work: _Work, *, is_mapped: bool = False) -> Opened:
    mapping = RowMapping(work.kind, work.mapping)
    is_mapped = is_mapped or work.mapping.changes_rows()
    reader = RowReader(rows, mapping, is_mapped=is_mapped, kept=work.kept)
    return Opened(
        reader,
        None,
        work.progress,
        reader.faults,
        mapping=mapping,
        kept=work.kept,
        is_of_caller=True,
    )


def _from_path(path: str, file: io.BufferedReader, work: _Work, closing: ExitStack) -> Opened:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        return _from_file(file, path, work, closing)
    of_packed = work.progress and compressed_progress(file, status.st_size, work.progress)
    found = content(file, path, closing)
    format = format_of(found.head, found.name)
    is_read_by_core = format == "json" and not work.mapping.changes_rows()
    if is_read_by_core and not found.is_packed:
        return Opened(path, status.st_size, work.progress)
    named = NamedFile(found.file, path, Event())
    if format != "json":
        given = _from_table(found, None if found.is_packed else path, format, work, closing)
    elif is_read_by_core:
        given = Opened(named, None, of_packed)
    else:
        given = _from_documents(named, work._replace(progress=of_packed))
    return given._replace(sha256=FileDigest(file, closing))


def _from_file(file: BinaryIO, name: str, work: _Work, closing: ExitStack) -> Opened:
    if isinstance(file, io.TextIOBase):
        raise text_file()
    readable: Any = file
    if not hasattr(file, "readinto"):
        readable = io.BufferedReader(ReadInto(file))
    progress = of_packed = work.progress
    total = remaining(readable)
    abandoned = Event()
    descriptor = pipe_descriptor(file)
    pipe = None
    if descriptor is not None:
        pipe = AbandonablePipe(readable, descriptor, abandoned, progress)
    elif progress is not None and total is not None:
        of_packed = compressed_progress(readable, total, progress)
    found = content(cast("BinaryIO", pipe or readable), name, closing)
    format = format_of(found.head, found.name)
    if format != "json":
        return _from_table(found, None, format, work, closing)
    if pipe:
        pipe.progress = None  # the core calls it, on this thread
    given = NamedFile(found.file, name, abandoned)
    if work.mapping.changes_rows():
        return _from_documents(given, work)
    return Opened(given, None, of_packed) if found.is_packed else Opened(given, total, progress)


def _from_documents(file: NamedFile, work: _Work) -> Opened:
    mapping = RowMapping(work.kind, work.mapping, is_json=True)
    reader = DocumentReader(documents(cast("Readable", file)), mapping, work.kept)
    return Opened(
        reader,
        None,
        work.progress,
        reader.faults,
        lambda: reader.lines,
        lambda: reader.items,
        mapping,
        kept=work.kept,
        is_of_caller=True,
    )


def _from_table(
    found: Content, path: str | None, format: Format, work: _Work, closing: ExitStack
) -> Opened:
    """Reads a table from `path`, or from a copy of its content."""
    options = work.mapping
    path = path or spool(found.file, closing).name
    mapping = RowMapping(work.kind, options, unescapes=format != "parquet")
    table = table_file(format, path, found, options, mapping.uses, mapping.is_text)
    if format == "parquet" and not options.changes_rows():
        reader = frames_reader(lambda: table.frames(None), work.kind)
        return Opened(reader, None, work.progress, frames=lambda: table.frames(None))
    columns = FrameMapping(work.kind, mapping, options)
    lines = TableReader(table.frames, work.kind, columns, mapping)
    return Opened(
        lines,
        None,
        work.progress,
        lines.faults,
        table.lines,
        mapping=mapping,
        frames=lambda: table.frames(None),
        separator=table.separator,
    )
