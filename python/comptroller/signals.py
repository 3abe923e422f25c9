"""Delaying of signals during work that must not end halfway."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def delayed() -> Iterator[None]:
    """Runs the handlers of SIGINT, SIGTERM and SIGHUP after the block.

    Only handlers in Python are delayed. Outside the main thread, no handler runs.
    """
    received: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if callable(handler := signal.getsignal(number)):
                handlers[number] = handler
                signal.signal(number, lambda each, _frame: received.append(each))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for each in received:
            handlers[signal.Signals(each)](each, None)
