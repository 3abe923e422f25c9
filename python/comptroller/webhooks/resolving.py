"""The resolution of the names of receivers, in threads that no owner of webhooks can occupy."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

#: Returns the addresses of a host and port; blocks, and raises OSError. Is called in a thread.
Resolve = Callable[[str, int], list[str]]
_STOPPED = "the process that delivers ends"
_Place = tuple[str, int]
_Answers = list["asyncio.Future[list[str]]"]


def resolve(host: str, port: int) -> list[str]:
    """Returns the addresses of a host and port, as getaddrinfo orders them. Raises OSError."""
    # As bytes, because Python raises UnicodeError for a str with a label that is too long.
    found = socket.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Resolver:
    """Resolves names in daemon threads, because no lookup can be cancelled.

    A name server that does not answer keeps a lookup for many seconds, also after the caller has
    given up. So each owner has a share of the lookups, and a host has at most one: all callers
    get its answer. The owner with the fewest running lookups is next. The end of the process does
    not wait for a lookup.

    For one event loop.

    Args:
        resolve: resolves one name.
        at_once: the lookups that run at once.
        share: those of one owner.
    """

    def __init__(self, resolve: Resolve, at_once: int, *, share: int) -> None:
        self._resolve = resolve
        self._at_once = at_once
        self._share = share
        self._owners: Counter[str | None] = Counter()  # of the running lookups
        self._running: dict[_Place, _Answers] = {}
        self._waiting: dict[str | None, dict[_Place, _Answers]] = {}
        self._is_stopped = False

    def stop(self) -> None:
        """Fails the present callers and all later ones."""
        self._is_stopped = True
        waiting = (answers for places in self._waiting.values() for answers in places.values())
        for answers in (*self._running.values(), *waiting):
            _answer(answers, OSError(_STOPPED))
        self._waiting.clear()

    async def addresses(self, owner: str | None, host: str, port: int) -> list[str]:
        """Returns the addresses of a host and port. Raises OSError."""
        if self._is_stopped:
            raise OSError(_STOPPED)
        answer: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        place = host, port
        if place in self._running:
            self._running[place].append(answer)
        else:
            self._waiting.setdefault(owner, {}).setdefault(place, []).append(answer)
            self._start()
        return await answer

    def _start(self) -> None:
        """Starts lookups of waiting callers, as many as may run."""
        while len(self._running) < self._at_once and self._waiting:
            owner = min(self._waiting, key=self._owners.__getitem__)
            if self._owners[owner] >= self._share:
                return
            place = next(iter(self._waiting[owner]))
            if answers := self._take(place):
                self._look_up(owner, place, answers)

    def _take(self, place: _Place) -> _Answers:
        """Returns the callers of all owners that wait for a place and have not given up."""
        taken: _Answers = []
        for owner, places in list(self._waiting.items()):
            taken += places.pop(place, [])
            if not places:
                del self._waiting[owner]
        return [answer for answer in taken if not answer.done()]

    def _look_up(self, owner: str | None, place: _Place, answers: _Answers) -> None:
        loop = asyncio.get_running_loop()
        self._running[place] = answers
        self._owners[owner] += 1

        def look_up() -> None:
            found: list[str] | Exception
            try:
                found = self._resolve(*place)
            except Exception as error:
                found = error
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(self._end, owner, place, found)

        try:
            Thread(target=look_up, name="comptroller-resolver", daemon=True).start()
        except RuntimeError as error:  # the system has no more threads
            loop.call_soon(self._end, owner, place, OSError(str(error)))

    def _end(self, owner: str | None, place: _Place, found: list[str] | Exception) -> None:
        """Answers the callers of a lookup, and starts the next."""
        self._owners[owner] -= 1
        self._owners += Counter()  # forgets those without one
        _answer(self._running.pop(place), found)
        self._start()


def _answer(answers: _Answers, found: list[str] | Exception) -> None:
    for answer in answers:
        if answer.done():
            continue
        if isinstance(found, Exception):
            answer.set_exception(found)
        else:
            answer.set_result(found)
