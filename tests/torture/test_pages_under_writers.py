"""The pages of a list have each record exactly once while others write."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import comptroller
import pytest
from examples import short_line
from places import SUPPORT

pytestmark = pytest.mark.promise(13)

ROWS = 10_000
AT_ONE_TIME = 1_000
WRITERS = 8
PAGES_OF = 7
SHARED = datetime(2026, 1, 31, 12, tzinfo=UTC)

# Adds claims at times of the present ones, the shared one most often, and changes present ones.
WRITER = """
import itertools, sys, comptroller
from datetime import UTC, datetime, timedelta
from examples import short_line
store, writer, shared = sys.argv[1], sys.argv[2], datetime.fromisoformat(sys.argv[3])
with comptroller.open(store) as service:
    for number in itertools.count():
        at = shared if number % 2 else shared + timedelta(seconds=number * 37 % 9_000 - 100)
        service.claims.put(short_line("claims", id=f"new-{writer}-{number}", created_at=at))
        present = service.claims.get(f"old-{(number * 8 + int(writer)) % 10_000}")
        changed = short_line("claims", id=present.id, created_at=present.created_at)
        changed |= {"onchain_status": "CONFIRMED", "updated_at": datetime.now(UTC)}
        service.claims.put(changed)
        print(number, flush=True)
"""


def claim(number: int) -> dict[str, Any]:
    at = SHARED if number < AT_ONE_TIME else SHARED + timedelta(seconds=number - AT_ONE_TIME)
    return short_line("claims", id=f"old-{number}", created_at=at)


@pytest.mark.parametrize("order", ["ASC", "DESC"])
def test_pages_under_writers(tmp_path: Path, figures: dict[str, Any], order: str) -> None:
    """10,000 claims, 1,000 of one time, appear once each in pages of 7 under 8 writers"""
    store = tmp_path / "store.db"
    with comptroller.open(store) as service:
        present = {str(row["id"]) for row in map(claim, range(ROWS))}
        assert service.load("claims", map(claim, range(ROWS))).inserted == ROWS
        command = [sys.executable, "-c", WRITER, str(store)]
        writers = [
            subprocess.Popen(
                [*command, str(number), SHARED.isoformat()],
                stdout=subprocess.PIPE,
                text=True,
                cwd=SUPPORT,
            )
            for number in range(WRITERS)
        ]
        try:
            for writer in writers:
                assert writer.stdout
                assert writer.stdout.readline() == "0\n"
            before = service.check()["rows"]["claims"]
            seen = Counter(row.id for row in service.claims.iter(order=order, limit=PAGES_OF))
            after = service.check()["rows"]["claims"]
            assert [writer.poll() for writer in writers] == [None] * WRITERS
        finally:
            for writer in writers:
                writer.kill()
                writer.communicate()
    figures["pages"] = -(-seen.total() // PAGES_OF)
    figures["claims added meanwhile"] = after - before
    figures["missing"] = len(present - seen.keys())
    figures["twice"] = sum(count > 1 for count in seen.values())
    assert after > before
    assert (figures["missing"], figures["twice"]) == (0, 0)
