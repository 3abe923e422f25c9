"""An external issuer: its key endpoint, its tokens, and an application that accepts them."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import comptroller
from comptroller.http import app
from comptroller.http.oauth.authority import external_authority
from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey
from token_server import LIST, Clock, httpx2

ISSUER = "https://accounts.example"
AUDIENCE = "https://books.example"
CLIENT = "reader"


class Place:
    """A server of a key set, which may be blocked, and counts its requests."""

    def __init__(self) -> None:
        self.status = 200
        self.body = b"{}"
        self.location: str | None = None
        self.requests: list[str] = []
        self.may_answer = Event()
        self.may_answer.set()
        self.url = ""

    def publish(self, *keys: Any) -> None:
        self.body = json.dumps({"keys": [key.as_dict(private=False) for key in keys]}).encode()


@contextmanager
def a_place() -> Iterator[Place]:
    place = Place()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            place.requests.append(self.path)
            place.may_answer.wait()
            self.send_response(place.status)
            if place.location:
                self.send_header("Location", place.location)
            self.send_header("Content-Length", str(len(place.body)))
            self.end_headers()
            self.wfile.write(place.body)

        def log_message(self, *_arguments: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        place.url = f"http://127.0.0.1:{server.server_port}/keys"
        try:
            yield place
        finally:
            place.may_answer.set()
            server.shutdown()
            thread.join()


def a_key(kind: str = "Ed25519", kid: str = "k1") -> Any:
    made: dict[str, Callable[[], Any]] = {
        "Ed25519": lambda: OKPKey.generate_key("Ed25519", {"kid": kid}),
        "ES256": lambda: ECKey.generate_key("P-256", {"kid": kid}),
        "RS256": lambda: RSAKey.generate_key(2048, {"kid": kid}),
        "PS256": lambda: RSAKey.generate_key(2048, {"kid": kid}),
        "ES384": lambda: ECKey.generate_key("P-384", {"kid": kid}),
    }
    return made[kind]()


class Guest:
    """An application that accepts tokens of an external issuer, and these tokens."""

    def __init__(self, service: comptroller.Service, source: str, **how: Any) -> None:
        self.clock = Clock()
        terms = {"issuer": ISSUER, "audience": AUDIENCE, **how}
        self.monotonic = Clock(0)
        self.clock.beside.append(self.monotonic)
        authority = external_authority(
            jwks=source, clock=self.clock, monotonic=self.monotonic, **terms
        )
        assert authority.resources == {}
        self.application = app(service, authenticator=authority.authenticator)

    def token(self, key: Any, algorithm: str = "Ed25519", **claims: Any) -> str:
        payload = self.claims() | claims
        return self.raw_token(key, payload, {"alg": algorithm, "typ": "at+jwt"})

    def claims(self) -> dict[str, Any]:
        """Returns the claims of a valid token."""
        now = int(self.clock())
        return {
            "iss": ISSUER,
            "aud": [AUDIENCE],
            "sub": "someone",
            "client_id": CLIENT,
            "iat": now,
            "exp": now + 100_000,
            "customer": "acme",
            "scope": "openid rewards:read_claims operator:read",
        }

    @staticmethod
    def raw_token(
        key: Any, payload: dict[str, Any], header: dict[str, str], null: tuple[str, ...] = ()
    ) -> str:
        """Returns a token with only these claims, without those that are None, and null ones."""
        taken = {name: value for name, value in payload.items() if value is not None}
        taken |= dict.fromkeys(null)
        with warnings.catch_warnings(action="ignore"):  # EdDSA is deprecated
            return jwt.encode({**header, "kid": key.kid}, taken, key, algorithms=[header["alg"]])

    async def send(
        self, token: str, path: str = LIST, method: str = "GET", json: object = None
    ) -> Any:
        transport = httpx2.ASGITransport(app=self.application)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(transport=transport, base_url=AUDIENCE) as client:
            return await client.request(method, path, headers=headers, json=json)

    def show(self, token: str, path: str = LIST) -> Any:
        return asyncio.run(self.send(token, path))

    def post(self, token: str, path: str, body: object) -> Any:
        return asyncio.run(self.send(token, path, method="POST", json=body))

    def show_all(self, *tokens: str) -> list[int]:
        async def together() -> list[int]:
            answers = await asyncio.gather(*map(self.send, tokens))
            return [answer.status_code for answer in answers]

        return asyncio.run(together())
