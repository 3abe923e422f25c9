"""Delivery of the events of one webhook."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec

from comptroller import _core
from comptroller._core import ActiveWebhook, EventBatch, Principal, Store, WebhookEvent
from comptroller.errors import NotFound
from comptroller.webhooks.sending import Answer, Sender

#: Events that are read together, and requests of a webhook in flight.
_WINDOW = 256
_CONCURRENCY = 16
#: After this number of failures in a row only one event is tried at a time, and no new one.
_DOWN_AFTER = 8
#: The number of considered changes without an event after which the progress is stored.
_ENTRIES_BETWEEN_REPORTS = 1000
#: A webhook is paused if an event cannot be delivered for three days.
GIVE_UP_S = 3 * 86_400.0
_FIRST_DELAY_S = 5.0
_LONGEST_DELAY_S = 6 * 3600.0
_US = 1_000_000
_NOT_TRIED = "not tried, because requests before it failed"
_log = logging.getLogger(__name__)


def retry_delay(attempts: int) -> float:
    """Returns the seconds until the next attempt: 5, 10, 20, ... to 6 hours, by up to 20% less."""
    longest = min(_FIRST_DELAY_S * (1 << min(attempts - 1, 20)), _LONGEST_DELAY_S)
    return longest * random.uniform(0.8, 1)


@dataclass
class Counts:
    """What was delivered since the start of the process."""

    delivered: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Delivery:
    """What the webhooks of a process share.

    Attributes:
        holder: the holder of the lease.
        is_leased: whether it has the lease now.
        retry_s: the delay after a number of failed attempts, in seconds.
        give_up_s: a webhook is paused if an event cannot be delivered for this time.
    """

    store: Store
    principal: Principal
    sender: Sender
    counts: Counts
    holder: str
    is_leased: Callable[[], bool]
    retry_s: Callable[[int], float] = retry_delay
    give_up_s: float = GIVE_UP_S


class Endpoint:
    """Delivers the events of one webhook in order, those of different records concurrently.

    An event that fails is stored with the time of its next attempt. Later events of its record
    wait for it.
    """

    def __init__(self, delivery: Delivery, webhook: ActiveWebhook) -> None:
        self._delivery = delivery
        self._webhook = webhook
        self._destination = webhook.destination
        self._stored = webhook.considered
        self._considered = webhook.considered
        self._changed = asyncio.Event()
        self._is_outdated = False  # the batch, which was read with an earlier state of the webhook
        self._is_stopping = False
        self._failures = 0  # in a row
        self._pause_reason: str | None = None
        self._requests = asyncio.Semaphore(_CONCURRENCY)

    def update(self, webhook: ActiveWebhook) -> None:
        """Continues with the present state of the webhook, after a commit of any process."""
        self._webhook = webhook
        # A batch may have been read with a later state than this one.
        if webhook.destination.updated_at > self._destination.updated_at:
            self._is_outdated = True
        self._changed.set()

    def stop(self) -> None:
        """Ends `run` after the requests in flight."""
        self._is_stopping = True
        self._changed.set()

    async def run(self) -> None:
        """Delivers until `stop`, or until another process or a replay changed the progress."""
        while not self._is_stopping and self._delivery.is_leased():
            try:
                batch = await self._take()
            except NotFound:
                return None
            outcomes = await self._deliver(batch)
            if not await self._report(batch, outcomes):
                return None
            if self._pause_reason is not None and not self._is_outdated:
                return await self._pause(self._pause_reason)
            self._pause_reason = None  # of a former receiver
            if not outcomes and (batch.is_at_end or self._is_down()):
                await self._wait(batch.next_due)
        return None

    def _is_down(self) -> bool:
        return self._failures >= _DOWN_AFTER

    def _may_send(self) -> bool:
        """Whether the webhook was not changed, paused or deleted, and this process delivers.

        After a change, the rest of the batch is read again: the webhook may have another place, or
        other types of events.
        """
        is_ending = self._is_stopping or self._is_outdated or self._pause_reason is not None
        return not is_ending and self._delivery.is_leased()

    async def _take(self) -> EventBatch:
        """Reads events and, as of the same moment, where they go."""
        is_down = self._is_down()
        window = _CONCURRENCY if self._failures else _WINDOW
        while True:
            self._changed.clear()
            batch = await asyncio.to_thread(
                _core.take_events,
                self._delivery.store,
                self._delivery.principal,
                self._webhook.key,
                self._considered,
                1 if is_down else window,
                0 if is_down else window,
            )
            # After a change meanwhile the batch may go to a former place.
            is_current = self._webhook.destination.updated_at <= batch.destination.updated_at
            if self._is_stopping or is_current:
                self._destination = batch.destination
                self._is_outdated = False
                return batch

    async def _deliver(self, batch: EventBatch) -> list[tuple[WebhookEvent, bool]]:
        """Returns the events of a batch, each with whether it was delivered."""
        outcomes: list[tuple[WebhookEvent, bool]] = []
        by_record: dict[tuple[str, str], list[WebhookEvent]] = {}
        for event in batch.events:
            if event.is_blocked:
                event.note(None, 0, None)
                outcomes.append((event, False))
            else:
                by_record.setdefault(event.record, []).append(event)
        # A blocked event is no longer one of its record's, so a retry stands alone.
        deliveries = [self._deliver_in_order([event], is_retry=True) for event in batch.retries]
        deliveries += map(self._deliver_in_order, by_record.values())
        for delivered in await asyncio.gather(*deliveries):
            outcomes += delivered
        return outcomes

    async def _deliver_in_order(
        self, events: Iterable[WebhookEvent], *, is_retry: bool = False
    ) -> list[tuple[WebhookEvent, bool]]:
        """Delivers events of one record; those after a failure wait."""
        outcomes = []
        has_failed = False
        for event in events:
            if has_failed:
                event.note(None, 0, None)
            else:
                is_delivered = await self._try_in_turn(event, is_retry=is_retry)
                if is_delivered is None and is_retry:
                    continue  # it stays as it is stored, and is due
                if is_delivered is None:
                    event.note(None, self._delivery.store.now(), None)
                has_failed = not is_delivered
            outcomes.append((event, not has_failed))
        return outcomes

    async def _try_in_turn(self, event: WebhookEvent, *, is_retry: bool) -> bool | None:
        """Does the same as `_try` when the webhook and its owner may have one more request."""
        async with self._requests:
            if not self._may_send():
                return None
            async with self._delivery.sender.turn(self._destination.customer_id):
                return await self._try(event, is_retry=is_retry)

    async def _try(self, event: WebhookEvent, *, is_retry: bool) -> bool | None:
        """Returns whether an event was delivered; None if it was not sent."""
        if not self._may_send():
            return None
        if self._is_down() and not is_retry:
            event.note(None, self._after(self._delivery.retry_s(1)), _NOT_TRIED)
            return False
        now = self._delivery.store.now()
        answer = await self._post(event, now)
        if answer.error is None:
            event.note(now, None, None)
            self._failures = 0
            self._delivery.counts.delivered += 1
            return True
        if self._is_outdated or (not self._may_send() and not answer.is_gone):
            return None  # perhaps because of the end
        self._failures += 1
        self._delivery.counts.failed += 1
        delay_s = max(self._delivery.retry_s(event.attempts + 1), answer.retry_after_s)
        first = event.first_attempt_at or now
        event.note(now, None if event.is_test else self._after(delay_s), answer.error[:1000])
        if answer.is_gone:
            self._pause_reason = answer.error
        elif now - first >= self._delivery.give_up_s * _US and not event.is_test:
            self._pause_reason = f"an event could not be delivered: {answer.error}"
        return False

    async def _post(self, event: WebhookEvent, now: int) -> Answer:
        seconds = str(now // _US)
        content = b".".join((event.webhook_id.encode(), seconds.encode(), event.body))
        headers = {
            "webhook-id": event.webhook_id,
            "webhook-timestamp": seconds,
            "webhook-signature": self._destination.sign(content, now),
        }
        return await self._delivery.sender.post(
            self._destination.url,
            headers,
            event.body,
            customer_id=self._destination.customer_id,
        )

    async def _report(self, batch: EventBatch, outcomes: list[tuple[WebhookEvent, bool]]) -> bool:
        """Stores the progress; returns whether this process may continue."""
        considered = batch.next
        is_far = considered[0] - self._stored[0] >= _ENTRIES_BETWEEN_REPORTS
        if not outcomes and not is_far and self._webhook.considered == self._stored:
            self._considered = considered
            return True
        is_stored = await asyncio.to_thread(
            _core.report_deliveries,
            self._delivery.store,
            self._delivery.principal,
            self._delivery.holder,
            self._webhook.key,
            self._stored,
            considered,
            outcomes,
        )
        self._stored = self._considered = considered
        return is_stored

    async def _pause(self, reason: str) -> None:
        body = msgspec.json.encode({"status": "PAUSED", "status_reason": reason[:1024]})
        parameters = [("id", self._webhook.id)]
        await asyncio.to_thread(
            self._delivery.store.call,
            self._delivery.principal,
            "webhooks.update",
            parameters,
            body,
            None,
        )
        _log.warning("webhook %s is paused: %s", self._webhook.id, reason)

    async def _wait(self, next_due: int | None) -> None:
        """Waits for a commit, or for the next attempt."""
        seconds = None
        if next_due is not None:
            seconds = max(0.0, (next_due - self._delivery.store.now()) / _US)
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    def _after(self, seconds: float) -> int:
        """Returns a later time of the clock of the store, which servers of a database share."""
        return self._delivery.store.now() + round(seconds * _US)
