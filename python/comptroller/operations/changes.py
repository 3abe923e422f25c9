"""The change feed: each change of a record once, in order of commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator

from comptroller import arguments
from comptroller.arguments import Id
from comptroller.operations.resource import Request, Resource, request
from comptroller.records import Change, ChangePage
from comptroller.values import ChangedResource

#: The resources of a feed, one or several.
Resources = ChangedResource | Iterable[ChangedResource] | None

#: The changes of a page of `iter` and `follow`.
PAGE_SIZE = 1000
_FIRST_PAUSE_S = 0.02


class Changes(Resource):
    """The change feed of a service.

    A change has the members that it affected, before and after. Each record that a load inserted is
    a change, too. Keep the `cursor` of the last change that you processed: a feed resumes after it
    at any later time.
    """

    __slots__ = ()

    def list(
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
        return self._send(page_request(after, resources, customer_id, limit), ChangePage)

    def iter(
        self,
        *,
        after: str | None = None,
        resources: Resources = None,
        customer_id: Id | None = None,
    ) -> Iterator[Change]:
        """Yields all changes until now.

        A page is fetched when its first change is needed.

        Args:
            after: as for `list`.
            resources: as for `list`.
            customer_id: as for `list`.
        """
        has_more = True
        while has_more:
            page = self.list(
                after=after, resources=resources, customer_id=customer_id, limit=PAGE_SIZE
            )
            yield from page.items
            after, has_more = page.next_cursor, page.has_more

    def follow(
        self,
        *,
        after: str | None = None,
        resources: Resources = None,
        customer_id: Id | None = None,
        poll_s: float = 1.0,
        timeout_s: float | None = None,
        stop: threading.Event | None = None,
    ) -> Iterator[Change]:
        """Yields all changes, and then waits for new ones.

        ::

            for change in svc.changes.follow(after=saved):
                handle(change)
                save(change.cursor)

        Args:
            after: as for `list`.
            resources: as for `list`.
            customer_id: as for `list`.
            poll_s: the most seconds between two looks for new changes. The pauses grow from 0.02 s
                to this limit while there are none.
            timeout_s: ends the feed after this time without a change, in seconds; by default it
                never ends.
            stop: ends the feed when it is set.
        """
        pauses = Pauses(poll_s, timeout_s)
        stopped = stop or threading.Event()
        while not stopped.is_set():
            page = self.list(
                after=after, resources=resources, customer_id=customer_id, limit=PAGE_SIZE
            )
            yield from page.items
            after = page.next_cursor
            if page.items:
                pauses.restart()
            if page.has_more:
                continue
            pause = pauses.next()
            if pause is None or stopped.wait(pause):
                return


def page_request(
    after: str | None, resources: Resources, customer_id: Id | None, limit: int | None
) -> Request:
    """Returns the request of a page. Raises InvalidRequest."""
    query = {
        "after": after or None,
        "resources": resources,
        "customer_id": customer_id,
        "limit": limit,
    }
    return request("changes.list", query)


class Pauses:
    """The pauses between two looks for new changes: ever longer, until a time without changes."""

    def __init__(self, poll_s: float, timeout_s: float | None) -> None:
        self._longest = arguments.seconds("poll_s", poll_s)
        self._timeout = None if timeout_s is None else arguments.seconds("timeout_s", timeout_s)
        self.restart()

    def restart(self) -> None:
        """Begins again with a short pause and the whole time."""
        self._pause = _FIRST_PAUSE_S
        self._end = None if self._timeout is None else time.monotonic() + self._timeout

    def next(self) -> float | None:
        """Returns the seconds of the next pause; None after the time without changes."""
        pause = min(self._pause, self._longest)
        self._pause *= 2
        if self._end is None:
            return pause
        rest = self._end - time.monotonic()
        return min(pause, rest) if rest > 0 else None
