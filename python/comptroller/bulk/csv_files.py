"""CSV files as frames of texts, read by polars, and their broken rows."""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comptroller.bulk.line_numbers import LineNumbers
from comptroller.bulk.tables import refusing
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

    polars reads the file. Only if it fails, or a row may have too few cells, the module csv finds
    the rows, and polars reads those that are whole.
    """

    def __init__(self, path: str, name: str, separator: str) -> None:
        self._path = path
        self._name = name
        self._separator = separator
        self._library = require("polars", f"reading {name}", "analysis")
        self._is_regular: bool | None = None

    def frames(self, refuse: Refuse | None = None) -> Iterator[polars.DataFrame]:
        """Yields the rows in batches. Raises InvalidRequest if the file is not a table."""
        _require_lines(self._path, self._name)
        done = 0
        with refusing(self._library, self._name):
            rows = self._library.scan_csv(
                self._path, separator=self._separator, infer_schema=False, glob=False
            )
            batches = iter(rows.collect_batches())
            while (frame := self._next(batches)) is not None:
                _require_single(frame.columns, self._name)
                yield frame
                done += frame.height
                if self._is_regular is False:
                    break
            if self._is_regular is False:
                yield from self._slow_frames(done, refuse)

    def line_numbers(self) -> LineNumbers:
        """Returns the lines of the rows."""
        lines = LineNumbers()
        records = self._records()
        header, _, _ = next(records, (1, None, ""))
        with refusing(self._library, self._name):
            if self._are_lines_rows():
                return LineNumbers(header)
        for row, (line, _, _) in enumerate(records, start=1):
            lines.note(row, line)
        return lines

    def _next(self, batches: Iterator[polars.DataFrame]) -> polars.DataFrame | None:
        """Returns the next rows as polars reads them; None at the end, or if it must not."""
        if self._is_regular is False:
            return None
        try:
            frame = next(batches, None)
        except self._library.exceptions.PolarsError:
            self._is_regular = False
            return None
        if frame is None or self._is_regular or not _may_be_short(frame):
            return frame
        self._is_regular = self._are_lines_rows()
        return frame if self._is_regular else None

    def _are_lines_rows(self) -> bool:
        """Whether every line is a row with as many cells as the first one, or is empty."""
        separator = re.escape(self._separator)
        cell = f'(?:{_IN_QUOTES}|[^"{separator}]*)'
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

    def _records(self) -> Iterator[tuple[int, list[str] | None, str]]:
        """Yields the line, cells and text of each record; None for cells with broken quotes.

        Records of another width than the first one end with their first line.
        """
        width = 0
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
                if cells is None or (cells and len(cells) != width):
                    if len(taken) > 1:
                        cells = None
                    lines.push_back(taken[1:])
                    del taken[1:]
                yield begin, cells, "".join(taken)

    def _slow_frames(self, done: int, refuse: Refuse | None) -> Iterator[polars.DataFrame]:
        """Yields the rows after the first `done`."""
        records = self._records()
        _, header, text = next(records, (0, None, ""))
        if not header:
            raise invalid("source", f"{self._name} cannot be read: its first row is broken")
        whole = _whole_row(self._separator)
        row = done
        deque(islice(records, done), maxlen=0)
        while batch := list(islice(records, _ROWS_AT_ONCE)):
            texts = [text if text.endswith("\n") else f"{text}\n"]
            broken: dict[int, str] = {}
            for place, (line, cells, given) in enumerate(batch):
                if cells and len(cells) == len(header):
                    texts.append(_end_line(given) if whole(given) else self._rewritten(cells))
                    continue
                texts.append("\n")
                if cells is None or cells:
                    broken[place] = given.rstrip("\r\n")
                    if refuse is not None:
                        refuse(row + place + 1, _why(cells, len(header), line))
            if row == 0 and broken and len(broken) == sum(cells != [] for _, cells, _ in batch):
                raise self._not_a_table(batch, len(header))
            yield self._frame(texts, broken, header)
            row += len(batch)

    def _frame(
        self, texts: list[str], broken: dict[int, str], header: list[str]
    ) -> polars.DataFrame:
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

    def _not_a_table(self, batch: Any, width: int) -> Exception:
        line, cells, _ = next(each for each in batch if each[1] != [])
        return invalid(
            "source",
            f"{self._name} cannot be read: {_why(cells, width, line)}; the first row must be the "
            "header, and each row have its cells: delete rows above the header, and quote cells "
            "that contain the separator",
        )


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


def _may_be_short(frame: polars.DataFrame) -> bool:
    """Whether a row may have fewer cells than the header: its last one is null."""
    if frame.width == 1:
        return False
    return frame.to_series(frame.width - 1).null_count() > 0


def _why(cells: list[str] | None, width: int, line: int) -> str:
    if cells is None:
        return f"line {line} has a quote that is not closed, or in a wrong place"
    several = "cell" if len(cells) == 1 else "cells"
    comparison = "more cells than the first row" if len(cells) > width else "too few cells"
    return f"line {line} has {comparison}: {len(cells)} {several}, and the first row has {width}"


def _whole_row(separator: str) -> Callable[[str], object]:
    """Returns whether polars reads a record as the module csv does."""
    escaped = re.escape(separator)
    cell = f'(?:{_IN_QUOTES}|[^"{escaped}\\n]*)'
    return re.compile(f"{cell}(?:{escaped}{cell})*\\n?").fullmatch


def _end_line(record: str) -> str:
    return record if record.endswith("\n") else f"{record}\n"


def _require_lines(path: str, name: str) -> None:
    """Raises InvalidRequest for a file whose lines end with CR alone, which would be one line."""
    with Path(path).open("rb") as file:
        head = file.read(1 << 20)
    if b"\r" in head and b"\n" not in head:
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
