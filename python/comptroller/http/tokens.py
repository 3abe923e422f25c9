"""Access tokens as RFC 9068 has them: what one must say to be taken, and whom it names."""

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
from comptroller.errors import Error, invalid
from comptroller.http.callers import Caller

Key = OKPKey | ECKey | RSAKey

#: Those with a public and a private key; what a shared secret or nobody signed is never taken.
ALGORITHMS = frozenset(
    {"Ed25519", "Ed448", "ES256", "ES384", "ES512", "RS256", "RS384", "RS512"}
    | {"PS256", "PS384", "PS512"}
)
_TYPES = ("at+jwt", "application/at+jwt")
_LONGEST_TOKEN = 8 << 10  # bytes
_MOST_REMEMBERED = 4096
_LONGEST_LEEWAY_S = 60


class Rejected(Exception):
    """A token that is not taken; says why in ASCII, and nothing of what the token says."""


class Terms(msgspec.Struct, frozen=True):
    """What a token must say, by configuration alone. Raises InvalidRequest for what cannot be."""

    issuer: str
    audience: str
    algorithms: frozenset[str]
    leeway_s: float = 10
    customer_claim: str = "customer"
    operator_claim: str = "operator"

    def __post_init__(self) -> None:
        for name in ("issuer", "audience", "customer_claim", "operator_claim"):
            if not getattr(self, name):
                raise invalid(name, "must not be empty")
        if not self.algorithms or not self.algorithms <= ALGORITHMS:
            raise invalid("algorithms", f"must be some of {', '.join(sorted(ALGORITHMS))}")
        if not 0 <= self.leeway_s <= _LONGEST_LEEWAY_S:
            raise invalid("leeway_s", f"must be 0 to {_LONGEST_LEEWAY_S} seconds")


class Trust(Protocol):
    """Whose signatures are trusted."""

    async def mark(self) -> object:
        """Something that differs when a token that was taken must be looked at again."""

    async def key(self, kid: str) -> Key | None:
        """The public key of this id."""

    async def admits(self, client_id: str, customer: str | None) -> bool:
        """Whether this client of a customer, or of the operator, may still come."""


class Claims(msgspec.Struct, frozen=True):
    """What every token says, RFC 9068 section 2.2."""

    iss: str
    aud: str | list[str]
    exp: float
    sub: str
    client_id: str | None = None
    nbf: float | None = None
    iat: float | None = None
    scope: str = ""
    scp: str | list[str] = ""

    def scopes(self) -> list[str]:
        """The scopes, in `scope` or, as some issuers have it, in `scp`."""
        given = self.scope or self.scp
        return given.split() if isinstance(given, str) else given


class Taken(NamedTuple):
    """A token that was taken: for whose, by which state of keys and clients, and until when."""

    caller: Caller
    mark: object
    until: float


class Verifier:
    """Takes tokens for callers. The last 4096 that were taken are remembered until they expire."""

    def __init__(self, terms: Terms, trust: Trust, clock: Callable[[], float]) -> None:
        self._terms = terms
        self._trust = trust
        self._clock = clock
        self._registry = jws.JWSRegistry(
            algorithms=sorted(terms.algorithms), strict_check_header=False
        )
        self._taken: OrderedDict[bytes, Taken] = OrderedDict()

    async def mark(self) -> object:
        """See :class:`Trust`."""
        return await self._trust.mark()

    async def taken(self, token: bytes) -> Taken:
        """Whom the token names.

        Raises Rejected for a token that is not to be taken, Unavailable where that cannot be known.
        """
        mark = await self._trust.mark()
        digest = blake2b(token, digest_size=32).digest()
        known = self._taken.get(digest)
        if known is not None and known.mark == mark and self._clock() < known.until:
            self._taken.move_to_end(digest)
            return known
        caller, until = await self._looked_at(token)
        taken = self._taken[digest] = Taken(caller, mark, until)
        if len(self._taken) > _MOST_REMEMBERED:
            self._taken.popitem(last=False)
        return taken

    async def _looked_at(self, token: bytes) -> tuple[Caller, float]:
        if len(token) > _LONGEST_TOKEN:
            raise Rejected("the token is too long")
        payload = await self._signed(token)
        try:
            members: dict[str, Any] = msgspec.json.decode(payload, type=dict[str, Any])
            claims = msgspec.convert(members, Claims)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise Rejected("the claims of the token are malformed") from None
        self._check(claims)
        return await self._caller(claims, members), claims.exp

    async def _signed(self, token: bytes) -> bytes:
        """The payload, once its signature was verified."""
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
        """The id of the key that a header names, once the rest of it was looked at."""
        # A key that the header brings along or points to (jwk, jku, x5c, x5u) is not looked at.
        if not isinstance(header, dict) or "crit" in header:
            raise Rejected("the header of the token is not understood")
        algorithm, kid, type = (header.get(name) for name in ("alg", "kid", "typ"))
        if not isinstance(algorithm, str) or algorithm not in self._terms.algorithms:
            raise Rejected("the algorithm of the token is not accepted")
        if not isinstance(type, str) or type.lower() not in _TYPES:
            raise Rejected("the token is not of type at+jwt")
        if not isinstance(kid, str):
            raise Rejected("the token does not say which key signed it")
        return kid

    def _check(self, claims: Claims) -> None:
        now, leeway_s = self._clock(), self._terms.leeway_s
        audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
        if claims.iss != self._terms.issuer:
            raise Rejected("the token is of another issuer")
        if self._terms.audience not in audiences:
            raise Rejected("the token is for another audience")
        if now >= claims.exp + leeway_s:
            raise Rejected("the token has expired")
        if now + leeway_s < max(claims.nbf or 0, claims.iat or 0):
            raise Rejected("the token is not valid yet")

    async def _caller(self, claims: Claims, members: dict[str, Any]) -> Caller:
        customer = members.get(self._terms.customer_claim)
        is_operator = members.get(self._terms.operator_claim) is True
        if is_operator == (customer is not None) or not isinstance(customer, str | None):
            raise Rejected("the token must name either a customer or the operator")
        client_id = claims.client_id or claims.sub
        if not await self._trust.admits(client_id, customer):
            raise Rejected("the client of the token is revoked")
        try:
            known = Principal(customer, client_id).scopes
            scopes = [scope for scope in known if scope in claims.scopes()]
            return Caller(Principal(customer, client_id, scopes), client_id)
        except Error:
            raise Rejected("the token names a client or customer that cannot be") from None
