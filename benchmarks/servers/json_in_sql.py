"""An ASGI application that makes JSON in SQLite, from a table of text, on the event loop."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pages
from servers.callers import CALLERS

SQL = (
    f"{pages.ARRAY} (SELECT * FROM claims WHERE customer_id = ?"
    " ORDER BY created_at DESC, rowid DESC LIMIT ?)"
)


def app(database: Path) -> Any:
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    connection.execute("PRAGMA cache_size = -8192")

    async def answer(scope: Any, _receive: Any, send: Any) -> None:
        customer = _customer(scope["headers"])
        status, body = 401, b""
        if customer is not None:
            limit = int(parse_qs(scope["query_string"])[b"limit"][0])
            status, body = 200, connection.execute(SQL, (customer, limit)).fetchone()[0].encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


def _customer(headers: list[tuple[bytes, bytes]]) -> str | None:
    for name, value in headers:
        if name == b"authorization":
            return CALLERS.get(value.removeprefix(b"Bearer ").decode("latin-1"))
    return None
