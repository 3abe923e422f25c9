"""Requests to this machine bypass the proxy of the environment."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")
pytest.importorskip("joserfc")

import msgspec
from comptroller.http.oauth.jwks import PublishedKeys
from comptroller.operations.pages import Page
from comptroller.records import Claim
from joserfc.jwk import OKPKey

KEYS = {"keys": [OKPKey.generate_key("Ed25519", {"kid": "k"}).as_dict(private=False)]}


class Listener(ThreadingHTTPServer):
    """A server that returns one document, and records its requests."""

    def __init__(self, document: object) -> None:
        requests: list[tuple[str, str, str | None]] = []

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                requests.append((self.command, self.path, self.headers.get("authorization")))
                self.rfile.read(int(self.headers.get("content-length") or 0))
                body = msgspec.json.encode(document)
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_CONNECT = _answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Logs nothing."""

        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = requests
        threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()


@pytest.fixture(name="listeners")
def _listeners(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Listener, Listener]]:
    document = {"items": [], "next_page_cursor": "", "access_token": "t", "token_type": "bearer"}
    with Listener({**document, **KEYS}) as there, Listener(document) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.server_port}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield there, proxy
        there.shutdown()
        proxy.shutdown()


def listed(address: str) -> Page[Claim]:
    with comptroller.connect(address, client_id="a", client_secret="canary") as service:
        return service.claims.list()


def listed_by_a_task(address: str) -> Page[Claim]:
    async def ask() -> Page[Claim]:
        async with comptroller.connect_async(
            address, client_id="a", client_secret="canary"
        ) as service:
            return await service.claims.list()

    return asyncio.run(ask())


@pytest.mark.parametrize("ask", [listed, listed_by_a_task])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST"])
def test_a_connection_to_this_machine_bypasses_the_proxy(
    listeners: tuple[Listener, Listener], host: str, ask: Callable[[str], Page[Claim]]
) -> None:
    there, proxy = listeners
    assert ask(f"http://{host}:{there.server_port}").items == []
    assert [path.partition("?")[0] for _, path, _ in there.requests] == [
        "/oauth2/token",
        "/rewards/claims",
    ]
    assert all(authorization for _, _, authorization in there.requests)
    assert proxy.requests == []


def test_a_connection_to_another_machine_uses_the_proxy(
    listeners: tuple[Listener, Listener],
) -> None:
    there, proxy = listeners
    with comptroller.connect("http://books.example", token="t", allow_http=True) as service:
        assert service.claims.list().items == []
    assert [path.partition("?")[0] for _, path, _ in proxy.requests] == [
        "http://books.example/rewards/claims"
    ]
    assert there.requests == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_keys_on_this_machine_are_fetched_without_the_proxy(
    listeners: tuple[Listener, Listener], host: str
) -> None:
    there, proxy = listeners
    published: Any = PublishedKeys(f"http://{host}:{there.server_port}/jwks", lambda: 0.0)
    found = asyncio.run(published.key("k"))
    assert found is not None
    assert [path for _, path, _ in there.requests] == ["/jwks"]
    assert proxy.requests == []
