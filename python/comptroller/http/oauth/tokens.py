"""Verification of JWT access tokens (RFC 9068)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

import msgspec
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from comptroller._core import Principal
from comptroller.decoding import NOT_JSON
from comptroller.description import core_description
from comptroller.errors import Error, invalid
from comptroller.http.authentication import Caller

Key = OKPKey | ECKey | RSAKey

#: The asymmetric algorithms; HMAC and "none" are never accepted.
ALGORITHMS = frozenset(
    {"Ed25519", "EdDSA", "Ed448", "ES256", "ES384", "ES512", "RS256", "RS384", "RS512"}
    | {"PS256", "PS384", "PS512"}
)
_ED25519, _EDDSA = "Ed25519", "EdDSA"
_TYPES = ("at+jwt", "application/at+jwt")
# The value of the claim `typ` by which some issuers mark access tokens, unlike ID tokens.
_BEARER = "bearer"
_LONGEST_TOKEN = 8 << 10  # bytes
_MAX_CACHED = 4096
_LONGEST_LEEWAY_S = 60


class Rejected(Exception):
    """A token is rejected; the message is ASCII and quotes nothing of the token."""


class Terms(msgspec.Struct, frozen=True):
    """The configured requirements for tokens. Raises InvalidRequest for invalid values."""

    issuer: str
    audience: str
    algorithms: frozenset[str]
    leeway_s: float = 10
    customer_claim: str = "customer"
    operator_claim: str = "operator"
    scope_claim: str | None = None
    requires_type: bool = True

    def __post_init__(self) -> None:
        for name in ("issuer", "audience", "customer_claim", "operator_claim", "scope_claim"):
            if getattr(self, name) == "":
                raise invalid(name, "must not be empty")
        if not self.algorithms or not self.algorithms <= ALGORITHMS:
            raise invalid("algorithms", f"must be some of {', '.join(sorted(ALGORITHMS))}")
        if not 0 <= self.leeway_s <= _LONGEST_LEEWAY_S:
            raise invalid("leeway_s", f"must be 0 to {_LONGEST_LEEWAY_S} seconds")


class Trust(Protocol):
    """The trusted keys and clients."""

    async def generation(self) -> object:
        """Returns a value that changes when cached tokens must be verified again."""

    async def key(self, kid: str) -> Key | None:
        """Returns the public key with this id."""

    async def admits(self, client_id: str, customer: str | None) -> bool:
        """Whether this client of a customer, or of the operator, is not revoked."""


_Scopes = str | list[str] | None


class Claims(msgspec.Struct, frozen=True):
    """The claims of a token (RFC 9068 section 2.2), and those that issuers use in their place."""

    iss: str
    aud: str | list[str]
    exp: float
    sub: str | None = None
    client_id: str | None = None
    azp: str | None = None
    appid: str | None = None
    nbf: float | None = None
    iat: float | None = None
    scope: _Scopes = None
    scp: _Scopes = None
    typ: str | None = None

    def client(self) -> str:
        """Returns the id of the client; raises Rejected if there is none."""
        client_id = self.client_id or self.azp or self.appid or self.sub
        if not client_id:
            raise Rejected("the token names no client")
        return client_id


class Verified(NamedTuple):
    """A verified token: its caller, the generation of the trust, and its expiry in seconds."""

    caller: Caller
    generation: object
    until: float


class _Registry(jws.JWSRegistry):
    """Algorithms of which Ed25519 also has the name EdDSA, which here never means Ed448."""

    def get_alg(self, name: str) -> Any:
        """Returns the algorithm of a name."""
        return super().get_alg(_ED25519 if name == _EDDSA else name)


class Verifier:
    """Verifies tokens, and caches the last 4096 verified tokens by digest until they expire."""

    def __init__(self, terms: Terms, trust: Trust, clock: Callable[[], float]) -> None:
        self._terms = terms
        self._trust = trust
        self.clock = clock
        names = {_ED25519 if name == _EDDSA else name for name in terms.algorithms}
        self._registry = _Registry(algorithms=sorted(names), strict_check_header=False)
        self._verified: OrderedDict[bytes, Verified] = OrderedDict()

    async def generation(self) -> object:
        """See :class:`Trust`."""
        return await self._trust.generation()

    async def verify(self, token: bytes) -> Verified:
        """Verifies a token, unless it is cached.

        Raises Rejected for an invalid token, Unavailable if the keys or clients are unavailable.
        """
        generation = await self._trust.generation()
        digest = _digest(token)
        known = self._verified.get(digest)
        if known is not None and known.generation == generation and self.clock() < known.until:
            self._verified.move_to_end(digest)
            return known
        caller, until = await self._check_all(token)
        verified = self._verified[digest] = Verified(caller, generation, until)
        if len(self._verified) > _MAX_CACHED:
            self._verified.popitem(last=False)
        return verified

    def last_caller(self, token: bytes) -> Caller | None:
        """Returns the caller of a cached token, even if the token is not valid any more."""
        known = self._verified.get(_digest(token))
        return None if known is None else known.caller

    async def _check_all(self, token: bytes) -> tuple[Caller, float]:
        if len(token) > _LONGEST_TOKEN:
            raise Rejected("the token is too long")
        payload = await self._payload(token)
        try:
            members: dict[str, Any] = msgspec.json.decode(payload, type=dict[str, Any])
            claims = msgspec.convert(members, Claims)
        except NOT_JSON:
            raise Rejected("the claims of the token are malformed") from None
        self._check_claims(claims)
        scopes = self._scopes(claims, members)
        return await self._caller(claims, members, scopes), claims.exp

    async def _payload(self, token: bytes) -> bytes:
        """Verifies the signature; returns the payload."""
        try:
            signature = jws.extract_compact(token, registry=self._registry)
        except (JoseError, ValueError, RecursionError):
            raise Rejected("the token is malformed") from None
        key = await self._trust.key(self._kid(signature.headers()))
        if key is None:
            raise Rejected("the token is signed with an unknown key")
        try:
            is_valid = jws.validate_compact(signature, key, registry=self._registry)
        except (JoseError, ValueError):
            is_valid = False
        if not is_valid:
            raise Rejected("the signature of the token is wrong")
        assert signature.payload is not None
        return signature.payload

    def _kid(self, header: Any) -> str:
        """Checks a header; returns the id of its key."""
        # Keys in the header, or URLs of keys (jwk, jku, x5c, x5u), are ignored.
        if not isinstance(header, dict) or "crit" in header:
            raise Rejected("the header of the token is not understood")
        algorithm, kid, type = (header.get(name) for name in ("alg", "kid", "typ"))
        if not isinstance(algorithm, str) or algorithm not in self._terms.algorithms:
            raise Rejected("the algorithm of the token is not accepted")
        is_typed = isinstance(type, str) and type.lower() in _TYPES
        if self._terms.requires_type and not is_typed:
            raise Rejected("the token is not of type at+jwt")
        if not isinstance(kid, str):
            raise Rejected("the token does not say which key signed it")
        return kid

    def _scopes(self, claims: Claims, members: dict[str, Any]) -> list[str]:
        """Returns the scopes of the configured claim, or of `scope`, or of `scp`."""
        given = claims.scope or claims.scp
        if self._terms.scope_claim is not None:
            try:
                given = msgspec.convert(members.get(self._terms.scope_claim), _Scopes)
            except msgspec.ValidationError:
                raise Rejected("the claims of the token are malformed") from None
        return given.split() if isinstance(given, str) else given or []

    def _check_claims(self, claims: Claims) -> None:
        now, leeway_s = self.clock(), self._terms.leeway_s
        audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
        if claims.iss != self._terms.issuer:
            raise Rejected("the token is of another issuer")
        if self._terms.audience not in audiences:
            raise Rejected("the token is for another audience")
        if claims.typ is not None and claims.typ.lower() != _BEARER:
            raise Rejected("the token is not an access token")
        if now >= claims.exp + leeway_s:
            raise Rejected("the token has expired")
        if now + leeway_s < max(claims.nbf or 0, claims.iat or 0):
            raise Rejected("the token is not valid yet")

    async def _caller(self, claims: Claims, members: dict[str, Any], scopes: list[str]) -> Caller:
        customer = members.get(self._terms.customer_claim)
        is_operator = members.get(self._terms.operator_claim) is True
        if is_operator == (customer is not None) or not isinstance(customer, str | None):
            raise Rejected("the token must name either a customer or the operator")
        client_id = claims.client()
        if not await self._trust.admits(client_id, customer):
            raise Rejected("the client of the token is revoked")
        try:
            known = core_description()["scopes"]
            granted = [
                scope
                for scope in known
                if scope in scopes and scope.startswith("operator:") == is_operator
            ]
            return Caller(Principal(customer, client_id, granted), client_id)
        except Error:
            raise Rejected("the token names an invalid client or customer") from None


def _digest(token: bytes) -> bytes:
    return blake2b(token, digest_size=32).digest()
