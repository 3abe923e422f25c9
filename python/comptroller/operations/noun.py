"""What every noun is made of: asking an operation and reading its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypedDict, TypeVar

import msgspec

from comptroller import arguments, pages, records
from comptroller.arguments import Id, Moment
from comptroller.errors import unusable
from comptroller.pages import Page
from comptroller.streams import Stream

R = TypeVar("R")

_NOTHING: Mapping[str, object] = {}


class Transport(Protocol):
    """Carries operations to the service, for one caller. Raises :class:`comptroller.Error`."""

    def call(
        self,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None,
        idempotency_key: str | None,
    ) -> bytes:
        """The JSON answer of an operation."""

    def stream(
        self, kind: str, columns: list[str] | None, parameters: list[tuple[str, str]]
    ) -> Stream:
        """All records of a kind that pass the filters, as columns."""


class CreatedFilters(TypedDict, total=False):
    """Filters of every kind that belongs to a customer and was created at some time."""

    customer_id: str | None
    created_at_lt: Moment | None
    created_at_lte: Moment | None
    created_at_eq: Moment | None
    created_at_gte: Moment | None
    created_at_gt: Moment | None


class Noun:
    """One kind of record, reached through a transport. Immutable; safe to use from many threads."""

    __slots__ = ("_transport",)

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def _ask(
        self,
        operation: str,
        answer: type[R],
        query: Mapping[str, object] = _NOTHING,
        body: Mapping[str, object] | None = None,
        idempotency_key: Id | None = None,
    ) -> R:
        """The answer to an operation with these parameters and this JSON body."""
        data = None if body is None else arguments.body(body)
        return self._send(operation, answer, arguments.query(query), data, idempotency_key)

    def _put(
        self, operation: str, answer: type[R], record: object, idempotency_key: Id | None
    ) -> R:
        """The answer to an operation whose body is a whole record."""
        return self._send(operation, answer, [], arguments.record(record), idempotency_key)

    def _page(
        self,
        operation: str,
        answer: type[R],
        given: Mapping[str, Any],
    ) -> Page[R]:
        """One page of a list.

        `given` is what the method `list` was called with, its `locals()`: the filters, `self`, and
        in `unknown` the names that it does not know, for which this raises InvalidRequest.
        """
        filters = {name: given[name] for name in given if name not in {"self", "unknown"}}
        arguments.refuse_unknown(given["unknown"], filters)
        parameters = arguments.query(filters)
        return self._send(operation, Page[answer], parameters, None, None)  # type: ignore[valid-type]

    def _walk(
        self,
        operation: str,
        answer: type[R],
        filters: Mapping[str, object],
        known: type[Any],
        order: str | None,
        limit: int,
    ) -> Iterator[R]:
        """Every item of a list, a page of `limit` at a time, as they are wanted."""
        parameters = arguments.query(filters, known.__annotations__)
        parameters += arguments.query({"order": order, "limit": limit})

        def page(cursor: str) -> Page[R]:
            here = [*parameters, ("page_cursor", cursor)] if cursor else parameters
            return self._send(operation, Page[answer], here, None, None)  # type: ignore[valid-type]

        return pages.walk(page)

    def _stream(
        self,
        kind: str,
        columns: str | Sequence[str] | None,
        filters: Mapping[str, object],
        known: type[Any],
    ) -> Stream:
        names = None if columns is None else arguments.texts("columns", columns)
        return self._transport.stream(kind, names, arguments.query(filters, known.__annotations__))

    def _send(
        self,
        operation: str,
        answer: type[R],
        parameters: list[tuple[str, str]],
        body: bytes | None,
        idempotency_key: Id | None,
    ) -> R:
        key = None
        if idempotency_key is not None:
            key = arguments.text("idempotency_key", idempotency_key)
        data = self._transport.call(operation, parameters, body, key)
        try:
            return records.read(data, answer)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            # What is written is checked, so somebody else has been at the file.
            raise unusable(
                "the store is damaged, or what answers for it: "
                f"the answer to {operation} is not as promised: {error}"
            ) from error
