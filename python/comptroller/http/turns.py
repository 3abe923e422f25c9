"""Turns of requests that wait for a thread, in which each customer has its share."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from comptroller.http.exchange import Disconnected, Exchange


@dataclass
class _Line:
    """The requests of one event loop."""

    free: int
    waiting: dict[str | None, deque[asyncio.Future[None]]] = field(default_factory=dict)


class Turns:
    """Lets some requests of an event loop run at once; of those that wait, customers take turns.

    A request whose client has disconnected gives up its place, so that only connections wait.

    Args:
        at_once: how many requests run at once.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()

    def _line(self) -> _Line:
        return self._lines.setdefault(asyncio.get_running_loop(), _Line(self._at_once))

    async def take(self, exchange: Exchange) -> None:
        """Waits for a turn, which `give_back` must end. Raises Disconnected."""
        line = self._line()
        if line.free > 0:
            line.free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        line.waiting.setdefault(exchange.customer, deque()).append(turn)
        gone = asyncio.ensure_future(exchange.wait_for_disconnect())
        try:
            await asyncio.wait([turn, gone], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not turn.cancel():
                self.give_back()
            raise
        finally:
            gone.cancel()
        if turn.cancel():
            raise Disconnected

    def give_back(self) -> None:
        """Passes a turn to the request that has waited longest, of the customer that is next."""
        line = self._line()
        while line.waiting:
            customer = next(iter(line.waiting))
            turns = line.waiting.pop(customer)
            turn = turns.popleft()
            if turns:
                line.waiting[customer] = turns
            if not turn.done():
                return turn.set_result(None)
        line.free += 1
        return None
