"""Many concurrent clients, which read, write, load, export and disconnect."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from random import Random
from typing import Any, NamedTuple

from command_line import claim, lines

READ = [
    "/rewards/claims?limit=20",
    "/rewards/claims?statuses=FAILED",
    "/v2/orchestration/orchestrations?limit=5",
    "/v2/identity/identities?limit=5",
    "/rewards/addresses?include_balance=true&limit=5",
]
PATIENCE_S = 60


class Place(NamedTuple):
    """The address of the service, and the credentials."""

    port: int
    token: str


class Client:
    """A client of the crowd; counts its requests by kind and status."""

    def __init__(self, place: Place, number: int) -> None:
        self.counts: Counter[tuple[str, int]] = Counter()
        self._place = place
        self._number = number
        self._random = Random(number)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def act_until(self, ends: float) -> None:
        """Repeats all kinds of requests until a time, each at least once."""
        acts = {self.read: 6, self.write: 3, self.load: 1, self.export: 1, self.vanish: 2}
        left = list(acts)
        self._random.shuffle(left)
        try:
            while left or time.monotonic() < ends:
                act = left.pop() if left else self._random.choices(list(acts), acts.values())[0]
                async with asyncio.timeout(PATIENCE_S):
                    await act()
        finally:
            self._hang_up()

    async def read(self) -> None:
        await self._ask("read", "GET", self._random.choice(READ))

    async def write(self) -> None:
        made = {"id": f"i-{self._number}-{self.counts.total()}"}
        body = json.dumps(made).encode()
        await self._ask("write", "PUT", "/operator/identity/identities", body)

    async def load(self) -> None:
        body = lines(*(claim(f"c-{self._number}-{n}") for n in range(100)))
        answer = await self._ask("load", "POST", "/operator/load/claims", body)
        assert json.loads(answer)["rejected"] == 0, answer

    async def export(self) -> None:
        answer = await self._ask("export", "GET", "/operator/export/claims")
        assert answer.endswith(b"}\n")

    async def vanish(self) -> None:
        """Disconnects in the middle of a request."""
        asked = self._request("POST", "/operator/load/claims", lines(claim("never")))
        export = self._request("GET", "/operator/export/claims")
        sent = self._random.choice([b"", asked[:20], asked[:-10], asked, export])
        _reader, writer = await asyncio.open_connection("127.0.0.1", self._place.port)
        writer.write(sent)
        await writer.drain()
        if self._random.random() < 0.5:
            writer.transport.abort()
        else:
            writer.close()
        self.counts["vanish", 0] += 1

    def _request(self, method: str, path: str, body: bytes = b"") -> bytes:
        type = "application/x-ndjson" if "/load/" in path else "application/json"
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {self._place.token}"
        )
        fields = f"\r\nContent-Type: {type}\r\nContent-Length: {len(body)}" if body else ""
        return f"{head}{fields}\r\n\r\n".encode() + body

    async def _ask(self, what: str, method: str, path: str, body: bytes = b"") -> bytes:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._place.port)
        reader, writer = self._streams
        writer.write(self._request(method, path, body))
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        status = int(head.split(" ", 2)[1])
        self.counts[what, status] += 1
        answer = await _body(reader, head)
        assert status == 200, (what, status, answer)
        if self._random.random() < 0.05:
            self._hang_up()
        return answer

    def _hang_up(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _body(reader: asyncio.StreamReader, head: str) -> bytes:
    fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
    if "content-length" in fields:
        return await reader.readexactly(int(fields["content-length"]))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


async def act(place: Place, clients: int, seconds: float) -> Counter[tuple[str, int]]:
    """Runs many clients for some time; returns their counts. Raises for an unexpected response."""
    crowd = [Client(place, number) for number in range(clients)]
    ends = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for client in crowd:
            group.create_task(client.act_until(ends))
    total: Counter[Any] = Counter()
    for client in crowd:
        total += client.counts
    return total
