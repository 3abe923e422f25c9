"""CSV files as frames of texts, read by polars, and their broken rows."""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Callable, Iterator
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
_IN_QUOTES = r'"(?:[^"]|"")*"'

#: Is called with the number of a row that is broken, and why.
Refuse = Callable[[int, str], None]


class CsvFile:
    """A CSV file whose first row is the header. Every column is text.

    An empty cell is null; two quotes are an empty text; a row without cells is a row of nulls. A
    broken row, which has too few or too many cells or a misplaced quote, has its text in the first
    column.

    polars reads the file only if each of its lines is a row, because it reads some broken rows as
    others, and rows after a broken one before it. Otherwise the module csv finds the rows, and
    polars reads those that are whole.
    """

    def __init__(self, path: str, name: str, separator: str) -> None:
        self._path = path
        self._name = name
        self._separator = separator
        self._library = require("polars", f"reading {name}", "analysis")

    def frames(self, refuse: Refuse | None = None) -> Iterator[polars.DataFrame]:
        """Yields the rows in batches. Raises InvalidRequest if the file is not a table."""
        _require_lines(self._path, self._name)
        with refusing(self._library, self._name):
            if next(self._records(), None) is None:
                return
            if not self._are_lines_rows:
                yield from self._slow_frames(refuse)
                return
            rows = self._library.scan_csv(
                self._path, separator=self._separator, infer_schema=False, glob=False
            )
            for frame in batches(rows):
                _require_single(frame.columns, self._name)
                yield frame

    def line_numbers(self) -> LineNumbers:
        """Returns the lines of the rows."""
        lines = LineNumbers()
        records = self._records()
        header = next(records, None)
        with refusing(self._library, self._name):
            if self._are_lines_rows:
                return LineNumbers(header.line if header else 1)
        for row, each in enumerate(records, start=1):
            lines.note(row, each.line)
        return lines

    @cached_property
    def _are_lines_rows(self) -> bool:
        """Whether every line is a row with as many cells as the first one, or is empty."""
        separator = re.escape(self._separator)
        cell = f'(?:{_IN_QUOTES}|[^"{separator}\r]*)'
        lines = self._library.scan_lines(self._path)
        text = self._library.col("line")
        try:
            first = lines.filter(text.str.strip_chars() != "").head(1).collect().to_series()
            given = [each.lstrip("\ufeff") for each in first]
            width = len(next(csv.reader(given, delimiter=self._separator), " "))
            is_row = text.str.contains(
                rf"^\r?$|^\x{{FEFF}}?{cell}(?:{separator}{cell}){{{width - 1}}}\r?$"
            )
            return bool(lines.select(is_row.all()).collect().item())
        except self._library.exceptions.PolarsError:  # not UTF-8, or very many columns
            return False

    def _records(self) -> Iterator[_Record]:
        """Yields the records; each line of one whose quotes are broken is a record."""
        width = 0
        end_of_broken, of_broken = 0, ""
        with Path(self._path).open(encoding="utf-8-sig", newline="\n") as file:
            lines = _Lines(file)
            while True:
                begin = lines.number
                taken: list[str] = []
                try:
                    reader = csv.reader(
                        lines.taken_into(taken), delimiter=self._separator, strict=True
                    )
                    cells = next(reader, None)
                except csv.Error:
                    cells = None
                if not taken:
                    return
                if not taken[0].strip() and len(taken) == 1:
                    cells = []
                    if not width:
                        continue  # before the header
                width = width or len(cells or ())
                why = _why(cells, width, taken[0]) if cells != [] else ""
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
                yield _Record(begin, cells or [], "".join(taken), why and f"line {begin} {why}")

    def _slow_frames(self, refuse: Refuse | None) -> Iterator[polars.DataFrame]:
        """Yields the rows that the module csv finds."""
        records = self._records()
        header = next(records, None)
        if header is None or header.why:
            raise invalid("source", f"{self._name} cannot be read: its first row is broken")
        whole = _whole_row(self._separator)
        row = 0
        while batch := list(islice(records, _ROWS_AT_ONCE)):
            texts = [_end_line(header.text)]
            broken: dict[int, str] = {}
            for place, each in enumerate(batch):
                if each.cells and not each.why:
                    is_whole = whole(each.text)
                    texts.append(_end_line(each.text) if is_whole else self._rewritten(each.cells))
                    continue
                texts.append("\n")
                if each.why:
                    broken[place] = each.text.rstrip("\r\n")
                    if refuse is not None:
                        refuse(row + place + 1, each.why)
            if row == 0 and broken and all(each.why or not each.cells for each in batch):
                raise self._not_a_table(batch[min(broken)].why)
            yield self._frame(texts, broken)
            row += len(batch)
        if row == 0:
            yield self._frame([_end_line(header.text)], {})

    def _frame(self, texts: list[str], broken: dict[int, str]) -> polars.DataFrame:
        text = "".join(texts)
        frame: polars.DataFrame = self._library.read_csv(
            io.BytesIO(text.encode()), separator=self._separator, infer_schema=False
        )
        _require_single(frame.columns, self._name)
        if broken:
            first = frame.to_series(0).scatter([*broken], [*broken.values()])
            frame = frame.with_columns(first)
        return frame

    def _rewritten(self, cells: list[str]) -> str:
        """Returns a record whose cells have quotes inside as polars reads it."""
        written = io.StringIO(newline="")
        csv.writer(written, delimiter=self._separator, lineterminator="\n").writerow(cells)
        return written.getvalue()

    def _not_a_table(self, why: str) -> Exception:
        return invalid(
            "source",
            f"{self._name} cannot be read: {why}; the first row must be the header, and each row "
            "have its cells: delete rows above the header, and quote cells that contain the "
            "separator",
        )


class _Record(NamedTuple):
    """A record: its first line, cells, text, and why it is not a row, if it is not."""

    line: int
    cells: list[str]
    text: str
    why: str


class _Lines:
    """The lines of a file, of which some may be read again."""

    def __init__(self, file: io.TextIOWrapper) -> None:
        self._file = file
        self._again: deque[str] = deque()
        self.number = 1  # of the next line

    def push_back(self, lines: list[str]) -> None:
        self._again.extendleft(reversed(lines))
        self.number -= len(lines)

    def taken_into(self, taken: list[str]) -> Iterator[str]:
        """Yields the next lines, at most those of one row, and appends them to `taken`."""
        while len(taken) < _MOST_LINES:
            line = self._again.popleft() if self._again else next(self._file, None)
            if line is None:
                return
            self.number += 1
            taken.append(line)
            yield line


def _why(cells: list[str] | None, width: int, line: str) -> str:
    """Returns why cells are not a row; nothing if they are."""
    if cells is None and '"' not in line:
        return "has a CR that does not end it; lines end with LF or CR LF"
    if cells is None:
        return "has a quote that is not closed, or in a wrong place"
    if len(cells) == width:
        return ""
    several = "cell" if len(cells) == 1 else "cells"
    comparison = "more cells than the first row" if len(cells) > width else "too few cells"
    return f"has {comparison}: {len(cells)} {several}, and the first row has {width}"


def _whole_row(separator: str) -> Callable[[str], object]:
    """Returns whether polars reads a record as the module csv does."""
    escaped = re.escape(separator)
    cell = f'(?:{_IN_QUOTES}|[^"{escaped}\\r\\n]*)'
    return re.compile(f"{cell}(?:{escaped}{cell})*\\r?\\n?").fullmatch


def _end_line(record: str) -> str:
    return record if record.endswith("\n") else f"{record}\n"


def _require_lines(path: str, name: str) -> None:
    """Raises InvalidRequest for a file whose lines end with CR alone."""
    with Path(path).open("rb") as file:
        first = file.readline(1 << 20)
    if b"\r" in first.rstrip(b"\r\n"):
        raise invalid(
            "source",
            f"{name} cannot be read: its lines end with CR; convert them, for example with "
            "tr '\\r' '\\n'",
        )


def _require_single(columns: list[str], name: str) -> None:
    """Raises InvalidRequest for a column that appears more than once, which polars renames."""
    for column in columns:
        first, is_renamed, number = column.rpartition("_duplicated_")
        if is_renamed and number.isdigit() and first in columns:
            raise invalid("source", f"{name} has the column {first!r} more than once; rename one")
