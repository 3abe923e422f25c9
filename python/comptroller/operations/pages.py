"""A page of a list, and the iteration over all pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, TypeVar, overload

import msgspec

from comptroller.display.html import SHOWN_COLUMNS, SHOWN_ROWS, TableColumn, html

R = TypeVar("R")


class Page(msgspec.Struct, Generic[R], frozen=True):
    """One page of a list: iterable, with a length and an index, and a table in notebooks.

    Pass `next_page_cursor` to the next call (``list(..., page_cursor=...)``, with the same filters
    and order); it is empty on the last page. A page that is not the last one may have fewer items
    than `limit`.
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
        more = "more follow" if self.next_page_cursor else "the last page"
        if not self.items:
            return f"<Page: empty, {more}>"
        kind = type(self.items[0]).__name__
        return f"<Page: {len(self.items)} x {kind}, {more}>"

    def _repr_html_(self) -> str:
        rows: list[Any] = self.items[:SHOWN_ROWS]
        is_table = bool(rows) and isinstance(rows[0], msgspec.Struct)
        used = [
            TableColumn(name, [_text(getattr(row, name)) for row in rows])
            for name in (rows[0].__struct_fields__ if is_table else ())
            if any(getattr(row, name) is not None for row in rows)
        ]
        columns, hidden = used[:SHOWN_COLUMNS], used[SHOWN_COLUMNS:]
        notes = []
        if is_table and len(self.items) > len(rows):
            notes.append(f"{len(self.items) - len(rows)} more rows")
        if hidden:
            names = ", ".join(column.name for column in hidden)
            notes.append(f"{len(hidden)} more columns: {names}")
        return html("notebook.html", lines=[repr(self)], columns=columns, notes=notes)


def walk(page_at: Callable[[str], Page[R]]) -> Iterator[R]:
    """Yields every item of every page; fetches a page when its first item is needed.

    `page_at` returns the page of a cursor; the cursor of the first page is empty.
    """
    cursor = ""
    while True:
        page = page_at(cursor)
        yield from page.items
        cursor = page.next_page_cursor
        if not cursor:
            return


async def walk_async(page_at: Callable[[str], Awaitable[Page[R]]]) -> AsyncIterator[R]:
    """Yields every item of every page, as `walk`; `page_at` is awaited."""
    cursor = ""
    while True:
        page = await page_at(cursor)
        for item in page.items:
            yield item
        cursor = page.next_page_cursor
        if not cursor:
            return


def _text(value: object) -> str | None:
    if value is None:
        return None
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
