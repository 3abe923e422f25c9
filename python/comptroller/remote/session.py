"""Requests to one service by whoever the credentials are of."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import inf
from typing import Any, Protocol, TypeVar
from urllib.parse import quote_plus, urlencode

import httpx2
import msgspec

from comptroller.errors import Error, NotFound, closed, unusable
from comptroller.remote.sending import Asked, Failure, Sender, always
from comptroller.routes import FORM, Row

R = TypeVar("R")

#: What an access token is made of (RFC 6750 section 2.1).
BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")

_SPARE_S = 60.0
_PLACEHOLDER = re.compile(r"\{[^}]*\}")


class Credentials(Protocol):
    """What shows a service who asks."""

    async def token(self, refused: str | None = None) -> str | None:
        """An access token, another than the one that was refused; None where there is none."""


class Given:
    """A token that was obtained elsewhere, or none at all."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    async def token(self, refused: str | None = None) -> str | None:
        """The token; None once it was refused, because there is no other."""
        return None if refused is not None else self._token


class _Issued(msgspec.Struct):
    """What RFC 6749 section 5.1 says of an answer."""

    access_token: str
    token_type: str = "bearer"
    expires_in: float | None = None


class ClientCredentials:
    """Fetches tokens by the client credentials grant (RFC 6749 section 4.4).

    May be used from many threads, or tasks: one fetches, the others wait for it.
    """

    def __init__(
        self, sender: Sender, url: str, client_id: str, client_secret: str, scopes: Sequence[str]
    ) -> None:
        self._sender = sender
        self._url = url
        # Encoded as section 2.3.1 has it.
        pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}".encode()
        self._authorization = "Basic " + base64.b64encode(pair).decode()
        scope = {"scope": " ".join(scopes)} if scopes else {}
        self._form = urlencode({"grant_type": "client_credentials", **scope}).encode()
        self._one_at_a_time = sender.channel.lock()
        self._token: str | None = None
        self._until_s = 0.0

    async def token(self, refused: str | None = None) -> str | None:
        """A token that is good for a while.

        Raises:
            Unauthenticated: the client is not known there, or its secret is another.
            Unusable: the token endpoint answers without a token.
            Unavailable: it cannot be reached.
        """
        async with self._one_at_a_time:
            now = self._sender.channel.now()
            if self._token is None or self._token == refused or now >= self._until_s:
                self._token = None
                issued = await self._sender.send(self._fetch)
                self._until_s = now + _kept_s(issued.expires_in)
                self._token = issued.access_token
            return self._token

    async def _fetch(self) -> _Issued:
        headers = {
            "authorization": self._authorization,
            "content-type": FORM,
            "accept": "application/json",
        }
        asked = Asked("POST", self._url, headers, lambda: self._form)
        answer = await self._sender.once(asked, self._sender.channel.read)
        try:
            issued = msgspec.json.decode(answer, type=_Issued, strict=False)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            issued = _Issued("")
        if issued.token_type.lower() != "bearer" or not BEARER.fullmatch(issued.access_token):
            raise unusable(f"{self._url} gave no bearer token")
        return issued


def _kept_s(expires_in: float | None) -> float:
    """How long a token is used: not in its last minute, nor in the second half of a short life."""
    if expires_in is None:
        return inf
    return max(expires_in - _SPARE_S, expires_in / 2)


class Session:
    """Sends requests with an access token, and learns what may be sent again.

    May be used from many threads, or tasks, and in no forked child.
    """

    def __init__(self, sender: Sender, credentials: Credentials, base_url: str) -> None:
        self.channel = sender.channel
        self._sender = sender
        self._credentials = credentials
        self.base_url = base_url
        self._process = os.getpid()
        self._replayed: frozenset[tuple[str, str]] | None = None

    async def ask(self, asked: Asked, may_repeat: Callable[[], Awaitable[bool]] = always) -> bytes:
        """The whole answer to a request, whose URL is what follows the base URL."""
        return await self._send(asked, self.channel.read, may_repeat)

    async def open(self, asked: Asked) -> httpx2.Response:
        """The answer to a read, not yet read itself; the caller closes it."""
        return await self._send(asked, _unread, always)

    async def takes_idempotency_key(self, row: Row) -> bool:
        """Whether the service's OpenAPI document says so of an operation.

        It is fetched when this is first asked, and again as long as it cannot be had; a service
        without one takes none.
        """
        if self._replayed is None:
            try:
                asked = Asked("GET", "/openapi.json", {"accept": "application/json"})
                document = await self.ask(asked)
            except NotFound:
                document = b"{}"
            except Error:
                return False  # for now
            self._replayed = frozenset(_replayed(document))
        return (row.method, _PLACEHOLDER.sub("{}", row.path)) in self._replayed

    async def customer(self) -> str | None:
        """Whose the access token says that the caller is, where it is a JWT (RFC 9068)."""
        _, _, payload = (await self._credentials.token() or "").rpartition(".")[0].rpartition(".")
        try:
            claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=="))
        except ValueError:
            return None
        customer = _mapping(claims).get("customer")
        return customer if isinstance(customer, str) else None

    async def close(self) -> None:
        """Ends the connections; again does nothing."""
        if os.getpid() == self._process:
            await self.channel.close()

    async def _send(
        self,
        asked: Asked,
        take: Callable[[httpx2.Response], Awaitable[R]],
        may_repeat: Callable[[], Awaitable[bool]],
    ) -> R:
        if os.getpid() != self._process:
            # The parent's connections are no place to talk on.
            raise closed("the service was carried into a forked process; connect there")
        there = asked._replace(url=self.base_url + asked.url)
        return await self._sender.send(
            lambda: self._attempt(there, take), may_repeat, is_write=asked.is_write
        )

    async def _attempt(self, asked: Asked, take: Callable[[httpx2.Response], Awaitable[R]]) -> R:
        token = await self._credentials.token()
        try:
            return await self._sender.once(_shown(asked, token), take)
        except Failure as failure:
            if failure.error.status != 401:
                raise
            fresh = await self._credentials.token(refused=token)
            if fresh is None or asked.is_once:
                raise
        return await self._sender.once(_shown(asked, fresh), take)


async def _unread(response: httpx2.Response) -> httpx2.Response:
    return response


def _shown(asked: Asked, token: str | None) -> Asked:
    if token is None:
        return asked
    return asked._replace(headers={**asked.headers, "authorization": f"Bearer {token}"})


def _replayed(document: bytes) -> list[tuple[str, str]]:
    """The methods and paths that take an Idempotency-Key, by an OpenAPI document."""
    try:
        described = msgspec.json.decode(document)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return []
    return [
        (method.upper(), _PLACEHOLDER.sub("{}", path))
        for path, item in _mapping(_mapping(described).get("paths")).items()
        for method, operation in _mapping(item).items()
        if any(
            _is_idempotency_key(_resolved(described, parameter))
            for place in (item, operation)
            for parameter in _mapping(place).get("parameters") or ()
        )
    ]


def _is_idempotency_key(parameter: Mapping[str, Any]) -> bool:
    name = str(parameter.get("name")).lower()
    return name == "idempotency-key" and parameter.get("in") == "header"


def _resolved(document: Any, part: object) -> Mapping[str, Any]:
    """A parameter, which may be a reference into the document."""
    reference = _mapping(part).get("$ref")
    if not isinstance(reference, str):
        return _mapping(part)
    for name in reference.removeprefix("#/").split("/"):
        document = _mapping(document).get(name)
    return _mapping(document)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
