"""Callers of the application, and how an authenticator finds the caller of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from comptroller._core import Principal
from comptroller.errors import invalid
from comptroller.http.exchange import Exchange
from comptroller.http.problems import Refusal, problem
from comptroller.loopback import host_of, is_loopback


class Caller:
    """A principal of the core, with its members that the adapter reads. Immutable."""

    __slots__ = ("client_id", "customer", "is_operator", "principal", "scopes")

    def __init__(self, principal: Principal, client_id: str) -> None:
        self.principal = principal
        self.client_id = client_id
        self.customer = principal.customer
        self.is_operator = principal.customer is None
        self.scopes = frozenset(principal.scopes)


def require_scope(caller: Caller, scope: str) -> None:
    """Raises Refusal, naming the scope, as RFC 6750 section 3.1 says, where the caller lacks it."""
    if scope not in caller.scopes:
        error = problem("insufficient-scope", f"this needs the scope {scope}")
        challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
        raise Refusal(error, [(b"www-authenticate", challenge.encode())])


class Authenticator(Protocol):
    """Finds the caller of a request by its credentials."""

    async def caller(self, exchange: Exchange) -> Caller:
        """The caller. Raises :class:`comptroller.http.problems.Refusal` as RFC 6750 requires."""


class EveryoneIsOperator:
    """Takes every caller for the operator: for a server that only its own machine can reach.

    A web page in a browser on that machine reaches it too. So a request is refused when a page of
    another origin sent it: as Sec-Fetch-Site says, or Origin if a browser sends none. A link may be
    followed.

    Args:
        on_loopback: refuses requests for hosts other than loopback names: the name of a page may
            have been made to resolve to this machine. Without it every name is accepted.
    """

    def __init__(self, *, on_loopback: bool = True) -> None:
        self._on_loopback = on_loopback
        self._operator = Caller(Principal(), "operator")

    async def caller(self, exchange: Exchange) -> Caller:
        """The operator. Raises InvalidRequest for a request of a web page that is not our own."""
        host = exchange.headers.get(b"host", b"")
        if self._on_loopback and not is_loopback(host_of(host.decode("latin-1"))):
            raise invalid("Host", "must be localhost or a loopback address")
        if not (_is_of_own_origin(exchange.headers, host) or _is_followed_link(exchange)):
            raise invalid("Origin", "must be this server's own; this is a page of another origin")
        return self._operator


def _is_of_own_origin(headers: Mapping[bytes, bytes], host: bytes) -> bool:
    """Whether a page of this server sent the request, or none at all."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site in (b"same-origin", b"none")
    origin = headers.get(b"origin")
    return origin is None or origin in (b"http://" + host, b"https://" + host)


def _is_followed_link(exchange: Exchange) -> bool:
    return exchange.method == "GET" and exchange.headers.get(b"sec-fetch-mode") == b"navigate"
