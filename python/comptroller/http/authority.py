"""Which tokens are accepted: those that this server issues, or those of another issuer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from comptroller.description import described
from comptroller.errors import invalid
from comptroller.http import clients, keys
from comptroller.http.app import Resources
from comptroller.http.bearer import Bearer
from comptroller.http.clients import Clients
from comptroller.http.exchange import Exchange
from comptroller.http.keys import ALGORITHM, Keys
from comptroller.http.rate import Rate
from comptroller.http.secret_file import Watched
from comptroller.http.token_endpoint import TokenEndpoint
from comptroller.http.tokens import Key, Terms, Verifier
from comptroller.loopback import is_private
from comptroller.routes import TOKEN_PATH

JWKS_PATH = "/.well-known/jwks.json"
METADATA_PATH = "/.well-known/oauth-authorization-server"

#: What other issuers usually sign with.
ELSEWHERE_ALGORITHMS = ("Ed25519", "ES256", "RS256", "PS256")
_JSON = b"application/json"


class Authority(NamedTuple):
    """What an application needs to know its callers.

    Attributes:
        authenticator: finds the caller of a request.
        resources: for anybody.
        reload: begins to read keys and clients again.
    """

    authenticator: Bearer
    resources: Resources
    reload: Callable[[], None]


def local_authority(
    store: str,
    *,
    issuer: str,
    audience: str | None = None,
    rate: float | None = None,
    leeway_s: float = 10,
    clock: Callable[[], float] = time.time,
) -> Authority:
    """Issues tokens to the clients of a store, and takes those alone.

    Args:
        store: the store's file; keys and clients are in files beside it.
        issuer: the URL that the application is reached at, with the path where it is mounted.
        audience: whom tokens are for; the issuer when left out.
        rate: requests per second of each client; any number when left out.
        leeway_s: how far the clocks of two machines may differ.
        clock: seconds since 1970.

    Raises:
        Unusable: the keys or the clients cannot be used; without keys they are made.
        InvalidRequest: an issuer, audience, rate or leeway that cannot be.
    """
    _require_url(issuer)
    key_file = keys.file_of(store)
    keys.open_or_make(key_file)
    watched_keys = Watched(key_file, keys.read, clock)
    watched_clients: Watched[Clients] = Watched(clients.file_of(store), clients.read, clock)
    terms = Terms(issuer, audience or issuer, frozenset({ALGORITHM}), leeway_s)
    trust = _Local(watched_keys, watched_clients, clock)
    endpoint = TokenEndpoint(issuer, terms.audience, watched_keys, watched_clients, clock)
    metadata = _metadata(issuer)

    async def show_metadata(exchange: Exchange) -> None:
        await exchange.answer(200, _JSON, metadata)

    async def show_keys(exchange: Exchange) -> None:
        await exchange.answer(200, _JSON, (await watched_keys.current()).published(clock()))

    def reload() -> None:
        watched_keys.reload()
        watched_clients.reload()

    return Authority(
        Bearer(Verifier(terms, trust, clock), _rate(rate, clock)),
        {
            TOKEN_PATH: {"POST": endpoint.answer},
            METADATA_PATH: {"GET": show_metadata},
            JWKS_PATH: {"GET": show_keys},
        },
        reload,
    )


def external_authority(
    *,
    issuer: str,
    audience: str,
    jwks: str,
    algorithms: Iterable[str] = ELSEWHERE_ALGORITHMS,
    customer_claim: str = "customer",
    operator_claim: str = "operator",
    rate: float | None = None,
    leeway_s: float = 10,
    clock: Callable[[], float] = time.time,
) -> Authority:
    """Takes the tokens of another issuer; has no resources.

    Args:
        issuer: what its tokens say as `iss`.
        audience: what they say as `aud`, or among it.
        jwks: the URL or the file of its public keys.
        algorithms: those that it signs with.
        customer_claim: the claim that names the customer of a client.
        operator_claim: the claim that is true in tokens of the operator.
        rate: as for `local_authority`, as are `leeway_s` and `clock`.

    The keys of a URL are fetched when the first token comes; a file is read here.

    Raises:
        InvalidRequest: for what cannot be.
        Unusable: the file of the keys cannot be used.
    """
    from comptroller.http.jwks import PublishedKeys

    terms = Terms(issuer, audience, frozenset(algorithms), leeway_s, customer_claim, operator_claim)
    published = PublishedKeys(jwks, clock)
    verifier = Verifier(terms, published, clock)
    return Authority(Bearer(verifier, _rate(rate, clock)), {}, published.reload)


class _Local:
    """Trusts the keys and the clients beside the store."""

    def __init__(
        self, keys: Watched[Keys], clients: Watched[Clients], clock: Callable[[], float]
    ) -> None:
        self._keys = keys
        self._clients = clients
        self._clock = clock

    async def mark(self) -> object:
        return await self._keys.current(), await self._clients.current()

    # Another server of the store may know already what came a moment ago.

    async def key(self, kid: str) -> Key | None:
        now = self._clock()
        key = (await self._keys.current()).find(kid, now)
        return key or (await self._keys.fresh()).find(kid, now)

    async def admits(self, client_id: str, customer: str | None) -> bool:
        client = (await self._clients.current()).get(client_id)
        client = client or (await self._clients.fresh()).get(client_id)
        return client is not None and client.revoked_at is None and client.customer == customer


def _rate(per_second: float | None, clock: Callable[[], float]) -> Rate | None:
    return None if per_second is None else Rate(per_second, clock)


def _require_url(issuer: str) -> None:
    if not is_private(issuer) or "?" in issuer or "#" in issuer:
        raise invalid(
            "issuer",
            "must be an https URL (http for this machine alone) without credentials, query and "
            "fragment",
        )


def _metadata(issuer: str) -> bytes:
    """What RFC 8414 section 2 tells of an authorization server."""
    base = issuer.rstrip("/")
    return msgspec.json.encode(
        {
            "issuer": issuer,
            "token_endpoint": base + TOKEN_PATH,
            "jwks_uri": base + JWKS_PATH,
            "scopes_supported": list(described()["scopes"]),
            "response_types_supported": [],
            "grant_types_supported": ["client_credentials"],
            "token_endpoint_auth_methods_supported": [
                "client_secret_basic",
                "client_secret_post",
            ],
        }
    )
