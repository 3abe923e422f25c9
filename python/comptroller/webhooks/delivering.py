"""Delivery of the events of all webhooks of a store, by one process at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex
from threading import Thread

from comptroller import _core
from comptroller._core import Principal, Store
from comptroller.errors import Closed, Error
from comptroller.webhooks.endpoint import GIVE_UP_S, Counts, Delivery, Endpoint, retry_delay
from comptroller.webhooks.sending import Sender

#: The store is looked at for changes this often.
POLL_S = 0.2
#: Another process takes over when the lease of one that was killed has ended.
LEASE_S = 15
_RENEW_AFTER_S = 5.0
#: The time for requests in flight when delivery stops.
_END_WITHIN_S = 5.0
_PRINCIPAL = Principal(None, None, None, "operator:webhooks")
_log = logging.getLogger(__name__)


class Deliverer:
    """Delivers the events of all webhooks that are not paused.

    Each webhook has a task of its own, so that a slow receiver delays none of others. The store has
    the progress and the events that were not delivered yet: memory holds at most one window of
    events of each webhook. A lease in the store ensures that one process delivers.

    Args:
        store: the store.
        sender: sends the requests; closed at the end.
        counts: is counted up.
        retry_s: see Delivery.
        give_up_s: see Delivery.
    """

    def __init__(
        self,
        store: Store,
        sender: Sender,
        counts: Counts,
        *,
        retry_s: Callable[[int], float] = retry_delay,
        give_up_s: float = GIVE_UP_S,
    ) -> None:
        self._delivery = Delivery(
            store,
            _PRINCIPAL,
            sender,
            counts,
            token_hex(16),
            self._is_leased,
            retry_s,
            give_up_s,
        )
        self._tasks: dict[int, tuple[Endpoint, asyncio.Task[None]]] = {}
        self._version: int | None = None
        self._leased_until = float("-inf")  # monotonic
        self._is_failing = False

    async def run(self, stopping: asyncio.Event) -> None:
        """Delivers until `stopping` is set, then ends the requests in flight."""
        try:
            while not stopping.is_set():
                try:
                    await self._look()
                    self._is_failing = False
                except Closed:
                    return
                except Exception as error:  # a defect must not end the delivery for good
                    self._version = None
                    if not self._is_failing:
                        defect = None if isinstance(error, Error) else error
                        _log.warning("webhooks are not delivered now: %s", error, exc_info=defect)
                    self._is_failing = True
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await stopping.wait()
        finally:
            await self._end()
            with suppress(Error):
                if self._is_leased():
                    await self._lease(0)
            await self._delivery.sender.close()

    def _is_leased(self) -> bool:
        return time.monotonic() < self._leased_until

    async def _look(self) -> None:
        """Starts, informs and stops the tasks of webhooks as the store says."""
        # In a thread, because a database may let it wait longer than the lease.
        version: int | None = await asyncio.to_thread(self._delivery.store.version)
        ended = [key for key, (_, task) in self._tasks.items() if task.done()]
        is_due = self._tasks and time.monotonic() > self._leased_until - LEASE_S + _RENEW_AFTER_S
        if version == self._version and not ended and not is_due:
            return
        webhooks = {
            webhook.key: webhook
            for webhook in await asyncio.to_thread(
                _core.active_webhooks, self._delivery.store, self._delivery.principal
            )
        }
        if webhooks and (is_due or not self._is_leased()) and not await self._lease(LEASE_S):
            self._leased_until = float("-inf")
            webhooks = {}
            version = None  # look again
        for key in ended:
            _, task = self._tasks.pop(key)
            _log_failure(task)
        for key, (endpoint, _) in self._tasks.items():
            if key in webhooks:
                endpoint.update(webhooks[key])
            else:
                endpoint.stop()  # it ends the requests in flight
        for key, webhook in webhooks.items():
            if key not in self._tasks:
                endpoint = Endpoint(self._delivery, webhook)
                self._tasks[key] = endpoint, asyncio.create_task(endpoint.run())
        self._version = version

    async def _end(self) -> None:
        """Ends all tasks, those with requests in flight within a time limit."""
        self._delivery.sender.stop()
        tasks = []
        for endpoint, task in self._tasks.values():
            endpoint.stop()
            tasks.append(task)
        if tasks:
            _, running = await asyncio.wait(tasks, timeout=_END_WITHIN_S)
            for task in running:
                task.cancel()
            await asyncio.wait(tasks)
            for task in tasks:
                _log_failure(task)

    async def _lease(self, seconds: int) -> bool:
        began = time.monotonic()
        is_leased = await asyncio.to_thread(
            _core.lease_delivery,
            self._delivery.store,
            self._delivery.principal,
            self._delivery.holder,
            seconds,
        )
        if is_leased:
            self._leased_until = began + seconds
        return is_leased


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # the extra `server` has it
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _log_failure(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    # An Error is a state of the store, which the next look at it reports.
    if error is not None and not isinstance(error, Error):
        _log.error("the delivery of a webhook failed", exc_info=error)


@contextmanager
def delivering(store: Store, counts: Counts) -> Iterator[Callable[[], None]]:
    """Delivers in a thread with an event loop of its own, until the block ends.

    Yields a function that begins the end and does not wait for it.

    Raises Unusable if other servers of the database have another webhook key.
    """
    _core.share_webhook_key(store, _PRINCIPAL)
    loop = _new_loop()
    stopping = asyncio.Event()

    def deliver() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(Deliverer(store, Sender(), counts).run(stopping))

    thread = Thread(target=deliver, name="comptroller-webhooks", daemon=True)
    thread.start()

    def stop() -> None:
        with suppress(RuntimeError):  # the thread has ended
            loop.call_soon_threadsafe(stopping.set)

    try:
        yield stop
    finally:
        stop()
        thread.join(_END_WITHIN_S + 1)
