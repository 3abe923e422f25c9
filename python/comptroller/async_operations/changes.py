"""The change feed, as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from comptroller.arguments import Id
from comptroller.async_operations.resource import AsyncResource
from comptroller.operations.changes import PAGE_SIZE, Pauses, Resources, page_request
from comptroller.records import Change, ChangePage


class AsyncChanges(AsyncResource):
    """The change feed of an asynchronous service: :class:`comptroller.operations.changes.Changes`.

    Keep the `cursor` of the last change that you processed: a feed resumes after it.
    """

    __slots__ = ()

    async def list(
        self,
        *,
        after: str | None = None,
        resources: Resources = None,
        customer_id: Id | None = None,
        limit: int | None = None,
    ) -> ChangePage:
        """Returns changes of records in order of commit, each once.

        Continue with ``after=page.next_cursor``. A page that is not the last one may have fewer
        changes than `limit`, or none.

        Args:
            after: the `cursor` of a change, or the `next_cursor` of a page, or ``end`` for the
                changes from now on; default: the beginning of the feed.
            resources: only changes of records of these resources, such as ``claims``; default: all
                that the caller may read.
            customer_id: only changes of records of this customer; a client may only name its own.
            limit: the most changes to return, 1 to 1000; default 100.

        Raises:
            InvalidRequest: an argument is not valid; the cursor belongs to another feed, is
                damaged, or is behind the end because an older backup was restored
                (``invalid-cursor``).
            Forbidden: the caller lacks the scope ``changes:read``, or that of a named resource.
        """
        return await self._send(page_request(after, resources, customer_id, limit), ChangePage)

    async def iter(
        self,
        *,
        after: str | None = None,
        resources: Resources = None,
        customer_id: Id | None = None,
    ) -> AsyncIterator[Change]:
        """Yields all changes until now: ``Changes.iter``.

        Args:
            after: as for `list`.
            resources: as for `list`.
            customer_id: as for `list`.
        """
        has_more = True
        while has_more:
            page = await self.list(
                after=after, resources=resources, customer_id=customer_id, limit=PAGE_SIZE
            )
            for change in page.items:
                yield change
            after, has_more = page.next_cursor, page.has_more

    async def follow(
        self,
        *,
        after: str | None = None,
        resources: Resources = None,
        customer_id: Id | None = None,
        poll_s: float = 1.0,
        timeout_s: float | None = None,
    ) -> AsyncIterator[Change]:
        """Yields all changes, and then waits for new ones: ``Changes.follow``.

        Cancel the task to end it.

        Args:
            after: as for `list`.
            resources: as for `list`.
            customer_id: as for `list`.
            poll_s: the most seconds between two looks for new changes.
            timeout_s: ends the feed after this time without a change, in seconds.
        """
        pauses = Pauses(poll_s, timeout_s)
        pause: float | None = 0
        while pause is not None:
            await asyncio.sleep(pause)
            page = await self.list(
                after=after, resources=resources, customer_id=customer_id, limit=PAGE_SIZE
            )
            for change in page.items:
                yield change
            after = page.next_cursor
            if page.items:
                pauses.restart()
            pause = 0 if page.has_more else pauses.next()
