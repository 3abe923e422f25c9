"""What the core says of the service: its operations, and the members of its records."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from comptroller import _core


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
def described() -> dict[str, Any]:
    """What the service consists of, as the core describes it (cpp/service/describe.hpp)."""
    whole: dict[str, Any] = msgspec.json.decode(_core.describe())
    return whole


@cache
def operations() -> dict[str, Operation]:
    """The operations by name."""
    every = msgspec.convert(described()["operations"], list[Operation])
    return {operation.name: operation for operation in every}


@cache
def members(kind: str) -> dict[str, Any]:
    """What the core says of the members of a kind of records, by name."""
    name = kind.replace("-", "_")
    (record,) = (each["record"] for each in described()["resources"] if each["name"] == name)
    return record_members(record)


def record_members(record: str) -> dict[str, Any]:
    """The same of a record."""
    found: dict[str, Any] = described()["records"][record]["members"]
    return found


@cache
def derived(kind: str) -> frozenset[str]:
    """The members of a kind that follow from other records."""
    return frozenset(name for name, said in members(kind).items() if said.get("is_derived"))


def stored(kind: str) -> list[str]:
    """The other members of a kind, in order."""
    return [name for name in members(kind) if name not in derived(kind)]
