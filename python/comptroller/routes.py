"""The paths of the interface: which operation each method of a path is. Specification 4.

A new operation costs one row here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from comptroller import _core

#: Where a server of this interface gives tokens of its own.
TOKEN_PATH = "/oauth2/token"

#: A POST with this header and the value GET is the GET whose query is the form in its body: for
#: filters that are too long for a URL.
METHOD_OVERRIDE = "x-http-method-override"
FORM = "application/x-www-form-urlencoded"

_CONTROLS = "/identity/controls"
_IDENTITIES = "/identity/identities"
_ORCHESTRATIONS = "/orchestration/orchestrations"
_GROUPS = "/rewards/payout-groups"
_ADDRESSES = "/rewards/addresses"
_CLAIMS = "/rewards/claims"
_BALANCES = "/rewards/balances"


class Row(NamedTuple):
    """An operation at a path; `envelope` is the member that holds the record in its answer."""

    method: str
    path: str
    operation: str
    envelope: str | None = None

    @property
    def names_id(self) -> bool:
        """Whether a segment of the path is the id of the record."""
        return "{id}" in self.path

    @property
    def is_operators(self) -> bool:
        """Whether a client may not call it, whatever its scopes."""
        return self.path.startswith("/operator/")


_REWARDS = (
    Row("GET", _CLAIMS, "claims.list"),
    Row("GET", _ADDRESSES, "reward_addresses.list"),
    Row("POST", _ADDRESSES, "reward_addresses.create", "address"),
    Row("GET", _GROUPS, "payout_groups.list"),
    Row("POST", _GROUPS, "payout_groups.create", "group"),
    Row("GET", _CLAIMS + "/{id}", "claims.get"),
    Row("GET", _ADDRESSES + "/{id}", "reward_addresses.get", "address"),
    Row("PUT", _ADDRESSES + "/{id}", "reward_addresses.update", "address"),
    Row("GET", _GROUPS + "/{id}", "payout_groups.get", "group"),
    Row("PUT", _GROUPS + "/{id}", "payout_groups.update", "group"),
)
_OTHERS = (
    Row("GET", "/v2" + _ORCHESTRATIONS, "orchestrations.list"),
    Row("GET", "/v2" + _CONTROLS, "controls.list"),
    Row("POST", "/v2" + _CONTROLS, "controls.create"),
    Row("DELETE", "/v2" + _CONTROLS, "controls.delete"),
    Row("GET", "/v2" + _IDENTITIES, "identities.list"),
    Row("GET", "/v2" + _IDENTITIES + "/{id}", "identities.get"),
    Row("PUT", "/v2" + _IDENTITIES + "/{id}", "identities.update"),
    Row("GET", "/v2" + _IDENTITIES + "/{id}/permits", "identities.permits"),
    Row("GET", "/v2" + _CONTROLS + "/{id}", "controls.get"),
    Row("GET", "/v2" + _ORCHESTRATIONS + "/{id}", "orchestrations.get"),
)
_OPERATORS = (
    Row("PUT", "/operator" + _IDENTITIES, "identities.put"),
    Row("POST", "/operator" + _CONTROLS, "controls.create"),
    Row("DELETE", "/operator" + _CONTROLS, "controls.delete"),
    Row("PUT", "/operator" + _ORCHESTRATIONS, "orchestrations.put"),
    Row("POST", "/operator" + _GROUPS + "/{id}/observe", "payout_groups.observe", "group"),
    Row("POST", "/operator" + _ADDRESSES + "/{id}/observe", "reward_addresses.observe", "address"),
    Row("GET", "/operator" + _BALANCES, "balances.list"),
    Row("POST", "/operator" + _BALANCES, "balances.record"),
    Row("PUT", "/operator" + _CLAIMS, "claims.put"),
    Row("POST", "/operator" + _CLAIMS + "/{id}/submit", "claims.submit"),
    Row("POST", "/operator" + _CLAIMS + "/{id}/confirm", "claims.confirm"),
    Row("POST", "/operator" + _CLAIMS + "/{id}/fail", "claims.fail"),
)

#: Every operation at its paths. Those of the rewards are there with and without ``/v2``.
ROWS: tuple[Row, ...] = (
    *_REWARDS,
    *_OTHERS,
    *(row._replace(path="/v2" + row.path) for row in _REWARDS),
    *_OPERATORS,
)


class Operation(msgspec.Struct, frozen=True):
    """What the core says of an operation."""

    name: str
    scope: str
    is_write: bool
    is_bounded: bool
    request_source: str
    request: str
    answer: str
    doc: str

    def scope_of(self, is_operator: bool) -> str:
        """The scope that a caller needs."""
        if is_operator:
            return "operator:write" if self.is_write else "operator:read"
        return self.scope


@cache
def description() -> dict[str, Any]:
    """What the service is made of, as the core tells it."""
    told: dict[str, Any] = msgspec.json.decode(_core.describe())
    return told


@cache
def operations() -> dict[str, Operation]:
    """The operations by name."""
    told = msgspec.convert(description()["operations"], list[Operation])
    return {operation.name: operation for operation in told}


def paths() -> Iterator[tuple[str, dict[str, Row]]]:
    """Each path once, with its rows by method."""
    by_path: dict[str, dict[str, Row]] = {}
    for row in ROWS:
        by_path.setdefault(row.path, {})[row.method] = row
    yield from by_path.items()
