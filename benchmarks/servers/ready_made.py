"""The limit of a list: the same bytes prepared in advance, without checking a token.

uvicorn passes the head and the body of a response to the transport separately. Whether the event
loop sends them in one system call depends on its version; this transport always does.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from servers.lists import SIZES, page_of
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class OneWrite:
    """A transport that only sends the head of a response together with its body."""

    def __init__(self, transport: Any) -> None:
        self._write = transport.write
        self._head: bytes | None = None
        self.is_closing = transport.is_closing
        self.close = transport.close
        self.get_extra_info = transport.get_extra_info
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.set_protocol = transport.set_protocol

    def write(self, data: bytes) -> None:
        if self._head is None:
            self._head = data
        else:
            head, self._head = self._head, None
            self._write(head + data)


class Protocol(HttpToolsProtocol):
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(OneWrite(transport))  # type: ignore[arg-type]


def app(database: Path) -> Any:
    pages = {b"limit=%d" % size: page_of(database, size) for size in SIZES}

    async def answer(scope: Any, _receive: Any, send: Any) -> None:
        body = pages[scope["query_string"]]
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer
