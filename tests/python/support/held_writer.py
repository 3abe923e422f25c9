"""Something that happens while a load has the writer."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from comptroller import Service
from examples import short_line


class WhileWriting:
    """A progress callback that calls a function once, between lines that its load stores.

    The load must store more lines than it takes at once, not prepared on a private copy.
    """

    def __init__(self, act: Callable[[], object]) -> None:
        self._act: Callable[[], object] | None = act

    def __call__(self, _read: int, _total: int | None, rows: int) -> None:
        if rows == 0:
            Event().wait(0.11)  # so that the next time to call is due at once
        elif self._act:
            act, self._act = self._act, None
            act()


def while_writing(svc: Service, act: Callable[[], object]) -> None:
    """Calls `act` while a load has the writer. The load stores nothing."""
    called: list[bool] = []
    lines = [short_line("identities", id=f"held-{number}") for number in range(2000)]
    progress = WhileWriting(lambda: (called.append(True), act()))
    svc.load("identities", lines, dry_run=True, progress=progress)
    assert called
