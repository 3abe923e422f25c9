"""Writes of one event loop: queued in the core, answered by callbacks of the loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary

from comptroller._core import DeferredWrites, Principal, Store
from comptroller.errors import Error

#: The answer of the core, and whether an idempotency key replays it; or what refuses the write.
Outcome = tuple[bytes, bool] | Error

#: Bytes from which a body takes milliseconds to read.
LARGE_BODY = 16 << 10

_log = logging.getLogger(__name__)


class Writes:
    """The writes that requests on one event loop wait for. For the thread of the loop.

    The core commits together what is queued together, without the interpreter's lock, and signals
    once per commit.

    Args:
        store: writes into it.
        loop: calls back.
    """

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self._store = store
        self._waiting: dict[int, Callable[[Outcome], None]] = {}
        self._early: dict[int, Outcome] = {}  # outcomes that came before anybody waits for them
        self.deferred = DeferredWrites()
        loop.add_reader(self.deferred.fileno(), self._deliver)

    async def call(
        self,
        principal: Principal,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None,
        idempotency_key: str | None,
    ) -> Outcome:
        """The outcome of an operation that writes."""
        waiting = asyncio.get_running_loop().create_future()

        def wake(outcome: Outcome) -> None:
            if not waiting.done():  # the client may have gone
                waiting.set_result(outcome)

        call = (self._store, principal, operation, parameters, body, idempotency_key)
        submit = partial(self.deferred.submit, *call)
        if body is None or len(body) < LARGE_BODY:
            self.expect(submit(), wake)
        else:
            await asyncio.shield(asyncio.ensure_future(self._submit_beside(submit, wake)))
        outcome: Outcome = await waiting
        return outcome

    async def _submit_beside(
        self, submit: Callable[[], int], receive: Callable[[Outcome], None]
    ) -> None:
        """Submits a write in a thread. Not to be cancelled: a queued write has an outcome."""
        self.expect(await asyncio.to_thread(submit), receive)

    def expect(self, ticket: int, receive: Callable[[Outcome], None]) -> None:
        """Calls `receive` with the outcome of a write that was submitted."""
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
            except Exception:  # the others of the commit wait for theirs
                _log.exception("an answer was not delivered")


class WritesByLoop:
    """The Writes of each event loop that an application is used on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Writes] = WeakKeyDictionary()

    def current(self) -> Writes:
        """Those of the running loop."""
        loop = asyncio.get_running_loop()
        writes = self._by_loop.get(loop)
        if writes is None:
            writes = self._by_loop[loop] = Writes(self._store, loop)
        return writes
