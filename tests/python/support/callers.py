"""Clients that send many requests over kept-alive connections, and the resources of a server."""

from __future__ import annotations

import asyncio
import json
import time
from math import inf
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    """A whole response."""

    status: int
    fields: dict[str, str]
    body: bytes


class CutOff(Exception):
    """The connection ended in the middle of a response."""


class Caller:
    """A client with one connection at a time, which it opens when it needs one.

    Attributes:
        waits_since: when the current request was passed to the system completely, on a connection
            that had an answer before; infinity before that, and on other connections.
    """

    def __init__(self, address: str, **fields: str) -> None:
        place = urlsplit(address)
        self._place = (place.hostname, place.port)
        self._fields = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._has_answer = False
        self.waits_since = inf

    def request(self, method: str, path: str, body: bytes = b"", **fields: str) -> bytes:
        """Returns a request as it is sent."""
        given = {"Content-Type": "application/json"} if body else {}
        given |= {name.replace("_", "-"): value for name, value in fields.items()}
        if body:
            given["Content-Length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{self._fields}{lines}\r\n"
        return head.encode() + body

    async def ask(self, method: str, path: str, body: bytes = b"", **fields: str) -> Answer:
        """Sends a request; returns the response.

        Raises OSError or EOFError if the connection ends before the first byte of the response, and
        CutOff if it ends after it.
        """
        self.waits_since = inf
        if self._streams is None:
            self._has_answer = False
            self._streams = await asyncio.open_connection(*self._place)
        reader, writer = self._streams
        try:
            writer.write(self.request(method, path, body, **fields))
            # What the system does not take at once is sent later, at an unknown time.
            if self._has_answer and writer.transport.get_write_buffer_size() == 0:
                self.waits_since = time.monotonic()
            await writer.drain()
            answer = await _read(reader)
            self._has_answer = True
        except BaseException:
            self.hang_up()
            raise
        if answer.fields.get("connection") == "close":
            self.hang_up()
        return answer

    def hang_up(self) -> None:
        """Closes the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _read(reader: asyncio.StreamReader) -> Answer:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise CutOff(error.partial) from error
        raise
    status, *lines = head.split("\r\n")
    fields = {
        name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)
    }
    try:
        return Answer(int(status.split(" ", 2)[1]), fields, await read_body(reader, fields))
    except (asyncio.IncompleteReadError, OSError) as error:
        raise CutOff(head) from error


async def read_body(reader: asyncio.StreamReader, fields: dict[str, str]) -> bytes:
    """Returns the body of a response with these header fields."""
    if "content-length" in fields:
        return await reader.readexactly(int(fields["content-length"]))
    body = b""
    while size := int((await reader.readuntil(b"\r\n")), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body


async def ask_token(address: str, client: str, secret: str) -> str:
    """Returns a token for a client."""
    form = f"grant_type=client_credentials&client_id={client}&client_secret={secret}".encode()
    caller = Caller(address)
    answer = await caller.ask(
        "POST", "/oauth2/token", form, Content_Type="application/x-www-form-urlencoded"
    )
    caller.hang_up()
    token: str = json.loads(answer.body)["access_token"]
    return token


class Resources(NamedTuple):
    """What a process uses."""

    rss_mib: float
    descriptors: int
    threads: int


def resources(pid: int) -> Resources:
    """Returns what a process uses now."""
    status = Path(f"/proc/{pid}/status").read_text()
    found: dict[str, Any] = dict(line.split(":", 1) for line in status.splitlines())
    return Resources(
        int(found["VmRSS"].split()[0]) / 1024,
        len(list(Path(f"/proc/{pid}/fd").iterdir())),
        int(found["Threads"]),
    )
