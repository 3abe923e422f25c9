"""Callers of the application, and their authentication."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from comptroller._core import Principal
from comptroller.errors import invalid
from comptroller.http.exchange import Exchange
from comptroller.http.problems import problem
from comptroller.loopback import host_of, is_loopback


class Caller:
    """A principal of the core, with cached attributes. Immutable."""

    __slots__ = ("client_id", "customer", "is_operator", "principal", "scopes")

    def __init__(self, principal: Principal, client_id: str) -> None:
        self.principal = principal
        self.client_id = client_id
        self.customer = principal.customer
        self.is_operator = principal.customer is None
        self.scopes = frozenset(principal.scopes)


def require_scope(caller: Caller, scope: str) -> None:
    """Raises Forbidden, which names the scope, if the caller lacks it."""
    if scope not in caller.scopes:
        raise problem("insufficient-scope", f"this needs the scope {scope}")


class Authenticator(Protocol):
    """Authenticates the caller of a request."""

    async def caller(self, exchange: Exchange) -> Caller:
        """Returns the caller. Raises :class:`comptroller.http.problems.Refusal` (RFC 6750)."""


class EveryoneIsOperator:
    """Treats every caller as the operator, for a server that only its own machine can reach.

    Web pages in a browser on that machine can reach it too. A request of a page of another origin
    is therefore rejected, according to Sec-Fetch-Site or else Origin. Following a link to the
    server is permitted.

    Args:
        on_loopback: rejects requests for other host names than loopback ones, which prevents DNS
            rebinding. If False, every host name is accepted.
    """

    def __init__(self, *, on_loopback: bool = True) -> None:
        self._on_loopback = on_loopback
        self._operator = Caller(Principal(), "operator")

    async def caller(self, exchange: Exchange) -> Caller:
        """Returns the operator. Raises InvalidRequest for a request of a foreign web page."""
        host = exchange.headers.get(b"host", b"")
        if self._on_loopback and not is_loopback(host_of(host.decode("latin-1"))):
            raise invalid("Host", "must be localhost or a loopback address")
        if not (_is_of_own_origin(exchange.headers, host) or _is_followed_link(exchange)):
            raise invalid("Origin", "another origin; only pages of this server may send requests")
        return self._operator


def _is_of_own_origin(headers: Mapping[bytes, bytes], host: bytes) -> bool:
    """Whether a page of this server, or no page, sent the request."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site in (b"same-origin", b"none")
    origin = headers.get(b"origin")
    return origin is None or origin in (b"http://" + host, b"https://" + host)


def _is_followed_link(exchange: Exchange) -> bool:
    return exchange.method == "GET" and exchange.headers.get(b"sec-fetch-mode") == b"navigate"
