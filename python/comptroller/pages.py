"""One page of a list, and the walk over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import Any, Generic, TypeVar, overload

import msgspec

from comptroller.markup import SHOWN_COLUMNS, SHOWN_ROWS, table

R = TypeVar("R")


class Page(msgspec.Struct, Generic[R], frozen=True):
    """One page of a list: iterates, has a length and an index, and draws itself in notebooks.

    `next_page_cursor` asks for the page after it (``list(..., page_cursor=...)``, with the same
    filters and order); it is empty on the last one.
    """

    items: list[R]
    next_page_cursor: str

    def __iter__(self) -> Iterator[R]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> list[R]: ...
    def __getitem__(self, index: int | slice) -> R | list[R]:
        return self.items[index]

    def __repr__(self) -> str:
        if not self.items:
            return "<Page: empty>"
        kind = type(self.items[0]).__name__
        more = "more follow" if self.next_page_cursor else "the last page"
        return f"<Page: {len(self.items)} x {kind}, {more}>"

    def _repr_html_(self) -> str:
        return _table(self.items) + f"<p>{escape(repr(self))}</p>"


def walk(page_at: Callable[[str], Page[R]]) -> Iterator[R]:
    """Every item of every page, each page asked for by its cursor (first "") when it is wanted."""
    cursor = ""
    while True:
        page = page_at(cursor)
        yield from page.items
        cursor = page.next_page_cursor
        if not cursor:
            return


def _table(items: list[Any]) -> str:
    if not items or not isinstance(items[0], msgspec.Struct):
        return ""
    rows = items[:SHOWN_ROWS]
    used = [
        name
        for name in items[0].__struct_fields__
        if any(getattr(row, name) is not None for row in rows)
    ]
    columns, hidden = used[:SHOWN_COLUMNS], used[SHOWN_COLUMNS:]
    notes = []
    if len(items) > len(rows):
        notes.append(f"{len(items) - len(rows)} more rows")
    if hidden:
        notes.append(f"{len(hidden)} more columns: {', '.join(hidden)}")
    return table(columns, ([getattr(row, name) for name in columns] for row in rows), notes)
