"""Authlib, an independent library, gets tokens and validates them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import comptroller
import pytest

pytest.importorskip("authlib")
pytest.importorskip("httpx2")

from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oauth2.rfc6750 import InsufficientScopeError, InvalidTokenError
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url
from authlib.oauth2.rfc9068 import JWTBearerTokenValidator
from comptroller.routes import TOKEN_PATH
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from token_server import ISSUER, LIST, Known, Served, httpx2

SCOPES = ["rewards:read_claims", "rewards:read_payout_groups"]
METHODS = ["client_secret_basic", "client_secret_post"]

_T = TypeVar("_T")


@pytest.fixture(scope="module")
def served(shared_path: Path, shared_operator: comptroller.Service) -> Served:
    found = Served(shared_path, shared_operator)
    found.clock.now = time.time()  # Authlib uses the clock of the machine.
    return found


@pytest.fixture(scope="module")
def known(served: Served) -> Known:
    return served.register(scopes=SCOPES)


def as_client(served: Served, known: Known, work: Callable[[Any], Awaitable[_T]], **how: Any) -> _T:
    """Runs a function with Authlib's client."""

    async def working() -> _T:
        async with AsyncOAuth2Client(
            known.id,
            known.secret,
            token_endpoint=ISSUER + TOKEN_PATH,
            grant_type="client_credentials",
            transport=httpx2.ASGITransport(served.application),
            base_url=ISSUER,
            **how,
        ) as client:
            return await work(client)

    return asyncio.run(working())


def fetched(served: Served, known: Known, **how: Any) -> dict[str, Any]:
    """Returns the token that Authlib gets."""
    return as_client(served, known, lambda client: client.fetch_token(), **how)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wanted", [None, [], SCOPES[:1], SCOPES], ids=str)
def test_a_token_has_the_requested_scopes(
    served: Served, known: Known, method: str, wanted: list[str] | None
) -> None:
    scope = None if wanted is None else " ".join(wanted)
    token = fetched(served, known, token_endpoint_auth_method=method, scope=scope)
    assert token["token_type"] == "Bearer"
    assert sorted(token["scope"].split()) == (wanted or SCOPES)
    assert not token.is_expired()
    assert token["expires_at"] == pytest.approx(time.time() + 3600, abs=60)


@pytest.mark.parametrize("method", METHODS)
def test_a_request_with_a_token_is_answered(served: Served, known: Known, method: str) -> None:
    async def ask(client: Any) -> tuple[int, int, int]:
        await client.fetch_token(scope=SCOPES[0])
        asked = [await client.get(path) for path in (LIST, "/rewards/payout-groups")]
        # Authlib replaces an expired token during the request.
        client.token["expires_at"] = 0
        asked.append(await client.get(LIST))
        return tuple(answer.status_code for answer in asked)

    how = {"token_endpoint_auth_method": method}
    assert as_client(served, known, ask, **how) == (200, 403, 200)


REFUSED = [
    # credentials, request, error
    ({"secret": "wrong"}, {}, "invalid_client"),
    ({"id": "nobody"}, {}, "invalid_client"),
    ({}, {"scope": "rewards:read_claims operator:read"}, "invalid_scope"),
    ({}, {"scope": "REWARDS:READ_CLAIMS"}, "invalid_scope"),
    ({}, {"grant_type": "password", "username": "a", "password": "b"}, "unsupported_grant_type"),
    ({}, {"grant_type": ""}, "invalid_request"),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("who", "asked", "error"), REFUSED)
def test_an_error_response_is_read_as_its_error(
    served: Served,
    known: Known,
    method: str,
    who: dict[str, str],
    asked: dict[str, str],
    error: str,
) -> None:
    with pytest.raises(OAuthError) as refused:
        as_client(
            served,
            known._replace(**who),
            lambda client: client.fetch_token(**asked),
            token_endpoint_auth_method=method,
        )
    assert refused.value.error == error
    assert refused.value.description


# ---- the metadata and the tokens -----------------------------------------------------------------


@pytest.fixture
def metadata(served: Served) -> AuthorizationServerMetadata:
    found = served.ask("GET", get_well_known_url(ISSUER))
    return AuthorizationServerMetadata(found.json())


def test_the_metadata_is_valid(metadata: AuthorizationServerMetadata) -> None:
    # RFC 8414 requires response_types_supported even without an authorization endpoint, and
    # Authlib requires a value in it.
    assert metadata.pop("response_types_supported") == []
    with pytest.raises(ValueError, match="response_types_supported"):
        metadata.validate()
    AuthorizationServerMetadata(metadata, response_types_supported=["none"]).validate()
    assert metadata.keys() <= set(metadata.REGISTRY_KEYS)
    assert set(METHODS) == set(metadata.token_endpoint_auth_methods_supported)
    assert metadata["token_endpoint"] == ISSUER + TOKEN_PATH


class Resource(JWTBearerTokenValidator):
    """A resource server of Authlib that trusts the keys of the metadata."""

    def __init__(self, served: Served, metadata: AuthorizationServerMetadata, audience: str):
        super().__init__(issuer=ISSUER, resource_server=audience)
        self._keys = KeySet.import_key_set(served.ask("GET", metadata["jwks_uri"]).json())

    def get_jwks(self) -> KeySet:
        return self._keys


@pytest.fixture(autouse=True)
def _taken_algorithms(monkeypatch: pytest.MonkeyPatch) -> None:
    # Authlib accepts joserfc's recommended algorithms, which lack that of RFC 9864.
    monkeypatch.setattr(JWSRegistry, "recommended", ["Ed25519"])


def test_a_token_is_valid(
    served: Served, known: Known, metadata: AuthorizationServerMetadata
) -> None:
    resource = Resource(served, metadata, ISSUER)
    claims = resource.authenticate_token(fetched(served, known)["access_token"])
    assert claims.header["typ"] == "at+jwt"
    assert claims["client_id"] == claims["sub"] == known.id
    resource.validate_token(claims, ["rewards:read_claims"], None)
    resource.validate_token(claims, [" ".join(SCOPES)], None)
    with pytest.raises(InsufficientScopeError):
        resource.validate_token(claims, ["operator:read"], None)


def test_a_token_is_rejected_by_another_resource_server(
    served: Served, known: Known, metadata: AuthorizationServerMetadata
) -> None:
    token = fetched(served, known)["access_token"]
    elsewhere = Resource(served, metadata, "https://elsewhere.example")
    claims = elsewhere.authenticate_token(token)
    with pytest.raises(InvalidTokenError):
        elsewhere.validate_token(claims, None, None)
    head, payload, signature = token.split(".")
    changed = ("B" if signature[0] == "A" else "A") + signature[1:]
    with pytest.raises(InvalidTokenError):
        elsewhere.authenticate_token(f"{head}.{payload}.{changed}")
