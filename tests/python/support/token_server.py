"""A store served with its own tokens, and its clients, in this process."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import comptroller
import pytest

pytest.importorskip("joserfc")
pytest.importorskip("prometheus_client")
httpx2 = pytest.importorskip("httpx2")

from comptroller.http import app  # noqa: E402
from comptroller.http.oauth import clients  # noqa: E402
from comptroller.http.oauth.authority import local_authority  # noqa: E402
from comptroller.routes import TOKEN_PATH  # noqa: E402
from lines import fresh  # noqa: E402

ISSUER = "https://books.example"
LIST = "/rewards/claims"
FORM = "application/x-www-form-urlencoded"

_T = TypeVar("_T")


class Clock:
    """A clock that only moves when a test advances it, and the clocks beside it."""

    def __init__(self, now: float = 1_800_000_000) -> None:
        self.now = now
        self.beside: list[Clock] = []

    def __call__(self) -> float:
        return self.now

    def go(self, seconds: float) -> None:
        self.now += seconds
        for clock in self.beside:
            clock.go(seconds)


class Known(NamedTuple):
    """A registered client, and its secret."""

    id: str
    secret: str

    @property
    def basic(self) -> str:
        return basic(self.id, self.secret)


def basic(id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{id}:{secret}".encode()).decode()


def run_all(work: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Runs coroutines one after the other in one event loop."""

    async def each() -> list[_T]:
        return [await one for one in work]

    return asyncio.run(each())


class Served:
    """A store with registered clients, served under :data:`ISSUER`."""

    def __init__(self, store: Path, service: comptroller.Service, **how: Any) -> None:
        self.store = store
        self.clock = Clock()
        self.monotonic = Clock()
        self.clock.beside.append(self.monotonic)
        self.authority = local_authority(
            str(store), issuer=ISSUER, clock=self.clock, monotonic=self.monotonic, **how
        )
        self.application = app(
            service,
            authenticator=self.authority.authenticator,
            resources=self.authority.resources,
        )

    def register(
        self, name: str = "reader", customer: str | None = "acme", scopes: Any = None
    ) -> Known:
        """Registers a client, whose name begins so and is unique."""
        file = clients.file_of(str(self.store))
        client, secret = clients.add(file, fresh(name), customer, scopes)
        return Known(client.client_id, secret)

    async def send(self, method: str, path: str, **how: Any) -> Any:
        """Sends a request to the application."""
        transport = httpx2.ASGITransport(app=self.application)
        async with httpx2.AsyncClient(transport=transport, base_url=ISSUER) as client:
            return await client.request(method, path, **how)

    def ask(self, method: str, path: str, **how: Any) -> Any:
        """Sends a request to the application in a new event loop."""
        return asyncio.run(self.send(method, path, **how))

    def ask_token(self, known: Known, **fields: str) -> Any:
        """Requests a token for a client; returns the response."""
        form = {"grant_type": "client_credentials", **fields}
        return self.ask("POST", TOKEN_PATH, data=form, headers={"Authorization": known.basic})

    def token(self, known: Known, **fields: str) -> str:
        """Returns a token for a client."""
        answer = self.ask_token(known, **fields)
        assert answer.status_code == 200, answer.text
        token: str = answer.json()["access_token"]
        return token

    def show(self, token: str, path: str = LIST) -> Any:
        """Requests a list with a token; returns the response."""
        return self.ask("GET", path, headers={"Authorization": f"Bearer {token}"})
