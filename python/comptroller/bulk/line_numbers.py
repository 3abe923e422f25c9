"""The lines of a file in which the rows of a load are."""

from __future__ import annotations

from bisect import bisect_right


class LineNumbers:
    """The line of each row, both from 1; rows without a note follow the one before them."""

    def __init__(self, lines_before: int = 0) -> None:
        self._rows = [0]
        self._differences = [lines_before]

    def note(self, row: int, line: int) -> None:
        """Notes the line of a row, in the order of rows."""
        if line - row != self._differences[-1]:
            self._rows.append(row)
            self._differences.append(line - row)

    def __getitem__(self, row: int) -> int:
        """Returns the line of a row."""
        return row + self._differences[bisect_right(self._rows, row) - 1]
