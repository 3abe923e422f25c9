"""The core's description of the service: its operations, and the members of its records."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from comptroller import _core


class ErrorCase(msgspec.Struct, frozen=True):
    """An error code of an operation, and when the operation raises it."""

    code: str
    when: str


class Operation(msgspec.Struct, frozen=True):
    """The core's description of an operation; see cpp/service/operations.hpp."""

    name: str
    scope: str
    summary: str
    details: str
    errors: list[ErrorCase]
    body_envelope: str
    is_write: bool
    needs_write_scope: bool
    is_list: bool
    request_source: str
    request: str
    answer: str

    def scope_of(self, is_operator: bool) -> str:
        """Returns the scope that a caller needs."""
        if is_operator:
            return "operator:write" if self.needs_write_scope else "operator:read"
        return self.scope


@cache
def core_description() -> dict[str, Any]:
    """Returns the core's description of the service; see cpp/service/describe.hpp."""
    whole: dict[str, Any] = msgspec.json.decode(_core.describe())
    return whole


@cache
def problems() -> dict[str, dict[str, Any]]:
    """Returns the status, title, explanation and remedy of each error code."""
    return {problem["code"]: problem for problem in core_description()["problems"]}


@cache
def operations() -> dict[str, Operation]:
    """Returns the operations by name."""
    every = msgspec.convert(core_description()["operations"], list[Operation])
    return {operation.name: operation for operation in every}


@cache
def members(kind: str) -> dict[str, Any]:
    """Returns the descriptions of a kind's members, by name."""
    name = kind.replace("-", "_")
    (record,) = (each["record"] for each in core_description()["resources"] if each["name"] == name)
    return record_members(record)


def record_members(record: str) -> dict[str, Any]:
    """Returns the descriptions of a record type's members, by name."""
    found: dict[str, Any] = core_description()["records"][record]["members"]
    return found


def list_filters(kind: str) -> frozenset[str]:
    """Returns the names of the parameters of a kind's `list`."""
    request = operations()[kind.replace("-", "_") + ".list"].request
    return frozenset(core_description()["requests"][request]["members"])


@cache
def derived_members(kind: str) -> frozenset[str]:
    """Returns the members of a kind that are computed from other records."""
    return frozenset(name for name, member in members(kind).items() if member.get("is_derived"))


def stored_members(kind: str) -> list[str]:
    """Returns the members of a kind that are not derived, in order."""
    return [name for name in members(kind) if name not in derived_members(kind)]
