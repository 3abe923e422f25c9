"""Who asks: what an authenticator tells the application of a request."""

from __future__ import annotations

from typing import Protocol

from comptroller._core import Principal
from comptroller.errors import invalid
from comptroller.http.exchange import Exchange
from comptroller.http.problems import Refusal, problem
from comptroller.loopback import host_of, is_loopback


class Caller:
    """A principal of the core, and what the adapter looks at of it. Immutable."""

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
    """Tells who asks, by the request's credentials."""

    async def caller(self, exchange: Exchange) -> Caller:
        """Who asks. Raises :class:`comptroller.http.problems.Refusal` for what RFC 6750 refuses."""


class EveryoneIsOperator:
    """Takes whoever asks for the operator: for a server that only its own machine can reach.

    Args:
        on_loopback: the server can be reached by loopback names alone. Whoever asks for another
            host is refused: it is a page in a browser, whose own name was made to lead here.
    """

    def __init__(self, *, on_loopback: bool = False) -> None:
        self._on_loopback = on_loopback
        self._operator = Caller(Principal(), "operator")

    async def caller(self, exchange: Exchange) -> Caller:
        """The operator, whatever else the request says."""
        if self._on_loopback:
            host = exchange.headers.get(b"host", b"").decode("latin-1")
            if not is_loopback(host_of(host)):
                raise invalid("Host", "must be localhost or a loopback address")
        return self._operator
