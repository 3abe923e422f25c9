"""A write repeated with its Idempotency-Key is executed once, although servers are killed."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import comptroller
import pytest
from callers import Caller, CutOff, ask_token
from comptroller.http.oauth import clients
from serving import free_ports, serving

pytestmark = pytest.mark.promise(4, minutes=5)

CREATES = 1_000
CONNECTIONS = 16
KILLS = 20
PATH = "/rewards/addresses"


def body_of(number: int) -> bytes:
    made = {"ledger": "ETHEREUM", "address": f"0x{number + 1:040x}", "name": f"n{number}"}
    return json.dumps(made).encode()


class Repeaters:
    """Connections that send each create 1 to 5 times, each time until it is answered."""

    def __init__(self, address: str, token: str) -> None:
        chance = random.Random(4)
        self._left = [n for n in range(CREATES) for _ in range(chance.randint(1, 5))]
        self.sent = len(self._left)
        # Neighbours in the list are sent at the same time.
        self._left.sort(key=lambda number: number + chance.random() * 20)
        self._callers = [
            Caller(address, Authorization=f"Bearer {token}") for _ in range(CONNECTIONS)
        ]
        self.bodies: dict[int, set[bytes]] = {}
        self.counts: Counter[str] = Counter()
        self.answered = asyncio.Condition()

    async def send_all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for caller in self._callers:
                group.create_task(self._send(caller))

    async def wait_for(self, answers: int) -> None:
        async with self.answered:
            await self.answered.wait_for(lambda: self.counts["answered"] >= answers)

    async def _send(self, caller: Caller) -> None:
        while self._left:
            number = self._left.pop(0)
            while not await self._is_answered(caller, number):
                await asyncio.sleep(0.02)  # until the next server listens
        caller.hang_up()

    async def _is_answered(self, caller: Caller, number: int) -> bool:
        key = f"key-{number}"
        try:
            answer = await caller.ask("POST", PATH, body_of(number), Idempotency_Key=key)
        except ConnectionRefusedError:
            return False
        except (OSError, EOFError, CutOff):
            self.counts["lost"] += 1
            return False
        if answer.status == 409:
            assert json.loads(answer.body)["code"] == "idempotency-in-flight", answer
            self.counts["in flight"] += 1
            return False
        assert answer.status == 200, answer
        self.bodies.setdefault(number, set()).add(answer.body)
        self.counts["replayed"] += answer.fields.get("idempotent-replayed") == "true"
        async with self.answered:
            self.counts["answered"] += 1
            self.answered.notify_all()
        return True


async def send_under_kills(store: Path, client: clients.Client, secret: str) -> Repeaters:
    """Sends all creates while servers are killed; checks what refusals are specified."""
    (port,) = free_ports(1)
    with ExitStack() as closing:

        def start() -> Any:
            how = ("--db", str(store), "--port", str(port))
            return closing.enter_context(serving(*how, cwd=store.parent))

        server = await asyncio.to_thread(start)
        token = await ask_token(server.address, client.client_id, secret)
        repeaters = Repeaters(server.address, token)
        sending = asyncio.create_task(repeaters.send_all())
        for kill in range(KILLS):
            await repeaters.wait_for((kill + 1) * repeaters.sent // (KILLS + 1))
            server.process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(server.process.wait)
            server = await asyncio.to_thread(start)
        await sending
        caller = Caller(server.address, Authorization=f"Bearer {token}")
        reused = await caller.ask("POST", PATH, body_of(CREATES), Idempotency_Key="key-0")
        assert (reused.status, json.loads(reused.body)["code"]) == (422, "idempotency-key-reused")
        caller.hang_up()
    return repeaters


def test_repeated_creates_are_executed_once(tmp_path: Path, figures: dict[str, Any]) -> None:
    """1,000 creates, each sent 1 to 5 times over 16 connections under 20 kills, are 1,000 rows."""
    store = tmp_path / "store.db"
    comptroller.open(store).close()
    client, secret = clients.add(clients.file_of(str(store)), "retrying", "acme", None)
    repeaters = asyncio.run(send_under_kills(store, client, secret))
    counts = repeaters.counts
    with comptroller.open(store) as service:
        found = list(service.reward_addresses.iter())
        assert service.check()["ok"]
    figures["requests"] = repeaters.sent
    figures["kills"] = KILLS
    figures["lost connections"] = counts["lost"]
    figures["refused because the first was in flight"] = counts["in flight"]
    figures["replays"] = counts["replayed"]
    figures["rows"] = len(found)
    assert min(counts["lost"], counts["in flight"], counts["replayed"]) > KILLS
    assert sorted(each.name for each in found) == sorted(f"n{n}" for n in range(CREATES))
    by_name = {f"n{number}": bodies for number, bodies in repeaters.bodies.items()}
    for each in found:
        (body,) = by_name[each.name]
        assert each.id.encode() in body
