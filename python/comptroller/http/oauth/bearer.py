"""Authentication by bearer tokens (RFC 6750)."""

from __future__ import annotations

import re
from collections.abc import Callable

from comptroller.errors import Error, invalid
from comptroller.http.authentication import Caller
from comptroller.http.exchange import RATED, Exchange
from comptroller.http.oauth.rate import Rate
from comptroller.http.oauth.tokens import Rejected, Verified, Verifier
from comptroller.http.problems import Refusal, problem

_SCHEME = b"bearer"
# The field access_token of a query string; any letter may be percent-encoded.
_TOKEN_FIELD = re.compile(
    b"(?:^|&)%b(?:[=&]|$)"
    % b"".join(b"(?:%c|(?i:%%%X))" % (letter, letter) for letter in b"access_token")
)
_CREDENTIALS = re.compile(rb"[A-Za-z]+ +([A-Za-z0-9._~+/-]+=*)")  # RFC 6750 section 2.1


class Bearer:
    """An authenticator that accepts only a valid token in the Authorization header.

    Attributes:
        on_verified: called with every accepted token.
    """

    def __init__(self, verifier: Verifier, rate: Rate | None = None) -> None:
        self.verifier = verifier
        self.rate = rate
        self.on_verified: Callable[[bytes, Verified], None] = lambda token, verified: None

    async def caller(self, exchange: Exchange) -> Caller:
        """Returns the caller of the token. Raises Refusal for a bad token or above the rate."""
        token = _token(exchange)
        try:
            verified = await self.verifier.verify(token)
        except Rejected as rejected:
            raise _refusal(
                problem("unauthenticated", str(rejected)),
                f'Bearer error="invalid_token", error_description="{rejected}"',
            ) from None
        caller = verified.caller
        rate = None if RATED in exchange.scope else self.rate
        wait_s = rate.wait_s(caller.client_id) if rate else 0
        if wait_s:
            exchange.client_id, exchange.customer = caller.client_id, caller.customer
            error = problem("rate-limited", f"too many requests; try again in {wait_s} s")
            raise Refusal(error, [(b"retry-after", b"%d" % wait_s)])
        self.on_verified(token, verified)
        return caller


def _token(exchange: Exchange) -> bytes:
    if _TOKEN_FIELD.search(exchange.scope["query_string"]):
        raise _malformed("access_token", "not accepted in the URL; send it in Authorization")
    if exchange.is_repeated(b"authorization"):
        raise _malformed("Authorization", "appears more than once")
    header = exchange.headers.get(b"authorization", b"")
    if header.partition(b" ")[0].lower() != _SCHEME:
        raise _refusal(problem("unauthenticated", "this needs a bearer token"), "Bearer")
    credentials = _CREDENTIALS.fullmatch(header.rstrip(b" "))
    if credentials is None:
        raise _malformed("Authorization", 'malformed; send "Bearer" and one token')
    return credentials[1]


def _malformed(field: str, message: str) -> Refusal:
    return _refusal(invalid(field, message), 'Bearer error="invalid_request"')


def _refusal(error: Error, challenge: str) -> Refusal:
    return Refusal(error, [(b"www-authenticate", challenge.encode())])
