"""A crowd of clients: well-behaved ones of several classes, and some that try to do harm."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from math import inf
from random import Random
from typing import Any
from uuid import UUID

from callers import Caller, CutOff

PAGES = (
    "/rewards/claims?limit=20",
    "/rewards/claims?statuses=FAILED&limit=100",
    "/rewards/claims?statuses=PENDING&chain=ETHEREUM&order=ASC&limit=100",
    "/rewards/payout-groups?limit=50",
    "/rewards/addresses?include_balance=true&limit=20",
    "/v2/changes?limit=50",
)
#: The largest pages, which yield to other requests, are among them.
LISTS = (*PAGES, "/rewards/claims?limit=1000")
#: Of 1,000 requests.
SHARES = {"list": 380, "get": 500, "create": 100, "load": 10, "trivial": 10}
LINES_OF_A_LOAD = 100
#: A request that the server does not answer in this time fails.
PATIENCE_S = 60
#: The first rest begins after this time; the server has then opened and cached what it needs.
WARM_UP_S = 60
#: The slow reader ends within 20 s, the server closes the connections to the store that one client
#: does not need, and returns freed memory within another 30 s.
REST_S = 55


class Crowd:
    """Sends requests until the server closes its connections; keeps the latencies by class.

    `tokens` are of an operator and of a client that may read and create.

    Attributes:
        seconds: the latencies of the answers, by class.
        counts: the answers by class and status. What went wrong has the status 0.
        waiting: the requests that had been sent when the server was told to end, and had no answer.
    """

    def __init__(self, address: str, tokens: tuple[str, str], ids: list[str], seed: int) -> None:
        self._address = address
        self._operator, self._client = ({"Authorization": f"Bearer {each}"} for each in tokens)
        self._ids = ids
        self._chance = Random(seed)
        self._numbers = itertools.count()
        self._ended_at = inf
        self._may_act = asyncio.Event()
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.counts: Counter[tuple[str, int]] = Counter()
        self.waiting = 0

    async def measure(
        self, clients: int, seconds: float, shares: dict[str, int]
    ) -> dict[str, list[float]]:
        """Returns the latencies by class of clients that send only these classes, in order."""
        end = time.monotonic() + seconds
        taken: dict[str, list[float]] = {name: [] for name in shares}

        async def repeat() -> None:
            caller = Caller(self._address)
            while time.monotonic() < end:
                (name,) = self._chance.choices(list(shares), shares.values())
                method, path, body, fields = getattr(self, f"_{name}")()
                began = time.perf_counter()
                assert (await caller.ask(method, path, body, **fields)).status == 200
                taken[name].append(time.perf_counter() - began)
            caller.hang_up()

        async with asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(repeat())
        return {name: sorted(each) for name, each in taken.items()}

    async def run(
        self,
        clients: int,
        minutes: float,
        under_load: Callable[[], None],
        at_rest: Callable[[], None],
        at_end: Callable[[], None],
    ) -> None:
        """Runs `clients` clients for some minutes, the last four of which try to do harm.

        After the first minute, and before the end, all clients but one hang up; at the end of this
        rest calls `at_rest`. Between the two calls `under_load` each second. Finally calls
        `at_end`, which ends the server during requests, and waits for all clients.
        """
        self._may_act.set()
        kinds = [self._read_slowly, self._vanish, self._flood_with_secrets, self._send_garbage]
        kinds += [self._behave] * (clients - len(kinds))
        async with asyncio.TaskGroup() as group:
            for kind in kinds:
                group.create_task(self._repeat(kind))
            await asyncio.sleep(WARM_UP_S)
            await self._rest(at_rest)
            end = time.monotonic() + minutes * 60 - WARM_UP_S
            while time.monotonic() < end:
                await asyncio.sleep(1)
                under_load()
            await self._rest(at_rest)
            await asyncio.sleep(WARM_UP_S / 6)
            self._ended_at = time.monotonic()
            at_end()

    async def _rest(self, at_rest: Callable[[], None]) -> None:
        self._may_act.clear()
        caller, end = Caller(self._address), time.monotonic() + REST_S
        while time.monotonic() < end:
            method, path, body, fields = self._get()
            assert (await caller.ask(method, path, body, **fields)).status == 200
        caller.hang_up()
        at_rest()
        self._may_act.set()

    async def _repeat(self, act: Callable[[Caller], Awaitable[None]]) -> None:
        """Repeats an act until the server ends."""
        caller = Caller(self._address)
        while True:
            if not self._may_act.is_set():
                caller.hang_up()
                await self._may_act.wait()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await act(caller)
                continue
            except CutOff:
                self.counts["answer cut off for" + act.__name__, 0] += 1
            except (OSError, EOFError):
                if not self._is_ending():
                    self.counts["connection lost by" + act.__name__, 0] += 1
                elif act == self._behave and caller.waits_since < self._ended_at:
                    self.waiting += 1
                    self.counts["request dropped at the end of" + act.__name__, 0] += 1
            if self._is_ending():
                return caller.hang_up()

    def _is_ending(self) -> bool:
        return self._ended_at < inf

    async def _behave(self, caller: Caller) -> None:
        name = self._chance.choices(list(SHARES), SHARES.values())[0]
        method, path, body, fields = getattr(self, f"_{name}")()
        began = time.perf_counter()
        answer = await caller.ask(method, path, body, **fields)
        self.seconds[name].append(time.perf_counter() - began)
        self.waiting += self._is_ending() and caller.waits_since < self._ended_at
        # A load that is refused because the server ends is rolled back.
        phase = " at the end" if self._is_ending() else ""
        self.counts[name + phase, answer.status] += 1

    def _list(self) -> tuple[str, str, bytes, dict[str, str]]:
        return "GET", self._chance.choice(LISTS), b"", self._client

    def _page(self) -> tuple[str, str, bytes, dict[str, str]]:
        return "GET", self._chance.choice(PAGES), b"", self._client

    def _get(self) -> tuple[str, str, bytes, dict[str, str]]:
        return "GET", f"/rewards/claims/{self._chance.choice(self._ids)}", b"", self._client

    def _trivial(self) -> tuple[str, str, bytes, dict[str, str]]:
        return "GET", "/healthz", b"", {}

    def _create(self) -> tuple[str, str, bytes, dict[str, str]]:
        made = {"ledger": "ETHEREUM", "address": f"0x{next(self._numbers) + (1 << 100):040x}"}
        return "POST", "/rewards/addresses", json.dumps(made).encode(), self._client

    def _load(self) -> tuple[str, str, bytes, dict[str, str]]:
        fields = {**self._operator, "Content-Type": "application/x-ndjson"}
        lines = [self._claim() for _ in range(LINES_OF_A_LOAD)]
        return "POST", "/operator/load/claims", b"\n".join(lines), fields

    def _claim(self) -> bytes:
        made: dict[str, Any] = {
            "id": str(UUID(int=self._chance.getrandbits(128))),
            "payout_group_id": str(UUID(int=self._chance.randrange(1, 50))),
            "claim_type": "CLAIM_ALL",
            "onchain_status": "PENDING",
            "amount": "1.5",
            "created_at": "2026-01-31T12:00:00Z",
        }
        return json.dumps(made).encode()

    async def _read_slowly(self, _caller: Caller) -> None:
        """Reads an export at 128 KiB/s for 20 s, then hangs up."""
        async with self._connected() as (reader, writer):
            writer.write(self._head("GET", "/operator/export/claims"))
            for _ in range(40):
                if not await reader.read(1 << 16):
                    break
                await asyncio.sleep(0.5)
        self.counts["slow reader", 0] += 1

    async def _vanish(self, _caller: Caller) -> None:
        """Sends a part of a request, or a request, and resets the connection."""
        request = self._head("GET", "/rewards/claims?limit=1000")
        load = self._head("POST", "/operator/load/claims", b"Content-Length: 1000000\r\n") + b"{"
        sent = self._chance.choice([b"", request[:20], request, load, load + b" " * 100_000])
        async with self._connected() as (_, writer):
            writer.write(sent)
            await writer.drain()
            await asyncio.sleep(self._chance.random() * 0.05)
        self.counts["vanished", 0] += 1

    async def _flood_with_secrets(self, caller: Caller) -> None:
        """Requests tokens of an unknown client over several connections at once."""
        callers = [caller, *(Caller(self._address) for _ in range(7))]
        form = b"grant_type=client_credentials&client_id=nobody&client_secret=guess"
        how = {"Content-Type": "application/x-www-form-urlencoded"}
        try:
            asked = (each.ask("POST", "/oauth2/token", form, **how) for each in callers)
            for answer in await asyncio.gather(*asked, return_exceptions=True):
                if isinstance(answer, BaseException):
                    raise answer
                self.counts["flood of the token endpoint", answer.status] += 1
        finally:
            for each in callers[1:]:
                each.hang_up()

    async def _send_garbage(self, _caller: Caller) -> None:
        """Sends random bytes, or a request that was changed at random; reads what comes."""
        garbage = bytearray(self._head("GET", self._chance.choice(LISTS)))
        for _ in range(self._chance.randint(1, 8)):
            garbage[self._chance.randrange(len(garbage))] = self._chance.randrange(256)
        sent = self._chance.choice([bytes(garbage), self._chance.randbytes(300)])
        async with self._connected() as (reader, writer):
            writer.write(sent + b"\r\n\r\n")
            writer.write_eof()
            received = await reader.read(1 << 20)
        status = int(received[9:12]) if received.startswith(b"HTTP/1.1 ") else 0
        self.counts["garbage", status] += 1

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Opens a connection, and resets it."""
        host, _, port = self._address.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    def _head(self, method: str, path: str, more: bytes = b"") -> bytes:
        token = self._operator["Authorization"]
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n"
        return head.encode() + more + b"\r\n"
