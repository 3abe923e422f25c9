"""The base class of the asyncio resources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from comptroller.bulk.streams import Stream
from comptroller.operations import pages
from comptroller.operations.pages import Page
from comptroller.operations.resource import (
    Request,
    page_requests,
    read_answer,
    stream_arguments,
)

R = TypeVar("R")


class AsyncTransport(Protocol):
    """Executes operations of the service, for one caller. Raises :class:`comptroller.Error`."""

    async def call(
        self,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None,
        idempotency_key: str | None,
    ) -> bytes:
        """Executes an operation; returns its JSON result."""

    async def stream(
        self, kind: str, columns: list[str] | None, parameters: list[tuple[str, str]]
    ) -> Stream:
        """Returns all records of a kind that match the filters, as columns."""


class AsyncResource:
    """The operations of one kind of record, as coroutines. Immutable."""

    __slots__ = ("_transport",)

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    async def _send(self, sent: Request, answer: type[R]) -> R:
        return read_answer(sent.operation, await self._transport.call(*sent), answer)

    def _walk(
        self,
        operation: str,
        answer: type[Page[R]],
        filters: Mapping[str, object],
        known: type[Any],
        order: str | None,
        limit: int,
    ) -> AsyncIterator[R]:
        page_at = page_requests(operation, filters, known, order, limit)

        return pages.walk_async(lambda cursor: self._send(page_at(cursor), answer))

    async def _stream(
        self,
        kind: str,
        columns: str | Sequence[str] | None,
        filters: Mapping[str, object],
        known: type[Any],
    ) -> Stream:
        return await self._transport.stream(*stream_arguments(kind, columns, filters, known))
