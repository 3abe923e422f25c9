"""Row 3: one page of claims as JSON bytes, in process: the newest page, and a middle page."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import stores

CONTENDERS = ("comptroller", "stdlib", "json_in_sql", "json_in_sql_of_views", "limit")
SIZES = (20, 100, 1000)
PLACES = ("first", "middle")
CALLS = {20: 2000, 100: 1000, 1000: 200}

Page = Callable[[], object]


def microseconds(page: Page, calls: int) -> float:
    """Returns the median time of a call."""
    times = []
    for _ in range(calls):
        started = time.perf_counter_ns()
        page()
        times.append(time.perf_counter_ns() - started)
    return median(times) / 1000


def next_cursor(answer: bytes) -> str:
    cursor: str = json.loads(answer[-1000:].rpartition(b'"next_page_cursor":')[2][:-1])
    return cursor


def _measure(page: Callable[[int, str], Page], slowdown: int = 1) -> dict[str, float]:
    return {
        f"{size} {place}": microseconds(page(size, place), max(CALLS[size] // slowdown, 10))
        for size in SIZES
        for place in PLACES
    }


def comptroller(folder: Path) -> dict[str, float]:
    from comptroller._core import Principal, Store

    store, operator = Store(str(stores.need_store(folder)), True), Principal()

    def read(parameters: list[tuple[str, str]]) -> bytes:
        return store.call(operator, "claims.list", parameters, None, None)[0]

    rows = _rows(folder)
    cursor = ""
    for _ in range(rows // 2 // 1000):
        cursor = next_cursor(read([("limit", "1000"), ("page_cursor", cursor)]))

    def page(size: int, place: str) -> Page:
        at = cursor if place == "middle" else ""
        parameters = [("limit", str(size)), ("page_cursor", at)]
        assert len(json.loads(read(parameters))["items"]) == size
        return lambda: read(parameters)

    return _measure(page)


def _rows(folder: Path) -> int:
    with sqlite3.connect(f"file:{stores.need_store(folder)}?mode=ro", uri=True) as connection:
        count: int = connection.execute("SELECT max(key) FROM claims").fetchone()[0]
    return count


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.execute("PRAGMA cache_size = -8192")
    return connection


def _place(connection: sqlite3.Connection, place: str) -> tuple[str, tuple[object, ...]]:
    """Returns where the page begins, for tables of text."""
    if place == "first":
        return "", ()
    position = connection.execute(
        "SELECT created_at, rowid FROM claims ORDER BY created_at DESC, rowid DESC LIMIT 1"
        " OFFSET (SELECT max(rowid) / 2 FROM claims)"
    ).fetchone()
    return "WHERE (created_at, rowid) < (?, ?) ", position


def stdlib(folder: Path) -> dict[str, float]:
    connection = _connect(stores.need_text_database(folder))

    def page(size: int, place: str) -> Page:
        where, values = _place(connection, place)
        sql = f"SELECT * FROM claims {where}ORDER BY created_at DESC, rowid DESC LIMIT {size}"

        def read() -> bytes:
            items = []
            for row in connection.execute(sql, values):
                item = {
                    name: value
                    for name, value in zip(stores.COLUMNS, row, strict=True)
                    if value is not None
                }
                item["addresses"] = json.loads(item["addresses"])
                items.append(item)
            return json.dumps({"items": items}).encode()

        return read

    return _measure(page)


OBJECT = ", ".join(
    f"'{name}', json(addresses)" if name == "addresses" else f"'{name}', {name}"
    for name in stores.COLUMNS
)
ARRAY = f"SELECT json_object('items', json_group_array(json_object({OBJECT}))) FROM"


def _first_column(connection: sqlite3.Connection, sql: str, values: tuple[object, ...]) -> Page:
    return lambda: connection.execute(sql, values).fetchone()[0].encode()


def json_in_sql(folder: Path) -> dict[str, float]:
    connection = _connect(stores.need_text_database(folder))

    def page(size: int, place: str) -> Page:
        where, values = _place(connection, place)
        order = f"ORDER BY created_at DESC, rowid DESC LIMIT {size}"
        return _first_column(connection, f"{ARRAY} (SELECT * FROM claims {where}{order})", values)

    return _measure(page)


def json_in_sql_of_views(folder: Path) -> dict[str, float]:
    """Reads the readable view of the compact table, with the table's index."""
    connection = _connect(stores.need_store(folder))
    (view,) = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE name = 'readable_claims'"
    ).fetchone()
    select = view.partition(" AS ")[2]
    (customer,) = connection.execute("SELECT customer_id FROM claims LIMIT 1").fetchone()

    def page(size: int, place: str) -> Page:
        where = f"WHERE t.customer_id = {customer} "
        if place == "middle":
            where += (
                "AND (t.created_at, t.key) < (SELECT created_at, key FROM claims"
                " WHERE key = (SELECT max(key) / 2 FROM claims)) "
            )
        order = f"ORDER BY t.created_at DESC, t.key DESC LIMIT {size}"
        return _first_column(connection, f"{ARRAY} ({select} {where}{order})", ())

    return _measure(page, slowdown=5)


def limit(folder: Path) -> dict[str, float]:
    """Steps a statement that selects the rows, and copies the bytes of every column."""
    program, store = stores.limit(folder, "page"), stores.need_store(folder)
    return {
        f"{size} {place}": float(stores.last_line(program, store, size, place, CALLS[size])[0])
        for size in SIZES
        for place in PLACES
    }
