"""The base class of resources: building requests and decoding results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from comptroller import arguments, decoding
from comptroller.arguments import Key
from comptroller.bulk.streams import Stream
from comptroller.decoding import NOT_JSON
from comptroller.errors import unusable
from comptroller.operations import pages
from comptroller.operations.pages import Page

R = TypeVar("R")

_NOTHING: Mapping[str, object] = {}


class Request(NamedTuple):
    """An operation with its parameters, as a transport executes it."""

    operation: str
    parameters: list[tuple[str, str]]
    body: bytes | None = None
    idempotency_key: str | None = None


class Transport(Protocol):
    """Executes operations of the service, for one caller. Raises :class:`comptroller.Error`."""

    def call(
        self,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None,
        idempotency_key: str | None,
    ) -> bytes:
        """Executes an operation; returns its JSON result."""

    def stream(
        self, kind: str, columns: list[str] | None, parameters: list[tuple[str, str]]
    ) -> Stream:
        """Returns all records of a kind that match the filters, as columns."""


class Resource:
    """The operations of one kind of record. Immutable; threads may share an instance."""

    __slots__ = ("_transport",)

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def _send(self, sent: Request, answer: type[R]) -> R:
        return read_answer(sent.operation, self._transport.call(*sent), answer)

    def _walk(
        self,
        operation: str,
        answer: type[Page[R]],
        filters: Mapping[str, object],
        known: type[Any],
        order: str | None,
        limit: int,
    ) -> Iterator[R]:
        page_at = page_requests(operation, filters, known, order, limit)

        return pages.walk(lambda cursor: self._send(page_at(cursor), answer))

    def _stream(
        self,
        kind: str,
        columns: str | Sequence[str] | None,
        filters: Mapping[str, object],
        known: type[Any],
    ) -> Stream:
        return self._transport.stream(*stream_arguments(kind, columns, filters, known))


def request(
    operation: str,
    query: Mapping[str, object] = _NOTHING,
    body: Mapping[str, object] | None = None,
    idempotency_key: Key | None = None,
) -> Request:
    """Returns a request with these parameters and a body of these members.

    Raises InvalidRequest, which names the invalid argument.
    """
    content = None if body is None else arguments.body(body)
    return Request(operation, arguments.query(query), content, _key(idempotency_key))


def record_request(operation: str, record: object, idempotency_key: Key | None) -> Request:
    """Returns a request whose body is a record. Raises InvalidRequest like `request`."""
    return Request(operation, [], arguments.record(record), _key(idempotency_key))


def list_request(operation: str, given: Mapping[str, Any]) -> Request:
    """Returns the request of one page.

    `given` are the `locals()` of the method `list`: the filters, `self`, and in `unknown` other
    keyword arguments, for which this raises InvalidRequest.
    """
    filters = {name: given[name] for name in given if name not in {"self", "unknown"}}
    arguments.refuse_unknown(given["unknown"], filters)
    return request(operation, filters)


def _key(given: Key | None) -> str | None:
    return None if given is None else arguments.text("idempotency_key", given)


def page_requests(
    operation: str,
    filters: Mapping[str, object],
    known: type[Any],
    order: str | None,
    limit: int,
) -> Callable[[str], Request]:
    """Returns a function from a cursor to the request of its page; the first cursor is ""."""
    parameters = arguments.query(filters, known.__annotations__)
    parameters += arguments.query({"order": order, "limit": limit})

    def page_at(cursor: str) -> Request:
        query = [*parameters, ("page_cursor", cursor)] if cursor else parameters
        return Request(operation, query)

    return page_at


def stream_arguments(
    kind: str,
    columns: str | Sequence[str] | None,
    filters: Mapping[str, object],
    known: type[Any],
) -> tuple[str, list[str] | None, list[tuple[str, str]]]:
    """Returns the arguments of a transport's `stream`. Raises InvalidRequest."""
    names = None if columns is None else arguments.texts("columns", columns)
    return kind, names, arguments.query(filters, known.__annotations__)


def read_answer(operation: str, data: bytes, answer: type[R]) -> R:
    """Decodes the record or page of a result. Raises Unusable if it is neither."""
    try:
        return decoding.read(data, answer)
    except NOT_JSON as error:
        # All writes are validated, so another program has changed the file.
        raise unusable(
            "the store is damaged, or the server is incompatible: "
            f"the result of {operation} is invalid: {error}"
        ) from error
