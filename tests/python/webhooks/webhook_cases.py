"""What the tests of the delivery of events share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import comptroller

GROUP = "00000000-0000-4000-8000-000000000001"
LONG_AGO = "2026-01-01T00:00:00Z"


def claim(number: int, **members: Any) -> dict[str, Any]:
    return {
        "id": f"claim-{number}",
        "payout_group_id": GROUP,
        "claim_type": "CLAIM_ALL",
        "onchain_status": "PENDING",
        "amount": f"{number}.50",
        "created_at": LONG_AGO,
        "updated_at": LONG_AGO,
        **members,
    }


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
