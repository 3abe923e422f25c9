"""Requests without credentials cost the event loop little time."""

from __future__ import annotations

import asyncio
import base64
import itertools
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import comptroller
import pytest
from lines import claim, load

pytest.importorskip("prometheus_client")
pytest.importorskip("joserfc")

from comptroller.http import app
from comptroller.http.oauth.authority import local_authority
from comptroller.http.oauth.token_endpoint import LARGEST_BODY

# A call takes at most 0.1 us, so these take less than a millisecond.
MOST_CALLS = 5000
LARGEST_HEAD = 16 << 10
FORM = (b"content-type", b"application/x-www-form-urlencoded")
GRANT = b"grant_type=client_credentials"


def basic(pair: bytes) -> tuple[bytes, bytes]:
    return b"authorization", b"Basic " + base64.b64encode(pair)


def token(header: bytes, payload: bytes = b"{}") -> tuple[bytes, bytes]:
    parts = (base64.urlsafe_b64encode(part).rstrip(b"=") for part in (header, payload, b"x" * 64))
    return b"authorization", b"Bearer " + b".".join(parts)


def filled(text: str, repeated: str) -> str:
    return text + repeated * ((LARGEST_HEAD - len(text) - 500) // len(repeated))


LIST = "/rewards/claims"
GETS = {
    path: ("GET", path, [], b"")
    for path in (
        *("/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/docs/init.js"),
        *("/docs/swagger_bundle.js", "/docs/swagger_style.css", "/docs/nothing", "/problems"),
        *("/problems/not-found", "/problems/nothing", "/.well-known/jwks.json"),
        *("/.well-known/oauth-authorization-server", "/nowhere", LIST, "/operator/export/claims"),
    )
}
HOSTILE: dict[str, Any] = {
    "deep path": ("GET", filled("/", "a/"), [], b""),
    "escaped path": ("GET", filled("/v2/identity/identities/", "%41"), [], b""),
    "escaped query": ("GET", filled(f"{LIST}?", "%61=&"), [], b""),
    "fields": ("GET", filled(f"{LIST}?%61", "&a"), [], b""),
    "token in the query": ("GET", filled(f"{LIST}?access_token=1", "&a"), [], b""),
    "nearly a token": ("GET", filled(f"{LIST}?%61", "&access_toke"), [], b""),
    "options": ("OPTIONS", LIST, [], b""),
    "headers": ("GET", LIST, [(b"x%d" % number, b"y" * 200) for number in range(62)], b""),
    "repeated": ("GET", LIST, [(b"idempotency-key", b"y" * 200)] * 62, b""),
    "no token": ("GET", LIST, [(b"authorization", b"Bearer " + b"a." * 7000)], b""),
    "deep token": ("GET", LIST, [token(b'{"a":' + b"[" * 5000)], b""),
    "long token": ("GET", LIST, [token(b'{"alg":"Ed25519","typ":"at+jwt"}', b"a" * 5000)], b""),
    "unknown key": ("GET", LIST, [token(b'{"alg":"Ed25519","typ":"at+jwt","kid":"x"}')], b""),
    "no client": ("POST", "/oauth2/token", [FORM], GRANT),
    "unknown client": ("POST", "/oauth2/token", [FORM, basic(b"x:y")], GRANT),
    "escaped form": (
        *("POST", "/oauth2/token", [FORM, basic(b"x:y")]),
        (GRANT + b"&x=" + b"%41" * LARGEST_BODY)[:LARGEST_BODY],
    ),
    "escaped credentials": ("POST", "/oauth2/token", [FORM, basic(b"%41" * 3500 + b":y")], GRANT),
    "body": ("POST", "/rewards/payout-groups", [], b"{" * 1_000_000),
}
ASKED = GETS | HOSTILE


class Served:
    """Yields an application with its own tokens, on an event loop that counts calls."""

    def __init__(self, path: Path, service: comptroller.Service, clock: Any) -> None:
        authority = local_authority(str(path), issuer="http://localhost")
        self._app = app(
            service,
            authenticator=authority.authenticator,
            resources=authority.resources,
            clock=clock,
        )

    def ask(self, method: str, target: str, headers: Any, body: bytes) -> tuple[int, Counter[str]]:
        """Returns the status of a response, and the calls on the event loop's thread by name."""
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(b"host", b"localhost"), *headers, (b"content-length", b"%d" % len(body))],
        }
        statuses: list[int] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(message: dict[str, Any]) -> None:
            statuses.append(message.get("status", 0))

        calls: Counter[str] = Counter()

        def count(_frame: Any, event: str, called: Any) -> None:
            if event == "call":
                calls[_frame.f_code.co_qualname] += 1
            elif event == "c_call":
                calls[called.__qualname__] += 1

        async def asked() -> None:
            sys.setprofile(count)
            try:
                await self._app(scope, receive, send)
            finally:
                sys.setprofile(None)

        asyncio.run(asked())
        return statuses[0], calls


def read_bytes() -> int:
    """Returns the bytes that this process has read from files."""
    try:
        text = Path("/proc/self/io").read_text()
    except FileNotFoundError:
        pytest.skip("this system does not count what a process reads")
    return int(dict(line.split(": ") for line in text.splitlines())["rchar"])


@pytest.fixture
def served(store_path: Path, operator: comptroller.Service) -> Served:
    return Served(store_path, operator, itertools.count().__next__)


@pytest.mark.parametrize("name", ASKED)
def test_an_anonymous_request_blocks_the_event_loop_only_briefly(served: Served, name: str) -> None:
    served.ask(*ASKED[name])  # some is made once
    status, calls = served.ask(*ASKED[name])
    assert status
    assert calls.total() < MOST_CALLS, calls.most_common(5)


def test_readiness_reads_one_row_for_any_number_of_customers(
    served: Served, store_path: Path, open_as: Callable[..., comptroller.Service]
) -> None:
    load(open_as(), "claims", *(claim(customer_id=f"c-{number}") for number in range(5000)))
    before = read_bytes()
    status, _ = served.ask("GET", "/readyz", [], b"")
    assert status == 200
    assert read_bytes() - before < 100_000


@pytest.mark.parametrize("path", ["/readyz", "/metrics"])
def test_readiness_and_metrics_are_cached_for_a_second(
    store_path: Path, operator: comptroller.Service, path: str
) -> None:
    now = [0.0]
    served = Served(store_path, operator, lambda: now[0])
    assert served.ask("GET", path, [], b"")[0] == 200
    operator.close()
    now[0] = 0.9
    assert served.ask("GET", path, [], b"")[0] == 200
    now[0] = 1.1
    assert served.ask("GET", path, [], b"")[0] in (500, 503)
