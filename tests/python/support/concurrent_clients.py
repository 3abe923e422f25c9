"""Many concurrent clients, which read, write, load, export and disconnect."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from random import Random
from typing import Any, NamedTuple

from callers import Caller
from command_line import claim, lines

READ = [
    "/rewards/claims?limit=20",
    "/rewards/claims?statuses=FAILED",
    "/v2/orchestration/orchestrations?limit=5",
    "/v2/identity/identities?limit=5",
    "/rewards/addresses?include_balance=true&limit=5",
]
PATIENCE_S = 60
_LINES = {"Content_Type": "application/x-ndjson"}


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
        address = f"http://127.0.0.1:{place.port}"
        self._caller = Caller(address, Authorization=f"Bearer {place.token}")

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
            self._caller.hang_up()

    async def read(self) -> None:
        await self._ask("read", "GET", self._random.choice(READ))

    async def write(self) -> None:
        made = {"id": f"i-{self._number}-{self.counts.total()}"}
        body = json.dumps(made).encode()
        await self._ask("write", "PUT", "/operator/identity/identities", body)

    async def load(self) -> None:
        body = lines(*(claim(f"c-{self._number}-{n}") for n in range(100)))
        answer = await self._ask("load", "POST", "/operator/load/claims", body, **_LINES)
        assert json.loads(answer)["rejected"] == 0, answer

    async def export(self) -> None:
        answer = await self._ask("export", "GET", "/operator/export/claims")
        assert answer.endswith(b"}\n")

    async def vanish(self) -> None:
        """Disconnects in the middle of a request."""
        body = lines(claim("never"))
        asked = self._caller.request("POST", "/operator/load/claims", body, **_LINES)
        export = self._caller.request("GET", "/operator/export/claims")
        sent = self._random.choice([b"", asked[:20], asked[:-10], asked, export])
        _reader, writer = await asyncio.open_connection("127.0.0.1", self._place.port)
        writer.write(sent)
        await writer.drain()
        if self._random.random() < 0.5:
            writer.transport.abort()
        else:
            writer.close()
        self.counts["vanish", 0] += 1

    async def _ask(
        self, what: str, method: str, path: str, body: bytes = b"", **fields: str
    ) -> bytes:
        answer = await self._caller.ask(method, path, body, **fields)
        self.counts[what, answer.status] += 1
        assert answer.status == 200, (what, answer)
        if self._random.random() < 0.05:
            self._caller.hang_up()
        return answer.body


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
