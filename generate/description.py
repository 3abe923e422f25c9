"""The core's description as typed structs."""

from __future__ import annotations

import msgspec
from comptroller import _core, errors


class Member(msgspec.Struct, frozen=True):
    """A member of a record or request; see cpp/service/describe.cpp."""

    type: str
    required: bool
    doc: str
    alias_of: str | None = None
    is_deprecated: bool = False
    is_completed: bool = False

    @property
    def item_type(self) -> str:
        """The type of the value, or of the items of an array."""
        return self.type.rstrip("?").removesuffix("[]")

    @property
    def is_array(self) -> bool:
        """Whether the type is an array."""
        return self.type.endswith("[]")


class Record(msgspec.Struct, frozen=True):
    """A record or request."""

    doc: str
    members: dict[str, Member]


class Resource(msgspec.Struct, frozen=True):
    """An attribute of a service, and the records that its operations return."""

    name: str
    record: str

    @property
    def kind(self) -> str:
        """The name of its records in loads, exports and streams."""
        return self.name.replace("_", "-")

    @property
    def class_name(self) -> str:
        """The name of its class."""
        return self.name.title().replace("_", "")

    @property
    def plural(self) -> str:
        """The name of its records in a sentence."""
        return self.name.replace("_", " ")


class ErrorCase(msgspec.Struct, frozen=True):
    """An error code of an operation, and when the operation raises it."""

    code: str
    when: str


class Operation(msgspec.Struct, frozen=True):
    """An operation of a resource."""

    name: str
    method: str
    paths: list[str]
    summary: str
    details: str
    errors: list[ErrorCase]
    envelope: str
    is_write: bool
    is_list: bool
    request_source: str
    request: str
    answer: str

    @property
    def verb(self) -> str:
        """The name of its method."""
        return self.name.partition(".")[2]


class Problem(msgspec.Struct, frozen=True):
    """An error code with its HTTP status, its explanation, and what the caller can do."""

    code: str
    status: int
    explanation: str
    remedy: str


class Description(msgspec.Struct, frozen=True):
    """Everything that the core describes."""

    resources: list[Resource]
    records: dict[str, Record]
    requests: dict[str, Record]
    enums: dict[str, dict[str, str]]
    operations: list[Operation]
    problems: list[Problem]

    def members_of(self, request: str) -> dict[str, Member]:
        """Returns the members of a request, without aliases."""
        record = self.requests.get(request) or self.records[request]
        return {n: member for n, member in record.members.items() if member.alias_of is None}

    def doc_of(self, member: Member) -> str:
        """Returns the meaning of a member, with its possible values."""
        *others, last = self.enums.get(member.item_type) or [""]
        values = f" ({', '.join(others)} or {last})" if others else f" ({last})" if last else ""
        return member.doc + values + ("; deprecated" if member.is_deprecated else "")

    def operations_of(self, resource: Resource) -> list[Operation]:
        """Returns the operations of a resource."""
        return [o for o in self.operations if o.name.partition(".")[0] == resource.name]

    def exception_of(self, code: str) -> str:
        """Returns the name of the exception for an error code."""
        status = next(problem.status for problem in self.problems if problem.code == code)
        return type(errors.error_for(code, status, "")).__name__


def read() -> Description:
    """Returns the description of the installed core."""
    return msgspec.json.decode(_core.describe(), type=Description)


def python_name(parameter: str) -> str:
    """Returns the name of a parameter as a Python argument."""
    return parameter.replace(".", "_")
