"""Configuration of accepted tokens: those of this server, or those of another issuer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, cast

import msgspec

from comptroller.description import core_description
from comptroller.errors import invalid
from comptroller.http.app import Resources
from comptroller.http.exchange import Exchange
from comptroller.http.oauth import clients, keys
from comptroller.http.oauth.bearer import Bearer
from comptroller.http.oauth.clients import Clients
from comptroller.http.oauth.keys import ALGORITHM, Keys
from comptroller.http.oauth.rate import Rate
from comptroller.http.oauth.stored_documents import SecretDocument
from comptroller.http.oauth.token_endpoint import TokenEndpoint
from comptroller.http.oauth.tokens import Key, Terms, Verifier
from comptroller.http.oauth.watched import Watched
from comptroller.journal.shared_keys import share_keys
from comptroller.local import LocalHost
from comptroller.loopback import is_private
from comptroller.routes import TOKEN_PATH
from comptroller.service import Service

JWKS_PATH = "/.well-known/jwks.json"
METADATA_PATH = "/.well-known/oauth-authorization-server"

#: The default signature algorithms of another issuer.
EXTERNAL_ALGORITHMS = ("Ed25519", "ES256", "RS256", "PS256")
# The name of RFC 9864, and that of RFC 8037.
_ED25519 = frozenset({"Ed25519", "EdDSA"})
_JSON = b"application/json"


class Authority(NamedTuple):
    """The authentication of an application.

    Attributes:
        authenticator: authenticates the caller of a request.
        resources: public resources, such as the token endpoint.
        reload: starts to reload the keys and clients.
    """

    authenticator: Bearer
    resources: Resources
    reload: Callable[[], None]


def local_authority(
    store: str | Service,
    *,
    issuer: str,
    audience: str | None = None,
    rate: float | None = None,
    leeway_s: float = 10,
    clock: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
) -> Authority:
    """Issues tokens to the clients of a store, and accepts only these tokens.

    Args:
        store: the path of the store; the files of keys and clients are beside it. Or a service
            that :func:`comptroller.open` opened as its operator; the keys and clients of a database
            are in it, and its state folder has the key that encrypts the keys.
        issuer: the public URL of the application, with the path where it is mounted.
        audience: the audience of the tokens; by default the issuer.
        rate: the limit of requests per second for each client; by default none.
        leeway_s: the tolerated difference of clocks in seconds.
        clock: returns seconds since 1970; only for the times in tokens and files.
        monotonic: returns seconds that never go back, for ages and rates.

    Raises:
        Unusable: the file of keys or clients cannot be used, or the state folder has other keys
            than the database. A missing key file is created.
        InvalidRequest: the issuer, audience, rate or leeway is invalid; nothing is then stored.
    """
    _require_url(issuer)
    terms = Terms(issuer, audience or issuer, frozenset({ALGORITHM}), leeway_s)
    limit = _rate(rate, monotonic)
    key_file, client_file = _secrets_of(store)
    if isinstance(store, Service):
        _share_keys(store, key_file)
    keys.open_or_make(key_file)
    watched_keys = Watched(key_file, keys.read, monotonic)
    watched_clients: Watched[Clients] = Watched(client_file, clients.read, monotonic)
    trust = _Local(watched_keys, watched_clients, clock)
    endpoint = TokenEndpoint(issuer, terms.audience, watched_keys, watched_clients, clock)
    metadata = _metadata(issuer)

    async def show_metadata(exchange: Exchange) -> None:
        await exchange.answer(200, _JSON, metadata)

    async def show_keys(exchange: Exchange) -> None:
        await exchange.answer(200, _JSON, (await watched_keys.current()).public_jwks(clock()))

    def reload() -> None:
        watched_keys.reload()
        watched_clients.reload()

    return Authority(
        Bearer(Verifier(terms, trust, clock), limit),
        {
            TOKEN_PATH: {"POST": endpoint.answer},
            METADATA_PATH: {"GET": show_metadata},
            JWKS_PATH: {"GET": show_keys},
        },
        reload,
    )


def _secrets_of(store: str | Service) -> tuple[SecretDocument, SecretDocument]:
    """Returns the keys and the clients of a store."""
    if isinstance(store, str):
        return keys.file_of(store), clients.file_of(store)
    host = store.host
    if not isinstance(host, LocalHost) or host.principal.customer is not None:
        raise invalid("store", "must be a local store that was opened as its operator")
    if host.is_database:
        return keys.shared_of(host), clients.shared_of(host)
    if host.path is None:
        raise invalid("store", "a store in memory has no keys and clients; name a file")
    return keys.file_of(host.path), clients.file_of(host.path)


def _share_keys(service: Service, key_file: SecretDocument) -> None:
    """Registers the keys of the state folder before it encrypts the signing keys of a database.

    Otherwise a wrong folder could encrypt them with a key that the other servers lack.
    """
    host = cast("LocalHost", service.host)  # see _secrets_of
    if host.is_read_only:
        return
    key_file.read()  # or raises: a folder that did not encrypt the existing keys registers none
    share_keys(host)


def external_authority(
    *,
    issuer: str,
    audience: str,
    jwks: str,
    algorithms: Iterable[str] = EXTERNAL_ALGORITHMS,
    customer_claim: str = "customer",
    operator_claim: str = "operator",
    scope_claim: str | None = None,
    token_type: Literal["at+jwt", "any"] = "at+jwt",
    rate: float | None = None,
    leeway_s: float = 10,
    clock: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
) -> Authority:
    """Accepts the tokens of another issuer; has no resources.

    The keys of a URL are fetched for the first token; a key file is read immediately.

    Args:
        issuer: the claim `iss` of the tokens.
        audience: the claim `aud` of the tokens, or one of its values.
        jwks: the URL or the file of the issuer's public keys.
        algorithms: the accepted signature algorithms; `EdDSA` and `Ed25519` are the same.
        customer_claim: the claim that names the customer of a client.
        operator_claim: the claim that is true in tokens of the operator.
        scope_claim: the claim with the scopes, a text or a list; by default `scope`, else `scp`.
        token_type: `at+jwt` accepts only tokens with this `typ` in their header (RFC 9068); `any`
            accepts tokens with another `typ`, or none.
        rate: as for `local_authority`, as are `leeway_s`, `clock` and `monotonic`.

    Raises:
        InvalidRequest: an argument is invalid.
        Unusable: the key file cannot be used.
    """
    from comptroller.http.oauth.jwks import PublishedKeys

    if token_type not in ("at+jwt", "any"):
        raise invalid("token_type", "must be at+jwt or any")
    accepted = frozenset(algorithms)
    if accepted & _ED25519:
        accepted |= _ED25519
    terms = Terms(
        issuer,
        audience,
        accepted,
        leeway_s,
        customer_claim,
        operator_claim,
        scope_claim,
        requires_type=token_type == "at+jwt",
    )
    published = PublishedKeys(jwks, monotonic)
    verifier = Verifier(terms, published, clock)
    return Authority(Bearer(verifier, _rate(rate, monotonic)), {}, published.reload)


class _Local:
    """Trusts the keys and clients stored beside the store."""

    def __init__(
        self, keys: Watched[Keys], clients: Watched[Clients], clock: Callable[[], float]
    ) -> None:
        self._keys = keys
        self._clients = clients
        self._clock = clock

    async def generation(self) -> object:
        return await self._keys.current(), await self._clients.current()

    # `fresh`, because another server of the store may already use a key or client added just now.

    async def key(self, kid: str) -> Key | None:
        now = self._clock()
        key = (await self._keys.current()).find(kid, now)
        return key or (await self._keys.fresh()).find(kid, now)

    async def admits(self, client_id: str, customer: str | None) -> bool:
        client = (await self._clients.current()).get(client_id)
        client = client or (await self._clients.fresh()).get(client_id)
        return client is not None and client.revoked_at is None and client.customer == customer


def _rate(per_second: float | None, monotonic: Callable[[], float]) -> Rate | None:
    return None if per_second is None else Rate(per_second, monotonic)


def _require_url(issuer: str) -> None:
    if not is_private(issuer) or "?" in issuer or "#" in issuer:
        raise invalid(
            "issuer",
            "must be an https URL (http only on this machine) without credentials, query and "
            "fragment",
        )


def _metadata(issuer: str) -> bytes:
    """Returns the authorization server metadata (RFC 8414 section 2)."""
    base = issuer.rstrip("/")
    return msgspec.json.encode(
        {
            "issuer": issuer,
            "token_endpoint": base + TOKEN_PATH,
            "jwks_uri": base + JWKS_PATH,
            "scopes_supported": list(core_description()["scopes"]),
            "response_types_supported": [],
            "grant_types_supported": ["client_credentials"],
            "token_endpoint_auth_methods_supported": [
                "client_secret_basic",
                "client_secret_post",
            ],
        }
    )
