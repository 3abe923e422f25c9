"""The file of the rejected rows of a load, to correct and load again."""

from __future__ import annotations

import csv
import json
import os
import pickle
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from comptroller import arguments
from comptroller.bulk.cell_texts import CellTexts, safe, text_of
from comptroller.bulk.files import refuse_store, whole_file
from comptroller.bulk.formats import FORMATS
from comptroller.bulk.mapping import ColumnMapping
from comptroller.bulk.rejections import Rejection
from comptroller.bulk.row_values import distinct
from comptroller.bulk.tables import rows_of
from comptroller.errors import invalid

if TYPE_CHECKING:
    import polars

_REASONS = ("line", "id", "member", "value", "code", "message")
#: The columns of a file of rejects that are not those of the source.
REJECTED_COLUMNS = tuple(f"rejected_{name}" for name in _REASONS)
_ROWS_AT_ONCE = 10_000
#: The classes of values that a file keeps; others could run code of the caller.
_KEPT = frozenset({str, bool, int, float, bytes, Decimal, date, timedelta, UUID, type(None)})
#: Those of the zones of times that a file keeps.
_ZONES = (type(None), timezone, ZoneInfo)
_SIZE = 8  # bytes before a row that say how many it has

#: Returns a rejection of the core as the caller sees it, and its row, if that is not in the line.
Explain = Callable[[Rejection], tuple[Rejection, Mapping[Any, object] | None]]


class SourceRows:
    """The rows of a source that can be read only once, in a temporary file.

    `kind` and `mapping` are those of the load.
    """

    def __init__(self, kind: str, mapping: ColumnMapping) -> None:
        self._file = TemporaryFile()  # noqa: SIM115
        self._texts = CellTexts(kind, mapping)
        self.is_json = False  # the rows are documents of JSON

    def add(self, row: object) -> None:
        """Takes the next row."""
        given = members_of(row)
        if given is None:
            given = {"row": row}
        try:
            kept = pickle.dumps(
                {
                    name if type(name) is str else text_of(name): each
                    if type(each) in _KEPT
                    else self._kept(name, each)
                    for name, each in given.items()
                }
            )
        except Exception:  # an endless list
            texts = {text_of(name): (self._text(name, each),) for name, each in given.items()}
            kept = pickle.dumps(texts)
        self._file.write(len(kept).to_bytes(_SIZE) + kept)

    def cell(self, column: str, value: object) -> str:
        """Returns the cell of a value of `rows`."""
        if isinstance(value, tuple):
            (text,) = value
            return str(text)
        return self._texts.of(column, value, is_json=self.is_json)

    def rows(self, numbers: Container[int]) -> Iterator[tuple[int, dict[str, object]]]:
        """Yields the rows with some numbers, from 1, each with its number."""
        self._file.seek(0)
        number = 0
        while size := int.from_bytes(self._file.read(_SIZE)):
            number += 1
            if number in numbers:
                row = pickle.loads(self._file.read(size))
                yield (
                    number,
                    {
                        name if name.isascii() else text_of(name): value
                        for name, value in row.items()
                    },
                )
            else:
                self._file.seek(size, os.SEEK_CUR)

    def _kept(self, name: object, value: object) -> object:
        """Returns a value that the file keeps; a tuple has the cell of another value."""
        return value if _is_kept(value) else (self._text(name, value),)

    def _text(self, name: object, value: object) -> str:
        return self._texts.of(text_of(name), value, is_json=self.is_json)

    def close(self) -> None:
        """Removes the rows."""
        self._file.close()


class Rows(NamedTuple):
    """The rows of the source of a load, in one of two forms; neither if they are in the lines."""

    frames: Callable[[], Iterable[polars.DataFrame]] | None
    kept: SourceRows | None
    separator: str  # of the file to write
    is_escaped: bool  # the cells have apostrophes already


class Rejects:
    """Collects all rejections of a load, and writes them with their rows as a CSV file."""

    def __init__(self, path: str, kind: str, mapping: ColumnMapping) -> None:
        self._path = path
        self._mapping = mapping
        self._texts = CellTexts(kind, mapping)
        self._file = TemporaryFile()  # noqa: SIM115
        self.is_empty = True

    def take(self, rejection: bytes | None, text: bytes) -> None:
        """Takes a rejection as JSON, and its line; None discards what was taken."""
        if rejection is None:
            self._file.seek(0)
            self._file.truncate()
            return
        self.is_empty = False
        row = text.decode(errors="backslashreplace")
        self._file.write(rejection[:-1] + b',"row":' + json.dumps(row).encode() + b"}\n")

    def close(self) -> None:
        """Removes the collected rejections."""
        self._file.close()

    def write(self, explain: Explain, rows: Rows, listed: list[Rejection], rejected: int) -> None:
        """Writes the file.

        A server reports only the rejections that its result lists, so these are `listed` of all
        `rejected`. Warns if it does not list all.
        """
        with whole_file(self._path) as part, part.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, delimiter=rows.separator)
            if rows.frames is not None:
                self._write_table(writer, explain, rows, listed)
            else:
                cell = rows.kept.cell if rows.kept else self._cell_of_line
                self._write_rows(writer, lambda: self._rows(explain, rows.kept, listed), cell)
        if self.is_empty and rejected > len(listed):
            warnings.warn(
                f"{self._path} has {len(listed):,} of {rejected:,} rejected rows, because a remote "
                "service lists no more; correct and load them, then load the source again",
                stacklevel=4,
            )

    def _taken(self, listed: list[Rejection]) -> Iterator[tuple[Rejection, str]]:
        if self.is_empty:
            yield from ((each, "") for each in listed)
            return
        self._file.seek(0)
        for line in self._file:
            given = json.loads(line)
            row = given.pop("row")
            yield msgspec.convert(given, Rejection), row

    def _rows(
        self, explain: Explain, kept: SourceRows | None, listed: list[Rejection]
    ) -> Iterator[tuple[Rejection, Mapping[str, object]]]:
        """Yields the rejections, and the members of their rows."""
        if kept is None:
            for rejection, text in self._taken(listed):
                shown, row = explain(rejection)
                yield shown, _members(text, row)
            return
        reasons = {each.line: each for each, _ in self._taken(listed)}
        for number, members in kept.rows(reasons):
            yield explain(reasons[number])[0], members

    def _write_rows(
        self, writer: Any, rows: Callable[[], Iterator[Any]], cell: Callable[[str, object], str]
    ) -> None:
        columns: dict[str, None] = {}
        for _, members in rows():
            columns |= dict.fromkeys(members)
        columns |= dict.fromkeys(self._mapping.rename)  # which a load with the options needs
        names = _write_header(writer, columns)
        for shown, members in rows():
            cells = (cell(name, members.get(name)) for name in names)
            writer.writerow([*cells, *_reason(shown)])

    def _cell_of_line(self, column: str, value: object) -> str:
        return self._texts.of(column, value, is_json=True)

    def _write_table(
        self, writer: Any, explain: Explain, rows: Rows, listed: list[Rejection]
    ) -> None:
        reasons = {each.line: explain(each)[0] for each, _ in self._taken(listed)}
        row_number = 0
        names: list[str] = []
        for frame in rows.frames() if rows.frames else ():
            if row_number == 0:
                names = _write_header(writer, frame.columns)
            wanted = [place for place in range(frame.height) if row_number + place + 1 in reasons]
            for begin in range(0, len(wanted), _ROWS_AT_ONCE):
                places = wanted[begin : begin + _ROWS_AT_ONCE]
                for place, row in zip(places, rows_of((frame[places],)), strict=True):
                    cells = (
                        self._texts.of(name, row[name], is_escaped=rows.is_escaped)
                        for name in names
                    )
                    writer.writerow([*cells, *_reason(reasons[row_number + place + 1])])
            row_number += frame.height


def _is_kept(value: object) -> bool:
    """Whether a file keeps a value, and those in it."""
    if type(value) is list:
        return all(map(_is_kept, value))
    if type(value) is dict:
        return all(type(name) is str and _is_kept(each) for name, each in value.items())
    if type(value) is datetime or type(value) is time:
        return type(value.tzinfo) in _ZONES
    return type(value) in _KEPT


def members_of(row: object) -> dict[Any, object] | None:
    """Returns the members of a row; None if it is no record."""
    if isinstance(row, msgspec.Struct):
        return msgspec.structs.asdict(row)
    try:
        return dict(row) if isinstance(row, Mapping) else None
    except Exception:  # of a class of the caller
        return None


def rejects_path(path: object, *sources: object) -> str:
    """Returns the path of a file of rejects, before anything is loaded.

    Raises InvalidRequest if it is a store, the file of one of `sources`, in no folder, or named as
    another format than CSV.
    """
    place = arguments.path("rejects", path)
    refuse_store("rejects", place)
    for source in sources:
        if (
            isinstance(source, (str, os.PathLike))
            and Path(source).resolve() == Path(place).resolve()
        ):
            raise invalid("rejects", f"{place} is read by this load; name another file")
    if FORMATS.get(Path(place).suffix.lower(), "csv") != "csv":
        raise invalid("rejects", f"{place} is not named as CSV; end it in .csv")
    if not os.access(Path(place).resolve().parent, os.W_OK):
        raise invalid("rejects", f"{place} cannot be written; name a file in a folder that exists")
    return place


def _write_header(writer: Any, columns: Iterable[str]) -> list[str]:
    """Writes the names of the columns; returns those of the source, which may be a file of rejects.

    Its reasons are left out, so that the new ones have their names alone.
    """
    names = [name for name in columns if name not in REJECTED_COLUMNS]
    writer.writerow([*map(safe, names), *REJECTED_COLUMNS])
    return names


def _reason(rejection: Rejection) -> list[str]:
    values = (getattr(rejection, name) for name in _REASONS)
    return ["" if value is None else safe(str(value)) for value in values]


def _members(text: str, row: Mapping[Any, object] | None) -> dict[str, object]:
    if row is not None:
        return {str(name): value for name, value in row.items()}
    try:
        given = _decode(text) if text else {}
    except ValueError:
        given = None
    return given if isinstance(given, dict) else {"row": text}


def _number(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


# Numbers stay the text that the line has, so that they are still not text.
_decode = json.JSONDecoder(
    object_pairs_hook=distinct, parse_float=_number, parse_int=_number, parse_constant=_number
).decode
