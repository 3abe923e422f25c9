"""Who asks: what an authenticator tells the application of a request."""

from __future__ import annotations

from typing import Protocol

from comptroller._core import Principal
from comptroller.http.exchange import Exchange
from comptroller.http.problems import Refusal, problem


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
    """Takes whoever asks for the operator: for a server that only its own machine can reach."""

    def __init__(self) -> None:
        self._operator = Caller(Principal(), "operator")

    async def caller(self, exchange: Exchange) -> Caller:
        """The operator, whatever the request says."""
        return self._operator
