"""``POST /oauth2/token``: tokens for clients by their secrets. RFC 6749 sections 2.3, 4.4 and 5."""

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
from comptroller.http.clients import Client, Clients, SecretHash
from comptroller.http.exchange import Exchange, Headers
from comptroller.http.keys import ALGORITHM, LONGEST_LIFETIME_S, Keys
from comptroller.http.secret_file import Watched
from comptroller.routes import FORM

LARGEST_BODY = 4 << 10  # bytes

_JSON = b"application/json"
_MOST_FIELDS = 100
_LONGEST_CREDENTIALS = 1024  # bytes of a header; those that are issued have about 150
_TWO_WAYS = "the client authenticates in two ways"
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Each secret that is checked takes a core for a while, and 16 MiB.
_CHECKED_AT_ONCE = 2
_MOST_WAITING = 8
_MOST_REMEMBERED = 1024


class _Refused(Exception):
    """An error answer of section 5.2. Descriptions are ASCII without quotes and backslashes."""

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
    """Answers requests for tokens.

    A secret is checked in a thread, and for an unknown client no faster. That a secret was right
    is remembered, for 1024 clients, as long as the registry holds the same hash of it. Places to
    wait for a check are a client's own; all who name an unknown one share as many as one has.

    Args:
        issuer: what tokens say of who made them.
        audience: what tokens say of whom they are for.
        keys: the signing keys.
        clients: who may ask.
        clock: seconds since 1970.
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
        self._pool = ThreadPoolExecutor(_CHECKED_AT_ONCE, "comptroller-secrets")
        self._waiting: Counter[SecretHash] = Counter()
        self._nobodys = SecretHash.of_nobody()
        self._pepper = secrets.token_bytes(32)
        self._right: OrderedDict[bytes, SecretHash] = OrderedDict()

    async def answer(self, exchange: Exchange) -> None:
        """Answers with a token, or an error of section 5.2. Raises the Errors of 500 and above."""
        # Cache-Control: no-store is on every answer.
        headers = [(b"pragma", b"no-cache")]
        try:
            status, body = 200, await self._granted(exchange)
        except (_Refused, Error) as error:
            if isinstance(error, Error) and error.status >= 500:
                raise
            refused = error if isinstance(error, _Refused) else _of_error(error)
            exchange.refusal = refused.error
            status, body = refused.status, refused.body
            headers += refused.headers
        await exchange.answer(status, _JSON, body, headers)

    async def _granted(self, exchange: Exchange) -> bytes:
        basic = _basic(exchange)
        await self._note(exchange, basic)
        form = _parsed(await _body(exchange))
        given = _credentials(basic, form)
        await self._note(exchange, given)
        if "grant_type" not in form:
            raise _Refused("invalid_request", "grant_type is missing")
        if form["grant_type"] != "client_credentials":
            raise _Refused("unsupported_grant_type", "grant_type must be client_credentials")
        client = await self._authenticated(given)
        exchange.client_id, exchange.customer = client.client_id, client.customer
        scopes = client.allowed()
        if "scope" in form:
            wanted = list(dict.fromkeys(form["scope"].split(" ")))
            if not set(wanted) <= set(scopes):
                raise _Refused("invalid_scope", "the client may not ask for a scope of these")
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
        """Names the client for the log, if it is registered: else it may be a secret."""
        if given is not None and given.client_id in await self._clients.current():
            exchange.client_id = given.client_id

    async def _authenticated(self, given: _Credentials) -> Client:
        client = (await self._clients.fresh()).get(given.client_id)
        if client is not None and client.revoked_at is not None:
            client = None
        expected = self._nobodys if client is None else client.secret
        is_right = await self._matches(expected, given.secret)
        if client is None or not is_right:
            raise _unknown(given.is_basic)
        return client

    async def _matches(self, expected: SecretHash, secret: str) -> bool:
        mark = blake2b(secret.encode() + expected.salt, key=self._pepper).digest()
        if self._right.get(mark) == expected:
            self._right.move_to_end(mark)
            return True
        if self._waiting[expected] >= _MOST_WAITING:
            raise unavailable("too many ask for tokens at once; ask again in a second")
        self._waiting[expected] += 1
        try:
            loop = asyncio.get_running_loop()
            is_right = await loop.run_in_executor(self._pool, expected.matches, secret)
        finally:
            self._waiting[expected] -= 1
        if is_right:
            self._right[mark] = expected
            if len(self._right) > _MOST_REMEMBERED:
                self._right.popitem(last=False)
        return is_right

    def _token(self, key: OKPKey, client: Client, scope: str) -> str:
        """A signed token, RFC 9068 section 2."""
        now = int(self._clock())
        whose = {"operator": True} if client.customer is None else {"customer": client.customer}
        claims = {
            "iss": self._issuer,
            "sub": client.client_id,
            "client_id": client.client_id,
            "aud": self._audience,
            "iat": now,
            "exp": now + LONGEST_LIFETIME_S,
            "jti": secrets.token_urlsafe(16),
            "scope": scope,
            **whose,
        }
        header = {"alg": ALGORITHM, "typ": "at+jwt", "kid": key.kid}
        return jwt.encode(header, claims, key, algorithms=[ALGORITHM])


async def _body(exchange: Exchange) -> bytes:
    exchange.check_length(LARGEST_BODY)
    exchange.check_type(FORM.encode())
    return b"".join([chunk async for chunk in exchange.chunks(LARGEST_BODY)])


def _parsed(body: bytes) -> dict[str, str]:
    """The parameters, RFC 6749 section 3.2: one without a value is as if it were not there."""
    try:
        text = body.decode("ascii")
        fields = parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise _Refused("invalid_request", "the body is no form of a few fields in UTF-8") from None
    if _BAD_ESCAPE.search(text):
        raise _Refused("invalid_request", "the body has a bad percent-escape")
    if len(dict(fields)) < len(fields):
        raise _Refused("invalid_request", "a parameter appears more than once")
    return {name: value for name, value in fields if value}


def _credentials(basic: _Credentials | None, form: dict[str, str]) -> _Credentials:
    """The credentials of the header or of the form. Refuses both, and none."""
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
    """The credentials of RFC 7617, each of them form-encoded as RFC 6749 section 2.3.1 has it."""
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
        if not colon or _BAD_ESCAPE.search(pair):
            raise ValueError
        return _Credentials(
            unquote_plus(client_id, errors="strict"),
            unquote_plus(secret, errors="strict"),
            is_basic=True,
        )
    except ValueError:
        raise _unknown(is_basic=True) from None


def _unknown(is_basic: bool) -> _Refused:
    description = "the client is unknown, its secret is wrong, or it gave none"
    if not is_basic:
        return _Refused("invalid_client", description)
    challenge = b'Basic realm="comptroller"'
    return _Refused("invalid_client", description, 401, [(b"www-authenticate", challenge)])


def _of_error(error: Error) -> _Refused:
    status = error.status if error.status == 413 else 400
    return _Refused(
        "invalid_request", f"the body must be a form of at most {LARGEST_BODY:,} bytes", status
    )
