"""A bar for long work: in a notebook by itself, elsewhere where it is asked for."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Event, Thread
from typing import Any, TypeAlias

from comptroller.errors import invalid
from comptroller.streams import require

#: Hears of bytes done, bytes in all (None if unknown) and rows.
Progress: TypeAlias = Callable[[int, int | None, int], None]

#: What is over sooner needs no bar, unless one was asked for.
_SOON_S = 1.0
_BETWEEN_LOOKS_S = 0.5


@contextmanager
def heard(progress: Progress | bool | None, title: str) -> Iterator[Progress | None]:
    """Who hears of progress: who is given, or a bar until the end of the scope.

    Of None it is a bar in a notebook that has tqdm, else nobody.

    Raises:
        InvalidRequest: neither something to call nor a flag.
        MissingExtra: a bar is asked for, and tqdm is not installed.
    """
    if callable(progress):
        yield progress
    elif progress not in (None, True, False):
        raise invalid("progress", "it must be something to call, or True for a bar")
    elif progress or (progress is None and _in_notebook() and find_spec("tqdm")):
        with _bar(title, _SOON_S if progress is None else 0.0) as shown:
            yield shown
    else:
        yield None


@contextmanager
def waiting(title: str) -> Iterator[None]:
    """Shows how long what cannot tell how far it is takes, in a notebook that has tqdm."""
    if not (_in_notebook() and find_spec("tqdm")):
        yield
        return
    ended, began = Event(), time.time()
    bars = _bars()  # not in the thread: filters of warnings are everybody's

    def show() -> None:
        if not ended.wait(_SOON_S):
            with bars.tqdm(desc=title, leave=False, bar_format="{desc}: {elapsed}") as bar:
                bar.start_t = began
                while not ended.wait(_BETWEEN_LOOKS_S):
                    bar.refresh()

    shower = Thread(target=show, daemon=True)
    shower.start()
    try:
        yield
    finally:
        ended.set()
        shower.join()


@contextmanager
def _bar(title: str, delay: float) -> Iterator[Progress]:
    form = {"unit": "B", "unit_scale": True, "delay": delay, "leave": False, "dynamic_ncols": True}
    with _bars().tqdm(desc=title, **form) as bar:

        def advance(done: int, total: int | None, rows: int) -> None:
            bar.total = total
            bar.set_postfix_str(f"{rows:,} rows", refresh=False)
            bar.update(done - bar.n)

        yield advance


def _bars() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without widgets has a bar of text
        return require("tqdm.auto", "progress=True", "tqdm")


def _in_notebook() -> bool:
    interactive = sys.modules.get("IPython")
    return interactive is not None and hasattr(interactive.get_ipython(), "kernel")
