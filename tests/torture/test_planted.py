"""What `make torture-planted` found in its last run of each defect; it takes hours itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.promise(20)

PLANTED = Path(__file__).parent.parent / "planted"
ROW = re.compile(r"\| ([a-z0-9-]+) \| .+ \| (.+) \| (near|all) \| ([0-9-]+) \|")


def test_the_tests_find_planted_defects(figures: dict[str, Any]) -> None:
    """The tests find planted defects."""
    rows = map(ROW.fullmatch, (PLANTED / "results.md").read_text(encoding="utf-8").splitlines())
    found = {row[1]: row for row in rows if row}
    assert set(found) == {path.stem for path in PLANTED.glob("*.patch")}
    caught = [row for row in found.values() if row[2] != "survived"]
    days = [row[4] for row in found.values()]
    figures["defects"] = len(found)
    figures["found by a test"] = len(caught)
    figures["found by a test near them"] = sum(row[3] == "near" for row in caught)
    figures["first and last run"] = f"{min(days)}, {max(days)}"
    assert len(caught) >= len(found) * 55 / 60
