"""A load needs little memory, however long its input is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import comptroller
import pytest
from limited_process import run

pytestmark = pytest.mark.promise(17, minutes=15, alone=True)

CLAIMS = 5_000_000
LIMIT_MIB = 256
# Generated once, because the generator takes a third of the time.
LINES = Path(__file__).parents[2] / "build" / "torture" / f"{CLAIMS}-claims.ndjson"
PROGRAM = """
import comptroller

store, lines = given
with comptroller.open(store) as service:
    result = service.load("claims", lines)
    found.update(committed=result.committed, inserted=result.inserted)
"""


@pytest.fixture(scope="module")
def lines() -> Path:
    """A file with the claims, which stays in the build folder."""
    if not LINES.exists():
        LINES.parent.mkdir(parents=True, exist_ok=True)
        unfinished = LINES.with_suffix(".part")
        comptroller.sample("claims", CLAIMS, out=unfinished)
        unfinished.rename(LINES)
    return LINES


def test_a_large_load_stays_small(tmp_path: Path, lines: Path, figures: dict[str, Any]) -> None:
    """Loading 5,000,000 claims takes less than 256 MiB"""
    ran = run(PROGRAM, [str(tmp_path / "store.db"), str(lines)], tmp_path)
    assert ran.code == 0, ran.errors
    figures["claims"] = ran.found["inserted"]
    figures["GB of input"] = lines.stat().st_size / 1e9
    figures["largest RSS, MiB"] = ran.found["rss_mib"]
    assert (ran.found["committed"], ran.found["inserted"]) == (True, CLAIMS)
    assert ran.found["rss_mib"] < LIMIT_MIB
