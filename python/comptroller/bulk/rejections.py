"""The rejected lines of a load, as a table, in groups, and as a file to correct."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import msgspec

from comptroller import arguments
from comptroller.bulk.files import refuse_store, whole_file
from comptroller.bulk.streams import ArrowRows
from comptroller.display.html import SHOWN_ROWS, TableColumn, html
from comptroller.errors import invalid, require, shorten

if TYPE_CHECKING:
    import polars
    import pyarrow  # type: ignore[import, unused-ignore]

_REJECTED = ("line", "id", "member", "value", "code", "message")
_FORMULA = re.compile(r"'* *[=+\-@\t\r]|'+\Z")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*")
_ROWS_AT_ONCE = 10_000


class Rejection(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rejected line.

    Attributes:
        line: its number, from 1; of a table the number of the row in the file.
        code: the error code.
        message: what is wrong with which members.
        id: of the record, if it can be read.
        member: the first invalid member, if a member is.
        value: of that member, shortened, if it is set.
    """

    line: int
    code: str
    message: str
    id: str | None = None
    member: str | None = None
    value: str | None = None


class RejectionGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """The rejected lines with one code and one invalid member; the message of the first one."""

    code: str
    lines: int
    first_line: int
    message: str
    member: str | None = None


class _Table(ArrowRows):
    """A list of records that is also a table."""

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars frame. Raises MissingExtra without polars."""
        raise NotImplementedError

    def to_arrow(self) -> pyarrow.Table:
        """Returns a pyarrow table. Raises MissingExtra without pyarrow or polars."""
        table: pyarrow.Table = require("pyarrow", "to_arrow()").table(self.to_polars())
        return table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns the table as an Arrow stream. Raises MissingExtra without polars."""
        return self.to_polars().__arrow_c_stream__(requested_schema)


def _frame(rows: Iterable[object], schema: dict[str, type]) -> polars.DataFrame:
    library = require("polars", "to_polars()", "analysis")
    schema = schema | {"message": str}
    values = [tuple(getattr(each, name) for name in schema) for each in rows]
    frame: polars.DataFrame = library.DataFrame(values, schema=schema, orient="row")
    return frame


class Rejections(list[Rejection], _Table):
    """Rejected lines, as a list, and as a table with a column for each attribute."""

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Rejection: ...
    @overload
    def __getitem__(self, index: slice, /) -> Rejections: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> Rejection | Rejections:
        """Returns a rejection, or some as a table."""
        found = super().__getitem__(index)
        return Rejections(found) if isinstance(found, list) else found

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars frame. Raises MissingExtra without polars."""
        return _frame(self, {"line": int, "id": str, "member": str, "value": str, "code": str})

    def _repr_html_(self) -> str:
        return html("notebook.html", lines=[f"{len(self):,} rejected lines"], columns=self.shown())

    def shown(self) -> list[TableColumn]:
        """Returns the first rows, for a notebook."""
        shown = self[:SHOWN_ROWS]
        return [
            TableColumn("line", [str(each.line) for each in shown], is_number=True),
            *(
                TableColumn(name, [getattr(each, name) or "" for each in shown])
                for name in ("id", "member", "value", "code", "message")
            ),
        ]


class Summary(list[RejectionGroup], _Table):
    """The rejected lines in groups, as a list, and as a table."""

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars frame. Raises MissingExtra without polars."""
        return _frame(self, {"member": str, "code": str, "lines": int, "first_line": int})


class Fault(msgspec.Struct, frozen=True):
    """A row that no line of JSON can represent: the invalid member, and why."""

    member: str
    message: str
    row: Mapping[Any, object] | None = None
    columns: Mapping[str, str] = {}  # that have other names than their members, by member

    def explained(self, rejection: Rejection) -> Rejection:
        """Returns the rejection of the line that stands for this row."""
        id, value = (self._shown(name) for name in ("id", self.member))
        text = f"{self.member}: {self.message}" if self.member else self.message
        return Rejection(rejection.line, "invalid-request", text, id, self.member or None, value)

    def _shown(self, member: str) -> str | None:
        value = (self.row or {}).get(self.columns.get(member, member))
        return None if value is None else shorten(_text(value))


class Rejects:
    """Collects all rejections of a load, and writes them with their rows as a CSV file."""

    def __init__(self, path: str) -> None:
        self._path = path
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

    def write(
        self,
        explain: Callable[[Rejection], tuple[Rejection, Mapping[Any, object] | None]],
        frames: Callable[[], Iterable[polars.DataFrame]] | None,
        listed: list[Rejection],
    ) -> None:
        """Writes the file.

        Args:
            explain: returns a rejection of the core as the caller sees it, and its row, if that is
                not in the line.
            frames: reads the table that was loaded again, if it was one.
            listed: the rejections of the result, if none were taken from a server.
        """
        with whole_file(self._path) as part, part.open("w", encoding="utf-8", newline="") as out:
            if frames is None:
                self._write_rows(out, explain, listed)
            else:
                self._write_table(out, explain, frames, listed)

    def _taken(self, listed: list[Rejection]) -> Iterator[tuple[Rejection, str]]:
        if self.is_empty:
            yield from ((each, "") for each in listed)
            return
        self._file.seek(0)
        for line in self._file:
            given = json.loads(line)
            row = given.pop("row")
            yield msgspec.convert(given, Rejection), row

    def _write_rows(self, out: Any, explain: Any, listed: list[Rejection]) -> None:
        columns: dict[str, None] = {}
        for rejection, text in self._taken(listed):
            columns |= dict.fromkeys(_members(text, explain(rejection)[1]))
        writer = csv.writer(out)
        writer.writerow([*map(_cell, columns), *(f"rejected_{name}" for name in _REJECTED)])
        for rejection, text in self._taken(listed):
            shown, row = explain(rejection)
            members = _members(text, row)
            cells = [_cell(members.get(name)) for name in columns]
            writer.writerow([*cells, *_reason(shown)])

    def _write_table(self, out: Any, explain: Any, frames: Any, listed: list[Rejection]) -> None:
        reasons = {each.line: explain(each)[0] for each, _ in self._taken(listed)}
        writer = csv.writer(out)
        row_number = 0
        is_first = True
        for frame in frames():
            if is_first:
                writer.writerow(
                    [*map(_cell, frame.columns), *(f"rejected_{name}" for name in _REJECTED)]
                )
                is_first = False
            wanted = [place for place in range(frame.height) if row_number + place + 1 in reasons]
            for begin in range(0, len(wanted), _ROWS_AT_ONCE):
                places = wanted[begin : begin + _ROWS_AT_ONCE]
                for place, row in zip(places, frame[places].iter_rows(), strict=True):
                    reason = reasons[row_number + place + 1]
                    cells = [_cell(each, is_of_table=True) for each in row]
                    writer.writerow([*cells, *_reason(reason)])
            row_number += frame.height


def rejects_path(path: object, *sources: object) -> str:
    """Returns the path of a file of rejects, before anything is loaded.

    Raises InvalidRequest if it is a store, the file of one of `sources`, or in no folder.
    """
    place = arguments.path("rejects", path)
    refuse_store("rejects", place)
    for source in sources:
        if (
            isinstance(source, (str, os.PathLike))
            and Path(source).resolve() == Path(place).resolve()
        ):
            raise invalid("rejects", f"{place} is read by this load; name another file")
    if not os.access(Path(place).resolve().parent, os.W_OK):
        raise invalid("rejects", f"{place} cannot be written; name a file in a folder that exists")
    return place


def _reason(rejection: Rejection) -> list[str]:
    return [_cell(getattr(rejection, name)) for name in _REJECTED]


def _members(text: str, row: Mapping[Any, object] | None) -> dict[str, object]:
    if row is not None:
        return {str(name): value for name, value in row.items()}
    try:
        given = json.loads(text, parse_float=str) if text else {}
    except ValueError:
        given = None
    return given if isinstance(given, dict) else {"row": text}


def _cell(value: object, *, is_of_table: bool = False) -> str:
    """Returns the text of a cell, with an apostrophe before a formula, as `export` writes it."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else _text(value)
    if is_of_table and text.startswith("'"):
        return text
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _text(value: object) -> str:
    try:
        if isinstance(value, (dict, list, bool)):
            return json.dumps(value, ensure_ascii=False, default=str)
        return str(value)
    except (ValueError, RecursionError, TypeError):  # an endless list, or a very long int
        return f"a {type(value).__name__} that cannot be written"
