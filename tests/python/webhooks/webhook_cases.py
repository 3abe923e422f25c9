"""What the tests of the delivery of events share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import comptroller
from lines import numbered_claim

LONG_AGO = "2026-01-01T00:00:00Z"


def claim(number: int, **members: Any) -> dict[str, Any]:
    return numbered_claim(number, LONG_AGO, **members)


def outcome(svc: comptroller.Service, id: str) -> Any:
    """Returns the last test after its attempt."""
    until(lambda: svc.webhooks.deliveries(id)[0].attempts == 1)
    return svc.webhooks.deliveries(id)[0]


def until(is_true: Callable[[], bool], within_s: float = 30) -> None:
    """Looks again and again until a condition holds."""
    ended = threading.Event()
    for _ in range(int(within_s / 0.02)):
        if is_true():
            return
        ended.wait(0.02)
    raise AssertionError("the condition did not become true")
