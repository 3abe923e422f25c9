"""Writes of an event loop: queued in the core, completed by callbacks on the loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary

from comptroller._core import DeferredWrites, Principal, Store
from comptroller.errors import Error

#: The result of the core, and whether it is a replay; or the error of the write.
Outcome = tuple[bytes, bool] | Error

#: The size in bytes from which parsing a body takes milliseconds.
LARGE_BODY = 16 << 10

_log = logging.getLogger(__name__)


class Writes:
    """The pending writes of one event loop. For the thread of the loop.

    The core commits queued writes together without the GIL, and signals once for each commit.

    Args:
        store: the store.
        loop: the event loop that runs the callbacks.
    """

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self._store = store
        self._waiting: dict[int, Callable[[Outcome], None]] = {}
        self._early: dict[int, Outcome] = {}  # outcomes that arrived before `expect`
        self.deferred = DeferredWrites()
        loop.add_reader(self.deferred.fileno(), self._deliver)

    async def call(
        self,
        principal: Principal,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None,
        idempotency_key: str | None,
        request_id: str | None,
    ) -> Outcome:
        """Executes a write; returns its outcome."""
        waiting = asyncio.get_running_loop().create_future()

        def wake(outcome: Outcome) -> None:
            if not waiting.done():  # it is cancelled if the client disconnected
                waiting.set_result(outcome)

        call = (self._store, principal, operation, parameters, body, idempotency_key, request_id)
        submit = partial(self.deferred.submit, *call)
        if body is None or len(body) < LARGE_BODY:
            self.expect(submit(), wake)
        else:
            await asyncio.shield(asyncio.ensure_future(self._submit_in_thread(submit, wake)))
        outcome: Outcome = await waiting
        return outcome

    async def _submit_in_thread(
        self, submit: Callable[[], int], receive: Callable[[Outcome], None]
    ) -> None:
        """Submits a write in a thread. Must not be cancelled: a queued write has an outcome."""
        self.expect(await asyncio.to_thread(submit), receive)

    def expect(self, ticket: int, receive: Callable[[Outcome], None]) -> None:
        """Registers the callback for the outcome of a submitted write."""
        if ticket in self._early:
            receive(self._early.pop(ticket))
        else:
            self._waiting[ticket] = receive

    def _deliver(self) -> None:
        for ticket, outcome in self.deferred.take():
            receive = self._waiting.pop(ticket, None)
            if receive is None:
                self._early[ticket] = outcome
                continue
            try:
                receive(outcome)
            except Exception:  # the other writes of the commit must get their outcomes
                _log.exception("the outcome of a write was not delivered")


class WritesByLoop:
    """The Writes of each event loop that runs an application."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Writes] = WeakKeyDictionary()

    def current(self) -> Writes:
        """Returns the Writes of the running loop."""
        loop = asyncio.get_running_loop()
        writes = self._by_loop.get(loop)
        if writes is None:
            writes = self._by_loop[loop] = Writes(self._store, loop)
        return writes
