"""Progress bars and elapsed times, shown by tqdm on standard error or in a notebook."""

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

#: Called with the bytes done, the total bytes (None if unknown) and the rows done.
Progress: TypeAlias = Callable[[int, int | None, int], None]

#: Delay of a bar that the caller did not request, and of elapsed times.
_DELAY_S = 1.0
_REFRESH_S = 0.5


def observer(
    progress: Progress | bool | None, title: str
) -> AbstractContextManager[Progress | None]:
    """Yields a progress callback, or None.

    The callback is `progress` itself if that is callable, a bar for True, None for False. If
    `progress` is None, the callback is a bar in a notebook that has tqdm, else None.

    Raises:
        InvalidRequest: `progress` is neither a callable nor a bool.
        MissingExtra: `progress` is True, and tqdm is not installed.
    """
    if callable(progress):
        return nullcontext(progress)
    if progress not in (None, True, False):
        raise invalid("progress", "not a callback; give a callable, or True for a bar")
    if progress:
        return bar(title)
    return bar(title, _DELAY_S) if progress is None and _in_notebook() else nullcontext()


def busy(title: str) -> AbstractContextManager[None]:
    """Shows the elapsed time in a notebook that has tqdm."""
    return clock(title) if _in_notebook() else nullcontext()


@contextmanager
def bar(title: str, delay_s: float = 0.0) -> Iterator[Progress]:
    """Shows a bar of bytes and rows from `delay_s` on, until the end of the scope."""
    form = {"unit": "B", "unit_scale": True, "leave": False, "dynamic_ncols": True}
    with _bars().tqdm(desc=title, delay=delay_s, **form) as shown:

        def advance(done: int, total: int | None, rows: int) -> None:
            shown.total = total
            shown.set_postfix_str(f"{rows:,} rows", refresh=False)
            shown.update(done - shown.n)

        yield advance


@contextmanager
def clock(title: str) -> Iterator[None]:
    """Shows the elapsed time after a second, for work of unknown length."""
    ended, began = Event(), time.time()
    bars = _bars()  # not in the thread, because warning filters are shared by all threads

    def show() -> None:
        if not ended.wait(_DELAY_S):
            with bars.tqdm(desc=title, leave=False, bar_format="{desc}: {elapsed}") as shown:
                shown.start_t = began
                while not ended.wait(_REFRESH_S):
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
        warnings.simplefilter("ignore")  # without widgets, tqdm warns and shows a text bar
        require("tqdm", "progress=True", "analysis")
        return import_module("tqdm.auto")


def _in_notebook() -> bool:
    interactive = sys.modules.get("IPython")
    has_kernel = interactive is not None and hasattr(interactive.get_ipython(), "kernel")
    return has_kernel and find_spec("tqdm") is not None
