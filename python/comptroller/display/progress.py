"""Bars and clocks for long work, drawn by tqdm on standard error or in a notebook."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from threading import Event, Thread
from typing import Any, TypeAlias

from comptroller.errors import invalid, require

#: Called with the bytes done, the bytes in all (None if unknown) and the rows done.
Progress: TypeAlias = Callable[[int, int | None, int], None]

#: Work that is over sooner needs no bar, unless one was asked for.
_SOON_S = 1.0
_BETWEEN_LOOKS_S = 0.5


def observer(
    progress: Progress | bool | None, title: str
) -> AbstractContextManager[Progress | None]:
    """What is called with the progress until the end of the scope, or None.

    It is `progress` itself if that can be called, a bar for True, nothing for False. For None it
    is a bar in a notebook that has tqdm.

    Raises:
        InvalidRequest: `progress` is neither something to call nor a flag.
        MissingExtra: a bar is asked for, and tqdm is not installed.
    """
    if callable(progress):
        return nullcontext(progress)
    if progress not in (None, True, False):
        raise invalid("progress", "it must be something to call, or True for a bar")
    if progress:
        return bar(title)
    return bar(title, _SOON_S) if progress is None and _in_notebook() else nullcontext()


def busy(title: str) -> AbstractContextManager[None]:
    """A clock, in a notebook that has tqdm."""
    return clock(title) if _in_notebook() else nullcontext()


@contextmanager
def bar(title: str, delay_s: float = 0.0) -> Iterator[Progress]:
    """A bar of bytes and rows, gone at the end of the scope; it appears after `delay_s`."""
    form = {"unit": "B", "unit_scale": True, "leave": False, "dynamic_ncols": True}
    with _bars().tqdm(desc=title, delay=delay_s, **form) as shown:

        def advance(done: int, total: int | None, rows: int) -> None:
            shown.total = total
            shown.set_postfix_str(f"{rows:,} rows", refresh=False)
            shown.update(done - shown.n)

        yield advance


@contextmanager
def clock(title: str) -> Iterator[None]:
    """How long work takes that cannot say how far it is; it appears after a second."""
    ended, began = Event(), time.time()
    bars = _bars()  # not in the thread: the filters of warnings belong to all threads

    def show() -> None:
        if not ended.wait(_SOON_S):
            with bars.tqdm(desc=title, leave=False, bar_format="{desc}: {elapsed}") as shown:
                shown.start_t = began
                while not ended.wait(_BETWEEN_LOOKS_S):
                    shown.refresh()

    thread = Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _bars() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without widgets has a bar of text
        require("tqdm", "progress=True", "analysis")
        return import_module("tqdm.auto")


def _in_notebook() -> bool:
    interactive = sys.modules.get("IPython")
    has_kernel = interactive is not None and hasattr(interactive.get_ipython(), "kernel")
    return has_kernel and find_spec("tqdm") is not None
