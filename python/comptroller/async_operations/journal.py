"""The journal of a remote store, as coroutines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, TypeAlias

from comptroller.arguments import Id
from comptroller.async_operations.resource import AsyncTransport
from comptroller.journal import PAGE_SIZE, entry_of, most_entries, page_request, proof_request
from comptroller.journal.records import Checkpoint, JournalEntry, JournalPage
from comptroller.operations.resource import read_answer
from comptroller.records import InclusionProof
from comptroller.values import JournalResource

Entries: TypeAlias = list[JournalEntry]  # in the class, `list` is its method


class AsyncJournalHost(AsyncTransport, Protocol):
    """A server that has a journal."""

    async def checkpoint(self) -> Checkpoint:
        """Returns a checkpoint of the journal, signed, and the key that verifies it."""


class AsyncJournal:
    """The journal of an asynchronous service: :class:`comptroller.journal.Journal`.

    It has the methods that a server answers. `verify` and `archive` need the store.
    """

    __slots__ = ("_host",)

    def __init__(self, host: AsyncJournalHost) -> None:
        self._host = host

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    async def list(
        self,
        *,
        resource: JournalResource | None = None,
        id: Id | None = None,
        after: int | None = None,
        limit: int = 100,
    ) -> Entries:
        """Returns entries of the journal in order of commit: ``Journal.list``.

        Args:
            resource: only entries of this kind of record, such as ``claims``.
            id: only entries of the record with this id.
            after: only entries after the one with this sequence number.
            limit: the most entries to return.
        """
        most = most_entries(limit)
        found: Entries = []
        has_more = True
        while has_more:  # once if limit is 0, which also checks the other arguments
            size = max(1, min(most - len(found), PAGE_SIZE))
            page = await self._page(resource, id, after, size)
            found += page.items
            after, has_more = page.last, page.has_more and len(found) < most
        return found[:most]

    async def iter(
        self,
        *,
        resource: JournalResource | None = None,
        id: Id | None = None,
        after: int | None = None,
        limit: int = PAGE_SIZE,
    ) -> AsyncIterator[JournalEntry]:
        """Yields all entries in order of commit, or those after a sequence number.

        Args:
            resource: as for `list`.
            id: as for `list`.
            after: as for `list`.
            limit: the entries of a page, 1 to 1000.
        """
        has_more = True
        while has_more:
            page = await self._page(resource, id, after, limit)
            for entry in page.items:
                yield entry
            after, has_more = page.last, page.has_more

    async def show(self, sequence: int) -> JournalEntry:
        """Returns an entry. Raises NotFound."""
        return entry_of(await self.prove(sequence))

    async def prove(self, sequence: int) -> InclusionProof:
        """Returns the proof that an entry is in the journal. Raises NotFound."""
        sent = proof_request(sequence)
        return read_answer(sent.operation, await self._host.call(*sent), InclusionProof)

    async def checkpoint(self) -> str:
        """Returns the size and root of the journal, signed: ``Journal.checkpoint``."""
        return (await self._host.checkpoint()).checkpoint

    async def key(self) -> str:
        """Returns the key that verifies the checkpoints, in the format of Go's package note."""
        return (await self._host.checkpoint()).key

    async def _page(
        self, resource: JournalResource | None, id: Id | None, after: int | None, limit: int
    ) -> JournalPage:
        sent = page_request(resource, id, after, limit)
        return read_answer(sent.operation, await self._host.call(*sent), JournalPage)
