"""Tokens that the core knows: none that was verified before a key or client changed."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import comptroller
import pytest
from token_server import LIST, Served

pytest.importorskip("httptools")

from comptroller._core import collect_fields
from comptroller.http.log import Log
from comptroller.http.oauth import clients
from comptroller.http.oauth.tokens import Verified
from comptroller.http.server.request import Request
from comptroller.http.server.short_operations import ShortOperations


class _Connection:
    """Notes who answers: the core, or the application."""

    is_secure = False

    def __init__(self) -> None:
        self.answered_by: list[str] = []

    def respond(self, _response: bytes) -> None:
        self.answered_by.append("core")

    def pass_on(self, _request: Request, _more: object = None) -> None:
        self.answered_by.append("application")


class _Core:
    """The short operations of a served store, whose clients the test changes."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._bearer = served.authority.authenticator
        self._operations = ShortOperations(served.application, self._bearer, Log(io.BytesIO()))
        self.admit = self._bearer.on_verified

    async def see_changes(self) -> None:
        """Runs `watch` until it has compared the clients with those that it knew."""
        self._served.clock.go(1)
        await self._bearer.verifier.generation()
        watching = asyncio.ensure_future(self._operations.watch())
        for _ in range(20):
            await asyncio.sleep(0)
        watching.cancel()

    def asked(self, token: str) -> str:
        """Returns who answers a request with a token."""
        add, take = collect_fields()
        add(b"host", b"here")
        add(b"authorization", b"Bearer " + token.encode())
        request, connection = Request(), _Connection()
        request.method, request.target, request.fields = b"GET", LIST.encode(), take()[0]
        request.keep_alive = True
        self._operations.answer(connection, request)  # type: ignore[arg-type]
        (by,) = connection.answered_by
        return by


def test_a_token_that_was_verified_before_a_change_is_not_admitted_after_it(
    store_path: Path,
) -> None:
    with comptroller.open(store_path) as svc:
        served = Served(store_path, svc)
        known = served.register()
        token = served.token(known)

        async def run() -> list[str]:
            core = _Core(served)
            verified: list[tuple[bytes, Verified]] = []

            def note(*what: Any) -> None:
                verified.append(what)
                core.admit(*what)

            served.authority.authenticator.on_verified = note
            show = {"headers": {"Authorization": f"Bearer {token}"}}
            by = []
            assert (await served.send("GET", LIST, **show)).status_code == 200
            by.append(core.asked(token))  # `watch` has not named the present clients yet
            await core.see_changes()
            assert (await served.send("GET", LIST, **show)).status_code == 200
            by.append(core.asked(token))
            clients.revoke(clients.file_of(str(store_path)), known.id)
            await core.see_changes()
            core.admit(*verified[-1])  # by a task that began before the change
            by.append(core.asked(token))
            return by

        assert asyncio.run(run()) == ["application", "core", "application"]
