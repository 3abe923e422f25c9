"""Helpers for tests of the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
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


@contextmanager
def started(*words: str, cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", "comptroller", *words],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "COMPTROLLER_DB": "store.db"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()
