"""CSV files as frames of texts, read by polars, and their broken rows."""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from comptroller.bulk.line_numbers import LineNumbers
from comptroller.bulk.tables import batches, refusing
from comptroller.errors import invalid, require

if TYPE_CHECKING:
    import polars

_ROWS_AT_ONCE = 10_000
_MOST_LINES = 1000  # of a row with line breaks in its cells
_LARGEST_ROW = 1 << 20  # as a line of NDJSON
_IN_QUOTES = r'"(?:[^"]|"")*"'

#: Is called with the number of a row that is broken, and why.
Refuse = Callable[[int, str], None]


class CsvFile:
    """A CSV file whose first row is the header. Every column is text.

    Spaces around names of columns are not part of them. An empty cell is null; two quotes are an
    empty text; a row without cells is a row of nulls. A
    broken row, which has too few or too many cells or a misplaced quote, has its text in the first
    column.

    polars reads the file only if each of its lines is a row, because it reads some broken rows as
    others, and rows after a broken one before it. Otherwise polars reads the rows that it reads as
    the module csv does, and the module csv the others.
    """

    def __init__(self, path: str, name: str, separator: str) -> None:
        self._path = path
        self._name = name
        self._separator = separator
        self._lines: LineNumbers | None = None  # known after the last row
        self._library = require("polars", f"reading {name}", "analysis")

    def frames(self, refuse: Refuse | None = None) -> Iterator[polars.DataFrame]:
        """Yields the rows in batches. Raises InvalidRequest if the file is not a table."""
        _require_lines(self._path, self._name)
        with refusing(self._library, self._name), self._naming_line():
            if self._header is None:
                return
            if self._other_lines != []:
                yield from self._slow_frames(refuse)
                return
            rows = self._library.scan_csv(
                self._path, separator=self._separator, infer_schema=False, glob=False
            )
            for frame in batches(rows):
                yield _with_names(frame, self._name)

    def line_numbers(self) -> LineNumbers:
        """Returns the lines of the rows."""
        with refusing(self._library, self._name):
            header = self._header
            if header is None or self._other_lines == []:
                return LineNumbers(header.line if header else 1)
            if self._lines is not None:
                return self._lines
            lines = LineNumbers()
            row = 1
            for each in islice(self._records(), 1, None):
                lines.note(row, each.line)
                row += each.rows
            return lines

    @cached_property
    def _header(self) -> _Record | None:
        return next(self._records(is_header=True), None)

    @cached_property
    def _other_lines(self) -> list[int] | None:
        """The lines that are not rows with as many cells as the header, nor empty.

        None if they are not known.
        """
        if self._header is None or self._header.why:
            return None
        separator = re.escape(self._separator)
        cell = f'(?:{_IN_QUOTES}|[^"{separator}\r]*)'
        is_row = rf"^$|^{cell}(?:{separator}{cell}){{{len(self._header.cells) - 1}}}$"
        line, number = map(self._library.col, ("line", "number"))
        text = self._library.when(number == 1).then(line.str.strip_prefix("\ufeff")).otherwise(line)
        is_blank = line.str.contains(r"^\s+$")
        try:
            lines = self._library.scan_lines(self._path).with_row_index("number", offset=1)
            found = lines.filter(~text.str.contains(is_row) | is_blank).select(number).collect()
        except self._library.exceptions.PolarsError:  # not UTF-8, or very many columns
            return None
        numbers: list[int] = found.to_series().to_list()
        return numbers

    def _records(self, *, is_header: bool = False) -> Iterator[_Record]:
        """Yields the records; each line of one whose quotes are broken is a record.

        Lines that are rows may be one record, except the header: only that one if `is_header`.
        """
        width = 0
        end_of_broken, of_broken = 0, ""
        is_row: Callable[[str], object] = bool
        with Path(self._path).open(encoding="utf-8-sig", newline="\n") as file:
            lines = _Lines(file, None if is_header else self._other_lines)
            while True:
                begin = lines.number
                if width and begin >= end_of_broken:
                    if rows := lines.take_rows():
                        yield _Record(begin, [], "".join(rows), "", len(rows))
                        continue
                    if text := lines.take_row(is_row):
                        yield _Record(begin, [], text, "", 1)
                        continue
                taken: list[str] = []
                failure = ""
                try:
                    reader = csv.reader(
                        lines.taken_into(taken), delimiter=self._separator, strict=True
                    )
                    cells = next(reader, None)
                except csv.Error as error:
                    cells = None
                    failure = str(error)
                if not taken:
                    return
                if not taken[0].strip() and len(taken) == 1:
                    cells = []
                    if not width:
                        continue  # before the header
                if not width:
                    width = len(cells or ())
                    is_row = _row_of(width, self._separator)
                why = _why(cells, width, taken[0], failure) if cells != [] else ""
                if cells and why and lines.number - begin > 1 and lines.number > end_of_broken:
                    # A line within the quotes could be a row by chance.
                    end_of_broken = lines.number
                    of_broken = (
                        f"is in a row of {len(cells)} cells that quotes extend over the lines "
                        f"{begin} to {end_of_broken - 1}; the first row has {width}"
                    )
                if begin < end_of_broken and cells != []:
                    why = of_broken
                if why:
                    lines.push_back(taken[1:])
                    del taken[1:]
                why = why and f"line {begin} {why}"
                yield _Record(begin, cells or [], "".join(taken), why, 1)

    def _slow_frames(self, refuse: Refuse | None) -> Iterator[polars.DataFrame]:
        """Yields the rows as the module csv finds them."""
        records = self._records()
        header = next(records, None)
        if header is None or header.why:
            raise invalid("source", f"{self._name} cannot be read: its first row is broken")
        lines = LineNumbers()
        row = 0
        while batch := _take_batch(records):
            texts = [_end_line(header.text)]
            broken: dict[int, str] = {}
            place = 0
            for each in batch:
                lines.note(row + place + 1, each.line)
                if each.why:
                    broken[place] = each.text.rstrip("\r\n")
                    if refuse is not None:
                        refuse(row + place + 1, each.why)
                    texts.append("\n")
                elif each.cells:
                    texts.append(self._rewritten(each.cells))
                else:
                    is_blank = each.rows == 1 and each.text.isspace()
                    texts.append("\n" if is_blank else _end_line(each.text))
                place += each.rows
            if row == 0 and broken and all(each.why or each.text.isspace() for each in batch):
                raise self._not_a_table(next(each.why for each in batch if each.why))
            yield self._frame(texts, broken)
            row += place
        self._lines = lines
        if row == 0:
            yield self._frame([_end_line(header.text)], {})

    def _frame(self, texts: list[str], broken: dict[int, str]) -> polars.DataFrame:
        text = "".join(texts)
        frame: polars.DataFrame = self._library.read_csv(
            io.BytesIO(text.encode()), separator=self._separator, infer_schema=False
        )
        if broken:
            first = frame.to_series(0).scatter([*broken], [*broken.values()])
            frame = frame.with_columns(first)
        return _with_names(frame, self._name)

    def _rewritten(self, cells: list[str]) -> str:
        """Returns a record whose cells have quotes inside as polars reads it."""
        written = io.StringIO(newline="")
        csv.writer(written, delimiter=self._separator, lineterminator="\n").writerow(cells)
        return written.getvalue()

    @contextmanager
    def _naming_line(self) -> Iterator[None]:
        """Raises InvalidRequest, which names the first such line, for text that is not UTF-8."""
        try:
            yield
        except UnicodeError as error:
            with Path(self._path).open("rb") as file:
                numbers = (number for number, each in enumerate(file, start=1) if _is_bad(each))
                line = next(numbers, None)
            if line is None:  # the file has changed
                raise
            raise invalid(
                "source",
                f"{self._name} cannot be read: line {line} is not UTF-8; convert it to UTF-8, for "
                "example with iconv -f WINDOWS-1252 -t UTF-8",
            ) from error

    def _not_a_table(self, why: str) -> Exception:
        return invalid(
            "source",
            f"{self._name} cannot be read: {why}; the first row must be the header, and each row "
            "have its cells: delete rows above the header, and quote cells that contain the "
            f"separator {self._separator!r}, or give another one with separator",
        )


class _Record(NamedTuple):
    """A record: its first line, cells, text, and why it is not a row, if it is not.

    Or one or several rows that polars reads as the module csv does, without their cells.
    """

    line: int
    cells: list[str]
    text: str
    why: str
    rows: int


class _Lines:
    """The lines of a file, of which some may be read again.

    Args:
        file: the file.
        others: the numbers of the lines that are not rows; None if they are not known.
    """

    def __init__(self, file: io.TextIOWrapper, others: list[int] | None) -> None:
        self._file = file
        self._others = others
        self._again: deque[str] = deque()
        self.number = 1  # of the next line

    def push_back(self, lines: list[str]) -> None:
        self._again.extendleft(reversed(lines))
        self.number -= len(lines)

    def take_rows(self) -> list[str]:
        """Returns the next lines until one that is not a row, at most `_ROWS_AT_ONCE`."""
        if self._others is None:
            return []
        most = _ROWS_AT_ONCE
        place = bisect_left(self._others, self.number)
        if place < len(self._others):
            most = min(most, self._others[place] - self.number)
        if self._again:
            rows = [self._again.popleft() for _ in range(min(most, len(self._again)))]
        else:
            rows = list(islice(self._file, most))
        self.number += len(rows)
        return rows

    def take_row(self, is_row: Callable[[str], object]) -> str:
        """Returns the next lines until quotes are closed, if they are a row; otherwise no text."""
        taken: list[str] = []
        quotes = 0
        for line in self.taken_into(taken):
            quotes += line.count('"')
            if quotes % 2 == 0:
                break
        text = "".join(taken)
        if not text.isspace() and is_row(text):
            return text
        self.push_back(taken)
        return ""

    def taken_into(self, taken: list[str]) -> Iterator[str]:
        """Yields the next lines, at most those of one row, and appends them to `taken`."""
        size = 0
        while len(taken) < _MOST_LINES and size < _LARGEST_ROW:
            line = self._again.popleft() if self._again else next(self._file, None)
            if line is None:
                return
            self.number += 1
            size += len(line)
            taken.append(line)
            yield line


def _take_batch(records: Iterator[_Record]) -> list[_Record]:
    """Returns the next records with about `_ROWS_AT_ONCE` rows; none after the last."""
    batch: list[_Record] = []
    rows = 0
    while rows < _ROWS_AT_ONCE and (record := next(records, None)):
        batch.append(record)
        rows += record.rows
    return batch


def _why(cells: list[str] | None, width: int, line: str, failure: str) -> str:
    """Returns why cells are not a row; nothing if they are. `failure` is the module csv's."""
    if failure.startswith("field larger than"):
        return f"has a cell of more than {csv.field_size_limit():,} characters"
    if cells is None and '"' not in line:
        return "has a CR that does not end it; lines end with LF or CR LF"
    if cells is None:
        return "has a quote that is not closed, or in a wrong place"
    if len(cells) == width:
        return ""
    several = "cell" if len(cells) == 1 else "cells"
    comparison = "more cells than the first row" if len(cells) > width else "too few cells"
    return f"has {comparison}: {len(cells)} {several}, and the first row has {width}"


def _row_of(width: int, separator: str) -> Callable[[str], object]:
    """Returns a function that says if polars and csv read a text as a row of `width` cells."""
    escaped = re.escape(separator)
    cell = f'(?:{_IN_QUOTES}|[^"{escaped}\\r\\n]*)'
    return re.compile(f"{cell}(?:{escaped}{cell}){{{width - 1}}}\\r?\\n?").fullmatch


def _is_bad(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return False


def _end_line(record: str) -> str:
    return record if record.endswith("\n") else f"{record}\n"


def _require_lines(path: str, name: str) -> None:
    """Raises InvalidRequest for a file whose lines end with CR alone, or with a line for Excel.

    Also for a file with a line of several MiB, which would be read into memory whole.
    """
    with Path(path).open("rb") as file:
        first = file.readline(_LARGEST_ROW)
    if first.removeprefix(b"\xef\xbb\xbf").lower().startswith(b"sep="):
        shown = first.decode("utf-8-sig", "replace").strip()
        raise invalid(
            "source",
            f"{name} cannot be read: its first line, {shown!r}, is not the header; delete it",
        )
    if b"\r" in first.rstrip(b"\r\n"):
        raise invalid(
            "source",
            f"{name} cannot be read: its lines end with CR; convert them, for example with "
            "tr '\\r' '\\n'",
        )
    line = 1
    with Path(path).open("rb", buffering=0) as file:
        while piece := file.read(_LARGEST_ROW):
            ends = piece.count(b"\n")
            if not ends and len(piece) == _LARGEST_ROW:
                raise invalid("source", f"{name} cannot be read: line {line} is larger than 1 MiB")
            line += ends


def _with_names(frame: polars.DataFrame, name: str) -> polars.DataFrame:
    """Returns a frame whose names have no space around them.

    Raises InvalidRequest for a name that appears more than once, which polars changes.
    """
    names = [column.strip() for column in frame.columns]
    for column in names:
        first, is_changed, number = column.rpartition("_duplicated_")
        original = first.strip() if is_changed and number.isdigit() else column
        if names.count(original) > (original == column):
            raise invalid(
                "source", f"{name} has the column {original!r} more than once; rename one"
            )
    return frame.rename(dict(zip(frame.columns, names, strict=True)))
