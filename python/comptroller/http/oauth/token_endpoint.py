"""The token endpoint, ``POST /oauth2/token`` (RFC 6749 sections 2.3, 4.4 and 5)."""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote_plus

import msgspec
from joserfc import jwt
from joserfc.jwk import OKPKey

from comptroller.errors import Error, unavailable
from comptroller.http.exchange import BAD_ESCAPE, Exchange, Headers
from comptroller.http.oauth.clients import Client, Clients, SecretHash
from comptroller.http.oauth.keys import ALGORITHM, LONGEST_LIFETIME_S, Keys
from comptroller.http.oauth.watched import Watched
from comptroller.http.problems import Refusal
from comptroller.routes import FORM

LARGEST_BODY = 4 << 10  # bytes

_JSON = b"application/json"
_MAX_FIELDS = 100
_PLAIN_SCOPE = re.compile("[A-Za-z0-9:_.-]{1,64}")  # quoted in responses
_LONGEST_CREDENTIALS = 1024  # bytes of a header; issued credentials have about 150
_TWO_WAYS = "the client authenticates in two ways"
# Each check occupies a core for tens of milliseconds, and 16 MiB.
_MAX_CHECKS = 2
_MAX_QUEUED = 8
_MAX_CACHED = 1024


class _Refused(Exception):
    """An error response (RFC 6749 section 5.2); ASCII text without quotes and backslashes."""

    def __init__(
        self, error: str, description: str, status: int = 400, headers: Headers = ()
    ) -> None:
        super().__init__(error)
        self.error = error
        self.status = status
        self.headers = headers
        self.body = msgspec.json.encode({"error": error, "error_description": description})


class _Credentials(NamedTuple):
    client_id: str
    secret: str
    is_basic: bool

    def __repr__(self) -> str:
        return f"<credentials of {self.client_id!r}>"


class TokenEndpoint:
    """Answers token requests.

    A thread checks the secret, in the same time for unknown clients. A correct secret is cached,
    for 1024 clients, until the hash in the registry changes. Each client has its own queue of
    checks; all unknown clients share one queue.

    Args:
        issuer: the claim `iss` of the tokens.
        audience: the claim `aud` of the tokens.
        keys: the signing keys.
        clients: the registered clients.
        clock: returns seconds since 1970.
    """

    def __init__(
        self,
        issuer: str,
        audience: str,
        keys: Watched[Keys],
        clients: Watched[Clients],
        clock: Callable[[], float],
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._keys = keys
        self._clients = clients
        self._clock = clock
        self._pool = ThreadPoolExecutor(_MAX_CHECKS, "comptroller-secrets")
        self._queued: Counter[SecretHash] = Counter()
        self._unmatchable = SecretHash.unmatchable()
        self._pepper = secrets.token_bytes(32)
        self._correct: OrderedDict[bytes, SecretHash] = OrderedDict()

    async def answer(self, exchange: Exchange) -> None:
        """Answers with a token or an OAuth error. Raises Errors with a status of 500 and above."""
        # Every response also has Cache-Control: no-store.
        headers = [(b"pragma", b"no-cache")]
        try:
            status, body = 200, await self._grant(exchange)
        except (_Refused, Error) as error:
            if isinstance(error, Error) and error.status >= 500:
                raise
            refused = error if isinstance(error, _Refused) else _of_error(error)
            exchange.refusal = refused.error
            status, body = refused.status, refused.body
            headers += refused.headers
        await exchange.answer(status, _JSON, body, headers)

    async def _grant(self, exchange: Exchange) -> bytes:
        basic = _basic(exchange)
        await self._note(exchange, basic)
        form = _parse(await _body(exchange))
        given = _credentials(basic, form)
        await self._note(exchange, given)
        if "grant_type" not in form:
            raise _Refused("invalid_request", "grant_type is missing")
        if form["grant_type"] != "client_credentials":
            raise _Refused("unsupported_grant_type", "grant_type must be client_credentials")
        client = await self._authenticate(given)
        exchange.client_id, exchange.customer = client.client_id, client.customer
        scopes = client.granted_scopes()
        if "scope" in form:
            wanted = list(dict.fromkeys(form["scope"].split(" ")))
            denied = [scope for scope in wanted if scope not in scopes]
            if denied:
                named = ", ".join(scope for scope in denied if _PLAIN_SCOPE.fullmatch(scope))
                raise _Refused(
                    "invalid_scope",
                    f"not granted to this client: {named or 'a scope that does not exist'}",
                )
            scopes = wanted
        keys = await self._keys.current()
        return msgspec.json.encode(
            {
                "access_token": self._token(keys.signing, client, " ".join(scopes)),
                "token_type": "Bearer",
                "expires_in": LONGEST_LIFETIME_S,
                "scope": " ".join(scopes),
            }
        )

    async def _note(self, exchange: Exchange, given: _Credentials | None) -> None:
        """Names a registered client for the log; an unknown client id may be a secret."""
        if given is not None and given.client_id in await self._clients.current():
            exchange.client_id = given.client_id

    async def _authenticate(self, given: _Credentials) -> Client:
        client = (await self._clients.fresh()).get(given.client_id)
        if client is not None and client.revoked_at is not None:
            client = None
        expected = self._unmatchable if client is None else client.secret
        is_right = await self._matches(expected, given.secret)
        if client is None or not is_right:
            raise _unknown(given.is_basic)
        return client

    async def _matches(self, expected: SecretHash, secret: str) -> bool:
        mark = blake2b(secret.encode() + expected.salt, key=self._pepper).digest()
        if self._correct.get(mark) == expected:
            self._correct.move_to_end(mark)
            return True
        if self._queued[expected] >= _MAX_QUEUED:
            raise unavailable("too many token requests are waiting; try again in a second")
        self._queued[expected] += 1
        try:
            loop = asyncio.get_running_loop()
            is_right = await loop.run_in_executor(self._pool, expected.matches, secret)
        finally:
            self._queued[expected] -= 1
        if is_right:
            self._correct[mark] = expected
            if len(self._correct) > _MAX_CACHED:
                self._correct.popitem(last=False)
        return is_right

    def _token(self, key: OKPKey, client: Client, scope: str) -> str:
        """Returns a signed token (RFC 9068 section 2)."""
        now = int(self._clock())
        role = {"operator": True} if client.customer is None else {"customer": client.customer}
        claims = {
            "iss": self._issuer,
            "sub": client.client_id,
            "client_id": client.client_id,
            "aud": self._audience,
            "iat": now,
            "exp": now + LONGEST_LIFETIME_S,
            "jti": secrets.token_urlsafe(16),
            "scope": scope,
            **role,
        }
        header = {"alg": ALGORITHM, "typ": "at+jwt", "kid": key.kid}
        return jwt.encode(header, claims, key, algorithms=[ALGORITHM])


async def _body(exchange: Exchange) -> bytes:
    exchange.check_length(LARGEST_BODY)
    try:
        exchange.check_type(FORM.encode())
    except Refusal as refusal:
        raise refusal.error from None
    return b"".join([chunk async for chunk in exchange.chunks(LARGEST_BODY)])


def _parse(body: bytes) -> dict[str, str]:
    """Parses the form; parameters with an empty value are ignored (RFC 6749 section 3.2)."""
    try:
        text = body.decode("ascii")
        fields = parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS
        )
    except ValueError:
        raise _Refused(
            "invalid_request", f"the body is not a UTF-8 form of at most {_MAX_FIELDS} fields"
        ) from None
    if BAD_ESCAPE.search(text):
        raise _Refused("invalid_request", "the body has an invalid percent-escape")
    if len(dict(fields)) < len(fields):
        raise _Refused("invalid_request", "a parameter appears more than once")
    return {name: value for name, value in fields if value}


def _credentials(basic: _Credentials | None, form: dict[str, str]) -> _Credentials:
    """Returns the credentials of the header or of the form; raises _Refused for both or none."""
    if basic is None:
        if "client_id" not in form or "client_secret" not in form:
            raise _unknown(is_basic=False)
        return _Credentials(form["client_id"], form["client_secret"], is_basic=False)
    if "client_secret" in form:
        raise _Refused("invalid_request", _TWO_WAYS)
    if form.get("client_id", basic.client_id) != basic.client_id:
        raise _Refused("invalid_request", "the client is named in two ways")
    return basic


def _basic(exchange: Exchange) -> _Credentials | None:
    """Returns Basic credentials (RFC 7617), whose parts are form-encoded (RFC 6749 2.3.1)."""
    header = exchange.headers.get(b"authorization")
    if header is None:
        return None
    if exchange.is_repeated(b"authorization"):
        raise _Refused("invalid_request", _TWO_WAYS)
    scheme, _, encoded = header.partition(b" ")
    try:
        if scheme.lower() != b"basic" or len(encoded) > _LONGEST_CREDENTIALS:
            raise ValueError
        pair = base64.b64decode(encoded.strip(b" "), validate=True).decode()
        client_id, colon, secret = pair.partition(":")
        if not colon or BAD_ESCAPE.search(pair):
            raise ValueError
        return _Credentials(
            unquote_plus(client_id, errors="strict"),
            unquote_plus(secret, errors="strict"),
            is_basic=True,
        )
    except ValueError:
        raise _unknown(is_basic=True) from None


def _unknown(is_basic: bool) -> _Refused:
    description = "the client is unknown, or its secret is wrong or missing"
    if not is_basic:
        return _Refused("invalid_client", description)
    challenge = b'Basic realm="comptroller"'
    return _Refused("invalid_client", description, 401, [(b"www-authenticate", challenge)])


def _of_error(error: Error) -> _Refused:
    status = error.status if error.status == 413 else 400
    return _Refused(
        "invalid_request", f"the body must be a form of at most {LARGEST_BODY:,} bytes", status
    )
