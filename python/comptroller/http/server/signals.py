"""Signals of a server process, and the time in which it ends after them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from comptroller import _core

#: The time limits in seconds for the end of the process after the first and after a second signal,
#: whatever it does.
END_AT_LATEST_S = 10
END_NOW_WITHIN_S = 2


def on_signals(
    stop: Callable[[], None],
    reload: Callable[[], None],
    stopping: Callable[[str], None],
    end_now_within_s: int = END_NOW_WITHIN_S,
) -> None:
    """Calls `stop` for SIGTERM and SIGINT, `reload` for SIGHUP. In the running event loop.

    SIGHUP stops a process whose terminal was closed. `stopping` is called before `stop`, with the
    name of the signal. The process ends at the latest when a limit after the first or the second
    signal has passed, even after the event loop ended.
    """
    # Under nohup, SIGHUP is ignored, and the process continues after its terminal was closed.
    is_of_terminal = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN and _has_terminal()

    def end(number: signal.Signals) -> None:
        stopping(number.name)
        stop()

    def hang_up() -> None:
        if is_of_terminal and not _has_terminal():  # the terminal was closed
            stopping(signal.SIGHUP.name)
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            reload()

    # asyncio.Runner restores its own handler of SIGINT, unless it was replaced in Python.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reactions: dict[int, _Reaction] = {
        number: _Reaction(partial(end, number), END_AT_LATEST_S, end_now_within_s)
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    _receive(reactions | {signal.SIGHUP: _Reaction(hang_up)})


def on_worker_signals(
    stop: Callable[[], None], stop_now: Callable[[], None], reload: Callable[[], None]
) -> None:
    """Calls functions for the signals of a supervisor: SIGTERM, SIGQUIT and SIGHUP."""
    # SIGTERM may arrive twice: from a service manager and from the supervisor.
    _receive(
        {
            signal.SIGTERM: _Reaction(stop, END_AT_LATEST_S),
            signal.SIGQUIT: _Reaction(stop_now, END_NOW_WITHIN_S, END_NOW_WITHIN_S),
            signal.SIGHUP: _Reaction(reload),
        }
    )


def ignore_more_signals() -> None:
    """Ignores the signals of a supervisor in a worker that ends.

    Otherwise the end of the command and of Python restores their default action, which kills it.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


class _Reaction(NamedTuple):
    """What a signal calls, and the limits in seconds for the end of the process.

    Attributes:
        call: the function to call.
        first_s: the limit if the signal is the first; 0 is none.
        repeated_s: the limit if it is a further one; 0 is none.
    """

    call: Callable[[], None]
    first_s: int = 0
    repeated_s: int = 0


def _receive(reactions: dict[int, _Reaction]) -> None:
    """Calls functions for signals, in the running event loop."""
    descriptor = _core.receive_signals(
        {number: (each.first_s, each.repeated_s) for number, each in reactions.items()}
    )

    def deliver() -> None:
        with suppress(BlockingIOError):
            for number in os.read(descriptor, 64):
                reactions[number].call()

    asyncio.get_running_loop().add_reader(descriptor, deliver)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
