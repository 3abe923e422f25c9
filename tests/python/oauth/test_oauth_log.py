"""The log line of a rejected token request: client, peer, error, and no secret."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import comptroller
import pytest
from comptroller.http import app
from comptroller.http.log import Log
from comptroller.routes import TOKEN_PATH
from serving import serving
from token_server import FORM, ISSUER, Known, Served, basic, httpx2

CANARY = "canary-7f3a"
GRANT = {"grant_type": "client_credentials"}
PEER = "203.0.113.9"


class Logged:
    """A token endpoint, and its log."""

    def __init__(self, store: Path, service: comptroller.Service) -> None:
        self.stream = io.BytesIO()
        self.served = Served(store, service)
        self.known = self.served.register()
        self.served.clock.go(1)
        self._log = Log(self.stream)
        self.application = app(
            service,
            authenticator=self.served.authority.authenticator,
            resources=self.served.authority.resources,
            observers=(self._log,),
        )

    def ask(self, body: str, **headers: str) -> Any:
        """Sends a form; returns the response and its log line."""

        async def asked() -> Any:
            transport = httpx2.ASGITransport(app=self.application, client=(PEER, 1))
            async with httpx2.AsyncClient(transport=transport, base_url=ISSUER) as client:
                return await client.post(
                    TOKEN_PATH, content=body.encode(), headers={"Content-Type": FORM, **headers}
                )

        self.stream.seek(0)
        self.stream.truncate()
        answer = asyncio.run(asked())
        self._log.flush(30)
        (line,) = self.stream.getvalue().splitlines()
        assert CANARY.encode() not in line
        return answer, json.loads(line)


@pytest.fixture
def logged(store_path: Path, operator: comptroller.Service) -> Logged:
    return Logged(store_path, operator)


def credentials(known: Known, client: str, place: str) -> tuple[str, dict[str, str]]:
    """A body and headers that name the client, or another one, in the form or in the header."""
    id = known.id if client == "known" else CANARY
    if place == "form":
        return urlencode({**GRANT, "client_id": id, "client_secret": CANARY}), {}
    return urlencode(GRANT), {"Authorization": basic(id, CANARY)}


@pytest.mark.parametrize("place", ["form", "header"])
@pytest.mark.parametrize("client", ["known", "unknown"])
def test_a_rejected_client_is_named_if_it_is_registered(
    logged: Logged, client: str, place: str
) -> None:
    body, headers = credentials(logged.known, client, place)
    answer, line = logged.ask(body, **headers)
    assert answer.json()["error"] == "invalid_client"
    assert line["client_id"] == (logged.known.id if client == "known" else None)
    assert (line["peer"], line["error"]) == (PEER, "invalid_client")
    assert (line["route"], line["status"]) == (TOKEN_PATH, answer.status_code)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (f"grant_type=password&password={CANARY}", "unsupported_grant_type"),
        (urlencode({**GRANT, "scope": CANARY}), "invalid_scope"),
        (f"x={CANARY}&x=2", "invalid_request"),
        (f"grant_type=client_credentials&client_id={CANARY}", "invalid_request"),
        (CANARY * 1000, "invalid_request"),
    ],
)
def test_other_errors_are_logged(logged: Logged, body: str, error: str) -> None:
    answer, line = logged.ask(body, Authorization=logged.known.basic)
    assert answer.json()["error"] == error
    assert (line["client_id"], line["peer"], line["error"]) == (logged.known.id, PEER, error)


def test_a_granted_request_is_logged_as_usual(logged: Logged) -> None:
    answer, line = logged.ask(urlencode(GRANT), Authorization=logged.known.basic)
    assert answer.status_code == 200
    assert (line["client_id"], line["customer"]) == (logged.known.id, "acme")
    assert line.keys().isdisjoint({"peer", "error"})


@pytest.mark.parametrize(
    ("words", "peer"),
    [((), "127.0.0.1"), (("--behind-proxy", "--issuer", ISSUER), "198.51.100.2")],
    ids=["reached", "behind a proxy"],
)
def test_the_peer_is_that_of_a_trusted_proxy(
    tmp_path: Path, words: tuple[str, ...], peer: str
) -> None:
    with serving("--empty", *words, cwd=tmp_path) as server:
        forwarded = {"X-Forwarded-For": "192.0.2.1, 198.51.100.2", "Authorization": basic("a", "b")}
        assert server.ask("POST", TOKEN_PATH, data=GRANT, headers=forwarded).status_code == 401
        _, _, log = server.end()
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["peer"] for line in lines if line.get("error")] == [peer]
