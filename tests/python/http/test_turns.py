"""Long reads wait in turns: those of one customer do not wait for all of another."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import comptroller
import pytest

pytest.importorskip("prometheus_client")

from comptroller._core import Principal
from comptroller.http.app import App
from comptroller.http.authentication import Caller
from comptroller.http.exchange import Exchange

#: More than the threads that read.
MANY = 40


class _NamedCallers:
    """The caller is the customer that a header names."""

    async def caller(self, exchange: Exchange) -> Caller:
        name = exchange.headers[b"x-customer"].decode()
        return Caller(Principal(name), name)


class _Requests:
    """Sends long reads to an application, and notes the order in which they end."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.ended: list[str] = []
        self.answered: list[str] = []

    async def read(self, customer: str, *, is_gone: bool = False) -> None:
        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            if messages:
                return messages.pop()
            if not is_gone:
                await asyncio.Event().wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                assert message["status"] == 200
                self.answered.append(customer)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": "/rewards/claims",
            "raw_path": b"/rewards/claims",
            "query_string": b"limit=1000",
            "headers": [(b"host", b"localhost"), (b"x-customer", customer.encode())],
        }
        await self._app(scope, receive, send)
        self.ended.append(customer)


def _run(store_path: Path, *reads: tuple[str, bool]) -> _Requests:
    async def run() -> _Requests:
        with comptroller.open(store_path) as svc:
            requests = _Requests(App(svc, authenticator=_NamedCallers()))
            await asyncio.gather(*(requests.read(who, is_gone=gone) for who, gone in reads))
            return requests

    return asyncio.run(run())


def test_customers_take_turns(store_path: Path) -> None:
    requests = _run(store_path, *[("acme", False)] * MANY, ("other", False))
    assert len(requests.answered) == MANY + 1
    assert requests.answered.index("other") < MANY / 2


def test_a_read_whose_client_has_gone_takes_no_turn(store_path: Path) -> None:
    requests = _run(store_path, *[("acme", False)] * MANY, *[("gone", True)] * MANY)
    assert requests.answered == ["acme"] * MANY
    assert requests.ended[: MANY // 2].count("gone") >= MANY // 4
    assert requests.ended.count("gone") == MANY
