"""The core's description while the package runs, and the routes of the interface."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from comptroller import _core
from comptroller.route_table import ROUTES

#: Where a server of this interface gives tokens of its own.
TOKEN_PATH = "/oauth2/token"

#: A POST with this header and the value GET is the GET whose query is the form in its body: for
#: filters that are too long for a URL.
METHOD_OVERRIDE = "x-http-method-override"
FORM = "application/x-www-form-urlencoded"


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


#: Every operation at its paths.
ROWS = tuple(Row(*route) for route in ROUTES)


class ErrorCase(msgspec.Struct, frozen=True):
    """An error code, and when an operation is refused with it."""

    code: str
    when: str


class Operation(msgspec.Struct, frozen=True):
    """What the core says of an operation; see cpp/service/operations.hpp."""

    name: str
    scope: str
    summary: str
    details: str
    errors: list[ErrorCase]
    body_envelope: str
    is_write: bool
    is_bounded: bool
    is_list: bool
    request_source: str
    request: str
    answer: str

    def scope_of(self, is_operator: bool) -> str:
        """The scope that a caller needs."""
        if is_operator:
            return "operator:write" if self.is_write else "operator:read"
        return self.scope


@cache
def description() -> dict[str, Any]:
    """What the service consists of, as the core describes it (cpp/service/describe.hpp)."""
    described: dict[str, Any] = msgspec.json.decode(_core.describe())
    return described


@cache
def operations() -> dict[str, Operation]:
    """The operations by name."""
    described = msgspec.convert(description()["operations"], list[Operation])
    return {operation.name: operation for operation in described}


@cache
def members(kind: str) -> dict[str, Any]:
    """What the core says of the members of a kind of records, by name."""
    name = kind.replace("-", "_")
    (record,) = (each["record"] for each in description()["resources"] if each["name"] == name)
    return record_members(record)


def record_members(record: str) -> dict[str, Any]:
    """The same of a record."""
    found: dict[str, Any] = description()["records"][record]["members"]
    return found


@cache
def derived(kind: str) -> frozenset[str]:
    """The members of a kind that follow from other records."""
    return frozenset(name for name, said in members(kind).items() if said.get("is_derived"))


def stored(kind: str) -> list[str]:
    """The other members of a kind, in order."""
    return [name for name in members(kind) if name not in derived(kind)]


def paths() -> Iterator[tuple[str, dict[str, Row]]]:
    """Each path once, with its rows by method."""
    by_path: dict[str, dict[str, Row]] = {}
    for row in ROWS:
        by_path.setdefault(row.path, {})[row.method] = row
    yield from by_path.items()
