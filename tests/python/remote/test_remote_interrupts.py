"""A Ctrl-C at any point of a request leaves a connected service usable."""

from __future__ import annotations

import sys
import threading
from itertools import count
from types import FrameType
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")

from comptroller.remote import channel, session
from fake_remote import Elsewhere, page, tokens

MODULES = {channel.__file__, session.__file__}


class Interrupt:
    """Raises KeyboardInterrupt at the n-th point at which Python may run a signal handler: where a
    function of Python begins, and after a function of C, in the modules that take the lock.
    """

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, _function: Any) -> None:
        if event in ("call", "c_return") and frame.f_code.co_filename in MODULES:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    def during(self, service: comptroller.Service) -> bool:
        """Lists claims; returns whether that was interrupted."""
        sys.setprofile(self)
        try:
            service.claims.list()
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(None)
        return self.left <= 0


# The interrupt may come before a coroutine starts, or while one is closed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_an_interrupt_at_any_point_leaves_the_token_to_other_threads() -> None:
    for at in count(1):
        there = Elsewhere(page(), token=tokens("t-1"))
        service = there.connect(client_id="a", client_secret="b")
        was_interrupted = Interrupt(at).during(service)
        other = threading.Thread(target=service.claims.list, daemon=True)
        other.start()
        other.join(timeout=10)
        assert not other.is_alive(), at
        if not was_interrupted:
            break
    assert at > 20
