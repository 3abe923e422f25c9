"""Authenticated requests to one service: credentials, tokens and idempotency keys."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from math import inf
from typing import Any, Protocol, TypeVar
from urllib.parse import quote_plus, urlencode

import httpx2
import msgspec

from comptroller.decoding import NOT_JSON
from comptroller.errors import Error, NotFound, Unavailable, Unusable, closed, unusable
from comptroller.remote.sending import (
    Failure,
    Request,
    Sender,
    Upload,
    always,
    decode_object,
    members_of,
)
from comptroller.routes import FORM, Row

R = TypeVar("R")

#: The syntax of an access token (RFC 6750 section 2.1).
BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")

_SPARE_S = 60.0
_DIGITS = 16  # of a digest
_PLACEHOLDER = re.compile(r"\{[^}]*\}")


class Credentials(Protocol):
    """The credentials of a caller."""

    async def token(self, refused: str | None = None) -> str | None:
        """Returns an access token other than `refused`; None if there is none."""

    def client(self) -> str:
        """Returns a text for the client, without a secret."""


class FixedToken:
    """An access token that the caller obtained itself, or none."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    async def token(self, refused: str | None = None) -> str | None:
        """Returns the token; None after it was refused."""
        return None if refused is not None else self._token

    def client(self) -> str:
        """Returns the client that the token names if it is a JWT (RFC 9068), or a digest of it."""
        if self._token is None:
            return "without a client"
        claims = _claims(self._token)
        named = {name: claims[name] for name in ("iss", "sub", "client_id") if name in claims}
        if named:
            return f"client {msgspec.json.encode(named).decode()}"
        return f"token {sha256(self._token.encode()).hexdigest()[:_DIGITS]}"


class _Issued(msgspec.Struct):
    """A successful token response (RFC 6749 section 5.1)."""

    access_token: str
    token_type: str = "bearer"
    expires_in: float | None = None


class ClientCredentials:
    """Fetches tokens by the client credentials grant (RFC 6749 section 4.4).

    Threads, or tasks, may share an instance: one fetches a token, the others wait for it.
    """

    def __init__(
        self, sender: Sender, url: str, client_id: str, client_secret: str, scopes: Sequence[str]
    ) -> None:
        self._sender = sender
        self._url = url
        self._client_id = client_id
        # Form-encoded, as RFC 6749 section 2.3.1 requires.
        pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}".encode()
        self._authorization = "Basic " + base64.b64encode(pair).decode()
        scope = {"scope": " ".join(scopes)} if scopes else {}
        self._form = urlencode({"grant_type": "client_credentials", **scope}).encode()
        self._lock = sender.channel.lock()
        self._token: str | None = None
        self._until_s = 0.0

    async def token(self, refused: str | None = None) -> str | None:
        """Returns a token that is not about to expire.

        Raises:
            Unauthenticated: the client id or secret is wrong.
            Unusable: the response of the token endpoint has no token.
            Unavailable: the token endpoint cannot be reached.
        """
        return await self._lock.during(partial(self._current, refused))

    def client(self) -> str:
        """Returns the client id."""
        return f"client {self._client_id!r}"

    async def _current(self, refused: str | None) -> str:
        now = self._sender.channel.now()
        if self._token is None or self._token == refused or now >= self._until_s:
            self._token = None
            issued = await self._sender.send(self._fetch)
            self._until_s = now + _usable_s(issued.expires_in)
            self._token = issued.access_token
        return self._token

    async def _fetch(self) -> _Issued:
        headers = {
            "authorization": self._authorization,
            "content-type": FORM,
            "accept": "application/json",
        }
        request = Request("POST", self._url, headers, lambda: self._form)
        answer = await self._sender.send_once(request, self._sender.body)
        try:
            issued = msgspec.json.decode(answer, type=_Issued, strict=False)
        except NOT_JSON:
            issued = _Issued("")
        if issued.token_type.lower() != "bearer" or not BEARER.fullmatch(issued.access_token):
            raise unusable(f"{self._url} returned no bearer token")
        return issued


def _usable_s(expires_in: float | None) -> float:
    """Returns how long to use a token: until its last minute, or for half of a short lifetime."""
    if expires_in is None:
        return inf
    return max(expires_in - _SPARE_S, expires_in / 2)


class Session:
    """Sends requests with an access token, and finds out which writes may be retried.

    Threads, or tasks, may share an instance. In a forked child it raises Closed.
    """

    def __init__(self, sender: Sender, credentials: Credentials, base_url: str) -> None:
        self.channel = sender.channel
        self._sender = sender
        self._credentials = credentials
        self.base_url = base_url
        self._process = os.getpid()
        self._replayed: frozenset[tuple[str, str]] | None = None

    async def ask(
        self, request: Request, may_repeat: Callable[[], Awaitable[bool]] = always
    ) -> bytes:
        """Sends a request, whose URL is relative to the base URL; returns the body."""
        return await self._send(request, self._sender.body, may_repeat)

    async def pieces(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Sends a read; yields the body in pieces. For the caller to close."""
        response = await self._send(request, _unread, always)
        try:
            async for piece in self.channel.pieces(response):
                yield piece
        except httpx2.RequestError as error:
            path = request.url.partition("?")[0]
            raise self._sender.unanswered(f"{request.method} {path}", error) from error
        finally:
            await self.channel.end(response)

    async def takes_idempotency_key(self, row: Row) -> bool:
        """Whether the service's OpenAPI document declares an Idempotency-Key for an operation.

        The document is fetched once. If the service has none, the result is False. If it cannot be
        fetched, the result is False and the next call tries again.
        """
        if self._replayed is None:
            try:
                request = Request("GET", "/openapi.json", {"accept": "application/json"})
                document = await self.ask(request)
            except NotFound:
                document = b"{}"
            except Error:
                return False  # for now
            self._replayed = frozenset(_replayable_operations(document))
        return (row.method, _PLACEHOLDER.sub("{}", row.path)) in self._replayed

    async def customer(self) -> str | None:
        """Returns the customer that the access token names, if it is a JWT (RFC 9068)."""
        customer = _claims(await self._credentials.token() or "").get("customer")
        return customer if isinstance(customer, str) else None

    def client(self) -> str:
        """Returns a text for the client, without a secret."""
        return self._credentials.client()

    async def close(self) -> None:
        """Closes the connections; closing again does nothing."""
        if os.getpid() == self._process:
            await self.channel.close()

    async def _send(
        self,
        request: Request,
        take: Callable[[httpx2.Response], Awaitable[R]],
        may_repeat: Callable[[], Awaitable[bool]],
    ) -> R:
        if os.getpid() != self._process:
            # The parent process uses the same connections.
            raise closed("the service was opened before a fork; connect again in the child")
        absolute = request._replace(url=self.base_url + request.url)
        return await self._sender.send(
            lambda: self._attempt(absolute, take), may_repeat, is_write=request.is_write
        )

    async def _attempt(
        self, request: Request, take: Callable[[httpx2.Response], Awaitable[R]]
    ) -> R:
        token = await self._credentials.token()
        try:
            return await self._send_once(request, token, take)
        except Failure as failure:
            if failure.error.status != 401:
                raise
            fresh = await self._credentials.token(refused=token)
            if fresh is None or request.is_single_use:
                raise
        return await self._send_once(request, fresh, take)

    async def _send_once(
        self,
        request: Request,
        token: str | None,
        take: Callable[[httpx2.Response], Awaitable[R]],
    ) -> R:
        """Sends a request once. Raises the Failure of a refusal also if its response was lost.

        A server refuses an upload before its end, reads on for a while, and closes the connection.
        If a write then fails, asyncio discards what it has not read: the response.
        """
        try:
            return await self._sender.send_once(_authorize(request, token), take)
        except Failure as failure:
            upload = request.upload
            if not failure.may_be_executed or upload is None or upload.is_sent():
                raise
            failure.may_be_executed = False
            if isinstance(failure.__cause__, httpx2.NetworkError | httpx2.RemoteProtocolError):
                await self._raise_refusal(request, upload, token)
            raise

    async def _raise_refusal(self, request: Request, upload: Upload, token: str | None) -> None:
        """Sends a request without its body to the check URL; raises the Failure of a refusal.

        If the token of the upload is about to expire, a new one is sent: the server may refuse the
        old token only because it expired after the upload began. If the server refuses the new
        token, no other is tried.
        """
        try:
            current = await self._credentials.token()
        except (Unavailable, Unusable):
            return
        url = self.base_url + upload.check_url
        check = request._replace(url=url, content=lambda: b"", upload=None)
        try:
            await self._sender.send_once(_authorize(check, current), self._sender.body)
        except Failure as failure:
            if not failure.has_response:
                return
            if failure.error.status == 401 and current != token:
                raise failure.error from None
            failure.may_be_executed = False
            raise


def _claims(token: str) -> dict[str, Any]:
    """Returns the claims of a token that is a JWT; none of another token."""
    _, _, payload = token.rpartition(".")[0].rpartition(".")
    try:
        return decode_object(base64.urlsafe_b64decode(payload + "=="))
    except ValueError:
        return {}


async def _unread(response: httpx2.Response) -> httpx2.Response:
    return response


def _authorize(request: Request, token: str | None) -> Request:
    if token is None:
        return request
    return request._replace(headers={**request.headers, "authorization": f"Bearer {token}"})


def _replayable_operations(document: bytes) -> list[tuple[str, str]]:
    """Returns the methods and paths of an OpenAPI document that accept an Idempotency-Key."""
    described = decode_object(document)
    return [
        (method.upper(), _PLACEHOLDER.sub("{}", path))
        for path, item in members_of(described.get("paths")).items()
        for method, operation in members_of(item).items()
        if any(
            _is_idempotency_key(_resolve(described, parameter))
            for place in (item, operation)
            for parameter in members_of(place).get("parameters") or ()
        )
    ]


def _is_idempotency_key(parameter: Mapping[str, Any]) -> bool:
    name = str(parameter.get("name")).lower()
    return name == "idempotency-key" and parameter.get("in") == "header"


def _resolve(document: Any, part: object) -> Mapping[str, Any]:
    """Returns a parameter, after resolving a reference into the document."""
    reference = members_of(part).get("$ref")
    if not isinstance(reference, str):
        return members_of(part)
    for name in reference.removeprefix("#/").split("/"):
        document = members_of(document).get(name)
    return members_of(document)
