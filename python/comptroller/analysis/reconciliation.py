"""The result of a reconciliation: its tables, its page and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars

from comptroller.analysis.table import Table, listed_rows
from comptroller.display.html import SHOWN_ROWS, html

#: What a row can be, in the order of results.
STATUSES = ("matched", "different", "missing_here", "missing_there", "duplicate", "no_key")


class Reconciliation(Table):
    """The differences between records and a table of someone else, and what both have.

    A Reconciliation is the table of all rows that are not matched: its status, the members that
    differ, the key, the record's id, the number of the other row, and each compared member on both
    sides, such as ``amount_here`` and ``amount_there``.

    Attributes:
        kind: the kind of the records.
        on: the members of the key.
        compared: the members that both sides have.
        ignored: the columns of the other side that are not members.
        counts: the number of rows on both sides by status: ``matched``, ``different``,
            ``missing_here``, ``missing_there``, ``duplicate`` or ``no_key``.
        sums: the exact sums of amounts by status, member and asset. A sum of more than 20 digits
            before the point is null.
        differing: the number of different rows by member.
        duplicates: the keys that appear more than once on a side, with their counts.
        matched: the keys of the matched rows.
    """

    def __init__(
        self,
        frame: polars.DataFrame,
        *,
        kind: str,
        on: Sequence[str],
        compared: Sequence[str],
        ignored: Sequence[str],
        tables: Mapping[str, polars.DataFrame],
    ) -> None:
        super().__init__(frame)
        self.kind = kind
        self.on = tuple(on)
        self.compared = tuple(compared)
        self.ignored = tuple(ignored)
        self.counts = Table(tables["counts"])
        self.sums = Table(tables["sums"])
        self.duplicates = Table(tables["duplicates"])
        self.matched = Table(tables["matched"])
        counted = [(name, frame["differs"].list.contains(name).sum()) for name in compared]
        self.differing = {name: count for name, count in counted if count}

    @property
    def is_equal(self) -> bool:
        """Whether every row of each side is matched."""
        return not len(self)

    @property
    def different(self) -> Table:
        """The rows whose compared members differ."""
        return self._of("different")

    @property
    def missing_here(self) -> Table:
        """The rows of the other side that have no record."""
        return self._of("missing_here")

    @property
    def missing_there(self) -> Table:
        """The records that the other side does not have."""
        return self._of("missing_there")

    def _of(self, status: str) -> Table:
        return Table(self._frame.filter(polars.col("status") == status))

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"Reconciliation of {self.kind} by {', '.join(self.on)}"

    @property
    def lines(self) -> list[str]:
        """What was compared, in sentences."""
        compared = ", ".join(self.compared) or "nothing but the key"
        lines = [f"Compared: {compared}."]
        if self.differing:
            shown = ", ".join(f"{name} ({count:,})" for name, count in self.differing.items())
            lines.append(f"Members that differ (rows): {shown}.")
        if self.ignored:
            names = ", ".join(self.ignored)
            lines.append(f"Ignored columns, which are not members of {self.kind}: {names}.")
        return lines

    def section(self, shown: int, *, with_csv: bool = True) -> dict[str, Any]:
        """Returns the values of the section template, with at most `shown` rows of each table."""
        titled = {
            "Rows": self.counts,
            "Sums": self.sums,
            "Different": self.different,
            "Missing here": self.missing_here,
            "Missing there": self.missing_there,
            "Keys that appear more than once": self.duplicates,
            "Rows without a key": self._of("no_key"),
        }
        tables = []
        for title, each in titled.items():
            if not len(each):
                continue
            frame = _for_display(each.to_polars())
            tables.append(listed_rows(title, frame, shown, with_csv=with_csv))
        return {"place": "rows", "title": self.title, "lines": self.lines, "listed": tables}

    def __repr__(self) -> str:
        parts = []
        for status, here, there in self.counts.to_polars().iter_rows():
            is_pair = status in STATUSES[:4]
            count = f"{here or there:,}" if is_pair else f"{here:,} here and {there:,} there"
            parts.append(f"{count} {status.replace('_', ' ')}")
        shown = ", ".join(parts) or "no rows"
        return f"<Reconciliation of {self.kind} on {', '.join(self.on)}: {shown}>"

    def _repr_html_(self) -> str:
        return html("section.html", section=self.section(SHOWN_ROWS, with_csv=False))


def _for_display(frame: polars.DataFrame) -> polars.DataFrame:
    """Returns a frame without empty columns and its status, and with lists as text."""
    empty = [column.name for column in frame if column.null_count() == len(frame)]
    lists = [name for name, type in frame.schema.items() if type == polars.List(polars.String)]
    alone = ["status"] if "differs" in frame.columns else []
    return frame.with_columns(polars.col(lists).list.join(", ")).drop(*{*empty, *alone})
