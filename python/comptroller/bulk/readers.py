"""Records as NDJSON, which the core loads: rows, frames, documents, encoded while they are read."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import msgspec

from comptroller import arguments
from comptroller._core import arrow_lines
from comptroller.bulk import tables
from comptroller.bulk.advice import of_no_row
from comptroller.bulk.cell_texts import text_of
from comptroller.bulk.columns import FrameMapping
from comptroller.bulk.documents import Document
from comptroller.bulk.line_numbers import LineNumbers
from comptroller.bulk.mapping import RowMapping
from comptroller.bulk.rejections import Fault
from comptroller.bulk.rejects import SourceRows, members_of
from comptroller.errors import Error, InvalidRequest, Unavailable, invalid

if TYPE_CHECKING:
    import polars

    from comptroller._core import TextPiece

_NOT_JSON = b"NaN\n"  # the line of a row that is a fault
_BLANK = b"\n"
_EMPTY = b"{}\n"


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


class RepeatablePieces(PieceReader):
    """Pieces of bytes as a file that can be read again: `pieces` returns them from the first."""

    def __init__(self, pieces: Callable[[], Iterator[bytes | TextPiece]]) -> None:
        super().__init__(pieces())
        self._again = pieces

    def rewind(self) -> None:
        """Continues at the first byte."""
        self._pieces = self._again()
        self._left = memoryview(b"")


class RowReader(PieceReader):
    """Encodes rows as NDJSON while they are read.

    A row that JSON cannot represent becomes a line of invalid JSON, which the load rejects;
    `faults` has each such row.

    Args:
        rows: the rows.
        mapping: converts the rows; or if not `is_mapped`, only those whose JSON the load would read
            otherwise.
        is_mapped: whether all rows are converted.
        kept: collects the rows.
    """

    def __init__(
        self,
        rows: Iterable[object],
        mapping: RowMapping | None = None,
        *,
        is_mapped: bool = True,
        kept: SourceRows | None = None,
    ) -> None:
        super().__init__(self._lines(rows))
        self._mapping = mapping
        self._is_mapped = is_mapped
        self._kept = kept
        self._columns = mapping.columns if mapping else {}
        self.faults: dict[int, Fault] = {}

    def line(self, number: int, row: object) -> bytes:
        """Returns a row as a line; notes why, if it cannot be one."""
        try:
            return self._encode(row)
        except InvalidRequest as error:
            field, message = error.errors[0]
        except (Error, MemoryError):
            raise
        except Exception as error:  # of a class of the caller
            field, message = "", f"the row cannot be read: {text_of(error)}"
        self.faults[number] = Fault(field, message, members_of(row), self._columns)
        return _NOT_JSON

    def _lines(self, rows: Iterable[object]) -> Iterator[bytes]:
        for number, row in enumerate(rows, start=1):
            if self._kept is not None:
                self._kept.add(row)
            yield self.line(number, row)
        if self._mapping is not None:
            self._mapping.require_renamed()

    def _encode(self, row: object) -> bytes:
        if not (row is None or isinstance(row, (dict, Mapping, msgspec.Struct))):
            raise invalid("", of_no_row(row))
        if self._mapping is None:
            return arguments.line(row)
        if not self._is_mapped and (line := self._plain_line(row)) is not None:
            return _BLANK if line == _EMPTY else line
        record = self._mapping(row)
        return arguments.line(record) if record or self._mapping.is_json else _BLANK

    def _plain_line(self, row: Any) -> bytes | None:
        """Returns the line of a row that needs no conversion; None for other rows."""
        mapping = cast("RowMapping", self._mapping)
        try:
            if mapping.has_only_texts(row):  # twice as fast as any row
                texts = {name: text for name, text in row.items() if text is not None}
                return msgspec.json.encode(texts) + b"\n"
            return arguments.line(row) if mapping.is_plain(row) else None
        except (InvalidRequest, UnicodeEncodeError):  # no member, a missing value, no text of UTF-8
            return None


class DocumentReader(PieceReader):
    """Encodes the documents of a JSON file, converted, as NDJSON while they are read."""

    def __init__(
        self, documents: Iterable[Document], mapping: RowMapping, kept: SourceRows | None = None
    ) -> None:
        super().__init__(self._lines(documents))
        self._mapping = mapping
        self._kept = kept
        if kept is not None:
            kept.is_json = True
        self._rows = RowReader((), mapping)
        self.faults = self._rows.faults
        self.lines = LineNumbers()
        self.items: LineNumbers | None = None

    def _lines(self, documents: Iterable[Document]) -> Iterator[bytes]:
        for number, each in enumerate(documents, start=1):
            self.lines.note(number, each.line)
            if each.item and self.items is None:
                self.items = LineNumbers()
            if self.items is not None:
                self.items.note(number, each.item)
            if self._kept is not None:
                self._kept.add(each.record or {})
            if each.refusal is not None:
                self.faults[number] = Fault.of_document(*each.refusal)
                yield _NOT_JSON
            else:
                yield _BLANK if each.record is None else self._rows.line(number, each.record)
        self._mapping.require_renamed()


class TableReader(RepeatablePieces):
    """Encodes the rows of frames as NDJSON while they are read, whole columns at a time.

    Rows with a value that `columns` cannot convert are converted one by one, so their outcome is
    that of RowReader. A row that `frames` refuses is rejected.
    """

    def __init__(
        self,
        frames: Callable[[Callable[[int, str], None]], Iterable[polars.DataFrame]],
        kind: str,
        columns: FrameMapping,
        mapping: RowMapping,
    ) -> None:
        self._frames = frames
        self._kind = kind
        self._columns = columns
        self._mapping = mapping
        self._rows = RowReader((), mapping)
        self.faults = self._rows.faults
        super().__init__(self._all_pieces)

    def _all_pieces(self) -> Iterator[bytes | TextPiece]:
        self._broken: list[int] = []  # the refused rows of the next frame
        self._done = 0
        self._mapping.floats = 0
        self.faults.clear()
        for frame in self._frames(self._refuse):
            yield from self._frame(frame)

    def _refuse(self, row: int, why: str) -> None:
        self._broken.append(row)
        self.faults[row] = Fault("", why)

    def _frame(self, frame: polars.DataFrame) -> Iterator[bytes | TextPiece]:
        begin = 0
        broken, self._broken = self._broken, []
        end_of_frame = self._done + frame.height
        for row in broken:
            place = row - (end_of_frame - frame.height) - 1
            yield from self._part(frame[begin:place])
            self._done += 1
            yield _NOT_JSON
            begin = place + 1
        yield from self._part(frame[begin:] if broken else frame)

    def _part(self, frame: polars.DataFrame) -> Iterator[bytes | TextPiece]:
        mapped = self._columns(frame)
        for begin, end, is_fast in mapped.parts():
            if is_fast:
                yield from pieces_of(mapped.frame[begin:end].__arrow_c_stream__(), self._kind)
                continue
            rows = tables.rows_of((frame[begin:end],), self._mapping.uses)
            for number, row in enumerate(rows, start=begin + 1):
                yield self._rows.line(self._done + number, row)
        self._done += frame.height


def frames_reader(frames: Callable[[], Iterable[Any]], kind: str) -> PieceReader:
    """Reads the rows of several frames as lines of a kind."""
    return RepeatablePieces(
        lambda: (
            piece for frame in frames() for piece in pieces_of(frame.__arrow_c_stream__(), kind)
        )
    )


def pieces_of(stream: object, kind: str) -> Iterator[TextPiece]:
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
