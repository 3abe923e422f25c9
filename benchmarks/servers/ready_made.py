"""The limit of a list: the same bytes, made before anyone asks, and no token looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from servers.lists import SIZES, page_of


def app(database: Path) -> Any:
    pages = {b"limit=%d" % size: page_of(database, size) for size in SIZES}

    async def answer(scope: Any, _receive: Any, send: Any) -> None:
        body = pages[scope["query_string"]]
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer
