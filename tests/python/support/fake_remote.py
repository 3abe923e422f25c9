"""A fake remote service with prepared responses, and a fake clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("httpx2")

import comptroller
import httpx2

BASE = "https://elsewhere.test/api/v3"
NOON = "2026-01-31T12:00:00Z"
UUID = "01900000-0000-7000-8000-0000000000aa"

CLAIM = {
    "id": "c-1",
    "payout_group_id": UUID,
    "claim_type": "CLAIM_ALL",
    "onchain_status": "PENDING",
    "amount": "1.50",
    "created_at": NOON,
    "updated_at": NOON,
}
GROUP = {"id": UUID, "ledger": "INK", "created_at": NOON, "updated_at": NOON}
ADDRESS = {"id": UUID, "ledger": "INK", "address": "0xab", "created_at": NOON}
ORDER = {
    "id": "o-1",
    "customer_id": "c",
    "status": "COMPLETED",
    "created_at": NOON,
    "updated_at": NOON,
}
CONTROL = {
    "id": "k-1",
    "type": "CLOSED",
    "set_by": "CLIENT",
    "is_overridable": True,
    "created_at": NOON,
    "deleted_at": None,
}

NEW_GROUP = {
    "ledger": "INK",
    "asset_type": "ETH",
    "jurisdiction": "CH",
    "name": "n",
    "claimer_address": "0x1",
}
NEW_ADDRESS = {"ledger": "INK", "address": "0xab"}
NEW_CONTROL = {"identity_id": "alice", "type": "CLOSED", "reason_code": "X"}

Answer = httpx2.Response | Exception


LOST = httpx2.ReadError("connection reset")


class StillClock:
    """A clock that only moves when the caller sleeps; records each sleep."""

    def __init__(self) -> None:
        self.moment = 0.0
        self.sleeps: list[float] = []

    def now(self) -> float:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.moment += seconds


class AwaitedClock:
    """The same clock for tasks."""

    def __init__(self, clock: StillClock) -> None:
        self.now = clock.now
        self._clock = clock

    async def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)
        await asyncio.sleep(0)


class Elsewhere:
    """A service that returns prepared responses in turn, repeats the last one, and records the
    requests. Paths named in `pages` have their own responses.
    """

    def __init__(self, *answers: Answer, **pages: Callable[[httpx2.Request], Answer]) -> None:
        self.clock = StillClock()
        self.requests: list[httpx2.Request] = []
        self._answers = list(answers)
        self._pages = pages

    def connect(self, base_url: str = BASE, **how: Any) -> comptroller.Service:
        transport = httpx2.MockTransport(self._answer)
        return comptroller.connect(base_url, transport=transport, clock=self.clock, **how)

    def connect_async(self, base_url: str = BASE, **how: Any) -> comptroller.AsyncService:
        transport = httpx2.MockTransport(self._answer_later)
        clock = AwaitedClock(self.clock)
        return comptroller.connect_async(base_url, transport=transport, clock=clock, **how)

    async def _answer_later(self, request: httpx2.Request) -> httpx2.Response:
        await asyncio.sleep(0)
        return self._answer(request)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        name = request.url.path.rpartition("/")[2].partition(".")[0]
        if name in self._pages:
            answer = self._pages[name](request)
        else:
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def paths(self) -> list[str]:
        """Returns the paths of the requests, below the base URL."""
        prefix = BASE.removeprefix("https://elsewhere.test")
        return [request.url.raw_path.decode().removeprefix(prefix) for request in self.requests]


def ok(body: object) -> httpx2.Response:
    return httpx2.Response(200, json=body)


def answer(status: int, code: str | None = None, **headers: str) -> httpx2.Response:
    """Returns an error response; header names have underscores for dashes."""
    body = {} if code is None else {"code": code}
    return httpx2.Response(
        status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )


def page(*items: object) -> httpx2.Response:
    return ok({"items": items, "next_page_cursor": ""})


def openapi(*operations: tuple[str, str]) -> Callable[[httpx2.Request], Answer]:
    """Returns an OpenAPI document that declares an Idempotency-Key for these methods and paths."""
    paths: dict[str, Any] = {}
    for method, path in operations:
        key = {"$ref": "#/components/parameters/IdempotencyKey"}
        paths.setdefault(path, {})[method.lower()] = {"parameters": [key]}
    parameter = {"name": "Idempotency-Key", "in": "header"}
    document = {"paths": paths, "components": {"parameters": {"IdempotencyKey": parameter}}}
    return lambda _request: ok(document)


def tokens(*names: str, **more: object) -> Callable[[httpx2.Request], Answer]:
    """A token endpoint that issues these tokens in turn, and repeats the last one."""
    left = list(names)

    def issued(_request: httpx2.Request) -> httpx2.Response:
        name = left.pop(0) if len(left) > 1 else left[0]
        body = {"access_token": name, "token_type": "Bearer", "expires_in": 3600}
        return ok(body | more)

    return issued
