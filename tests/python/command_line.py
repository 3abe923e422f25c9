"""Helpers for tests of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

GROUP = "11111111-1111-4111-8111-111111111111"


class Ended(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ended]


def claim(id: str, **members: object) -> dict[str, Any]:
    return {
        "id": id,
        "payout_group_id": GROUP,
        "claim_type": "CLAIM_ALL",
        "onchain_status": "PENDING",
        "amount": "1.50",
        "asset_type": "RPL",
        "created_at": "2026-01-31T12:00:00Z",
        **members,
    }


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


GOOD = lines(claim("c-1"), claim("c-2", created_at="2026-02-01T00:00:00Z"))
MIXED = lines(claim("c-1"), claim("c-2", amount="1e3"), claim("c-3", newer="x"))
