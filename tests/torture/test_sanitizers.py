"""The tests of the core have no memory error, no undefined behaviour and no data race."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# Both compile the whole core.
pytestmark = pytest.mark.promise(18, minutes=90, alone=True)


@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_sanitizers(sanitizers: str, figures: dict[str, Any]) -> None:
    """The tests of the core, of SQLite's format, and the committed inputs of the fuzz targets"""
    done = subprocess.run(
        ["make", "sanitize", f"SANITIZE={sanitizers}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    for what in ("test cases", "assertions"):
        figures[what] = sum(map(int, re.findall(rf"{what}: +(\d+)", done.stdout)))
    figures["reports"] = 0
    assert figures["test cases"] > 500
