"""Requirements of tokens: lifetime, audience, issuer, and the cache of verified tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import comptroller
import pytest
from comptroller.http.oauth.authority import local_authority
from comptroller.http.oauth.tokens import Terms, Verifier
from joserfc import jwt
from joserfc.jwk import OKPKey
from token_server import ISSUER, Clock, Served


def test_a_verified_token_expires(
    open_as: Callable[..., comptroller.Service], store_path: Path
) -> None:
    served = Served(store_path, open_as())
    token = served.token(served.register())
    for seconds, status in ((0, 200), (3599, 200), (1, 200), (9, 200), (1, 401)):
        served.clock.go(seconds)
        assert served.show(token).status_code == status, seconds
    assert "the token has expired" in served.show(token).headers["www-authenticate"]


@pytest.mark.parametrize("leeway_s", [-1, 61])
def test_a_leeway_has_its_bounds(served: Served, leeway_s: float) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="leeway_s"):
        local_authority(str(served.store), issuer=ISSUER, leeway_s=leeway_s)


@pytest.mark.parametrize(
    "issuer",
    [
        *("", "books", "ftp://books", "https://", "https://a?b", "https://a#b", "https://u:p@a"),
        *(
            "http://books.example",
            "http://127.0.0.1.example",
            "https://[",
            "https://a?",
            "https://a#",
        ),
    ],
)
def test_an_issuer_is_a_url(served: Served, issuer: str) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="issuer"):
        local_authority(str(served.store), issuer=issuer)


def test_a_token_is_valid_for_one_audience(
    open_as: Callable[..., comptroller.Service], store_path: Path
) -> None:
    service = open_as()
    one = Served(store_path, service)
    token = one.token(one.register())
    other = Served(store_path, service, audience="urn:another")
    challenge = other.show(token).headers["www-authenticate"]
    assert "the token is for another audience" in challenge


@pytest.mark.parametrize("issuer", ["http://127.0.0.1:8080", "http://[::1]", "https://a/books"])
def test_an_issuer_may_have_a_path_and_be_local(served: Served, issuer: str) -> None:
    local_authority(str(served.store), issuer=issuer)


class Trusting:
    """Trusts one key and every client, and counts the verified signatures."""

    def __init__(self, key: OKPKey) -> None:
        self.looked = 0
        self._key = key

    async def generation(self) -> object:
        return None

    async def key(self, kid: str) -> OKPKey:
        self.looked += 1
        return self._key

    async def admits(self, client_id: str, customer: str | None) -> bool:
        return True


def test_the_most_recent_tokens_are_cached() -> None:
    clock, key = Clock(), OKPKey.generate_key("Ed25519")
    trust = Trusting(key)
    verifier = Verifier(Terms("i", "a", frozenset({"Ed25519"})), trust, clock)
    header = {"alg": "Ed25519", "typ": "at+jwt", "kid": "k"}
    claims = {"iss": "i", "aud": "a", "exp": clock() + 60, "sub": "s", "customer": "acme"}

    def token(number: int) -> bytes:
        payload = {**claims, "jti": str(number)}
        return jwt.encode(header, payload, key, algorithms=["Ed25519"]).encode()

    async def show(*numbers: int) -> int:
        """Returns how many of these tokens were verified."""
        before = trust.looked
        for number in numbers:
            assert (await verifier.verify(token(number))).caller.customer == "acme"
        return trust.looked - before

    async def showing() -> None:
        assert await show(*range(4096)) == 4096
        assert await show(0, 4095) == 0
        assert await show(4096) == 1
        assert await show(0, 2, 4096) == 0
        assert await show(1) == 1

    asyncio.run(showing())
