"""Rows 6 and 13: a page of 100 of a file, and of its copy in PostgreSQL, as the store grows: by
filters and common pairs, first page and deep.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import databases
import pages
import stores

SIZE = 100
DEPTH = 0.9
CALLS = 200
ROUNDS = 5
ENOUGH_ROWS = 1000  # for full pages at that depth

Filters = list[tuple[str, str]]


def _text(connection: sqlite3.Connection, column: str) -> str:
    """Returns the most frequent value of a column, so that a deep page is full."""
    (word,) = connection.execute(
        f"SELECT text FROM symbols WHERE key = (SELECT {column} FROM claims"
        f" WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 1)"
    ).fetchone()
    return str(word)


def _window(connection: sqlite3.Connection) -> Filters:
    """Returns the bounds of the middle half of the claims' time."""
    sql = (
        "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', created_at / 1000000, 'unixepoch') FROM claims"
        " ORDER BY created_at LIMIT 1 OFFSET (SELECT count(*) * {} / 4 FROM claims)"
    )
    bounds = [connection.execute(sql.format(quarter)).fetchone()[0] for quarter in (1, 3)]
    return [("start_time", bounds[0]), ("end_time", bounds[1])]


def names(measured: dict[str, float]) -> list[str]:
    """Returns the measured filters."""
    return [name.removesuffix(": rows") for name in measured if name.endswith(": rows")]


def filters(store: Path) -> dict[str, Filters]:
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        group = [("payout_group_id", _text(connection, "payout_group_id"))]
        chain = [("chain", _text(connection, "blockchain"))]
        jurisdiction = [("jurisdiction", _text(connection, "jurisdiction"))]
        window = _window(connection)
    confirmed, failed = [("statuses", "CONFIRMED")], [("statuses", "FAILED")]
    return {
        "none": [],
        "group": group,
        "status CONFIRMED": confirmed,
        "status FAILED": failed,
        "chain": chain,
        "jurisdiction": jurisdiction,
        "window": window,
        "group + CONFIRMED": group + confirmed,
        "group + FAILED": group + failed,
        "chain + CONFIRMED": chain + confirmed,
        "chain + FAILED": chain + failed,
        "jurisdiction + CONFIRMED": jurisdiction + confirmed,
        "jurisdiction + FAILED": jurisdiction + failed,
        "CONFIRMED + window": confirmed + window,
        "FAILED + window": failed + window,
    }


def comptroller(folder: Path) -> dict[str, float]:
    """Measures a file."""
    return _measure(folder, str(stores.need_store(folder)))


def in_postgresql(folder: Path) -> dict[str, float]:
    """Measures the copy in the server of `databases.server_of_copies`."""
    return _measure(folder, databases.copy_of(folder))


def _measure(folder: Path, place_of_store: str) -> dict[str, float]:
    """Measures medians in microseconds, and the rows of the pages, by filter and place.

    The cursors are those of the file; they are valid in its copy.
    """
    from comptroller._core import Principal, Store

    path = stores.need_store(folder)
    file, operator = Store(str(path), True), Principal()
    store = Store(place_of_store, True)

    def read(parameters: Filters, of: Store = store) -> bytes:
        return of.call(operator, "claims.list", parameters, None, None)[0]

    def cursors(chosen: Filters) -> Iterator[tuple[int, str]]:
        """Returns how many rows precede each page, and its cursor."""
        before, cursor = 0, ""
        while True:
            yield before, cursor
            answer = read([*chosen, ("limit", "1000"), ("page_cursor", cursor)], file)
            before, cursor = before + answer.count(b'{"id":'), pages.next_cursor(answer)
            if not cursor:
                yield before, ""
                return

    measured = {}
    for name, chosen in filters(path).items():
        *reached, (rows, _) = cursors(chosen)
        deep = max((at for at in reached if at[0] <= DEPTH * rows), key=lambda at: at[0])
        measured[f"{name}: rows"] = rows
        for place, cursor in (("first", ""), ("deep", deep[1])):
            parameters = [*chosen, ("limit", str(SIZE)), ("page_cursor", cursor)]
            measured[f"{name}: {place}"] = pages.microseconds(lambda p=parameters: read(p), CALLS)
    store.close()
    file.close()
    return measured
