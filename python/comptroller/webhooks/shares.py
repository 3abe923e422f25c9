"""Shares of customers in the requests that are in flight at once."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque

#: The requests in flight at once, each of which has a connection. Customers that have some already
#: keep them when others come, so that these share fewer.
MAX_REQUESTS = 4096
_SHARED = 512
_LARGEST_SHARE = 64
_LEAST_SHARE = 4


class Shares:
    """Lets each customer have requests in flight, and the operator, whose name is None.

    A customer whose receivers are slow waits only for its own requests: others have their share at
    once, which is smaller while many customers have requests. Only if all together have
    MAX_REQUESTS, all wait. For one event loop.
    """

    def __init__(self) -> None:
        self._in_flight: Counter[str | None] = Counter()
        self._waiting: defaultdict[str | None, deque[asyncio.Future[None]]] = defaultdict(deque)
        self._all_in_flight = 0
        self._is_ended = False

    def _has_room(self, customer: str | None) -> bool:
        others = len(self._in_flight) - (customer in self._in_flight)
        share = max(_LEAST_SHARE, min(_LARGEST_SHARE, _SHARED // (others + 1)))
        has_share = self._in_flight[customer] < (share if customer else _SHARED)
        return self._is_ended or (has_share and not self._is_full())

    def _is_full(self) -> bool:
        return self._all_in_flight >= MAX_REQUESTS

    async def take(self, customer: str | None) -> None:
        """Waits until a customer may have one more request, which `give_back` must end."""
        if self._has_room(customer):
            self._begin(customer)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting[customer].append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.give_back(customer)
            raise

    def give_back(self, customer: str | None) -> None:
        """Ends a request; the next ones of the customer follow, or if all waited, of others."""
        was_full = self._is_full()
        self._in_flight[customer] -= 1
        self._all_in_flight -= 1
        if was_full:
            self._admit_one()
        else:
            self._admit(customer)
        if not self._in_flight[customer]:
            del self._in_flight[customer]

    def _begin(self, customer: str | None) -> None:
        self._in_flight[customer] += 1
        self._all_in_flight += 1

    def _admit_one(self) -> None:
        """Lets the customer go on that has waited longest for such a turn and has a share left."""
        for customer in list(self._waiting):
            if self._is_full():
                return
            self._waiting[customer] = self._waiting.pop(customer)
            self._admit(customer)

    def end(self) -> None:
        """Lets all that wait go on, and all that follow."""
        self._is_ended = True
        for customer in list(self._waiting):
            self._admit(customer)

    def _admit(self, customer: str | None) -> None:
        waiting = self._waiting[customer]
        while waiting and self._has_room(customer):
            turn = waiting.popleft()
            if not turn.done():
                self._begin(customer)
                turn.set_result(None)
        if not waiting:
            del self._waiting[customer]
