"""The tests of the core have no memory error, no undefined behaviour and no data race."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from programs import run

ROOT = Path(__file__).parents[2]
REPORT = re.compile(r"(?:ERROR|WARNING): \w+Sanitizer|: runtime error: ")
#: The compiler of the fuzz targets, as in the Makefile.
CLANG = os.environ.get("CLANG", "clang++")
# All compile the whole core.
pytestmark = pytest.mark.promise(18, minutes=90, alone=True)


def _make(figures: dict[str, Any], *arguments: str) -> str:
    """Runs make; returns what it prints, after counting the reports of sanitizers."""
    done = run(["make", *arguments], cwd=ROOT, stderr=subprocess.STDOUT)
    figures["reports"] = len(REPORT.findall(done.stdout))
    assert (done.returncode, figures["reports"]) == (0, 0), done.stdout[-20_000:]
    return done.stdout


@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_sanitizers(sanitizers: str, figures: dict[str, Any]) -> None:
    """The tests of the core, of SQLite's format, and the committed inputs of the fuzz targets"""
    _count(figures, _make(figures, "sanitize", f"SANITIZE={sanitizers}"))
    assert figures["test cases"] > 500


@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_sanitizers_with_postgresql(sanitizers: str, figures: dict[str, Any]) -> None:
    """The tests of the core that can use PostgreSQL, with a server"""
    _count(figures, _make(figures, "sanitize-postgresql", f"SANITIZE={sanitizers}"))
    assert figures["test cases"] > 200


def _count(figures: dict[str, Any], printed: str) -> None:
    for what in ("test cases", "assertions"):
        figures[what] = sum(map(int, re.findall(rf"{what}: +(\d+)", printed)))


@pytest.mark.skipif(shutil.which(CLANG) is None, reason=f"there is no {CLANG}")
def test_fuzz(figures: dict[str, Any]) -> None:
    """Each fuzz target for a minute"""
    printed = _make(figures, "fuzz")
    inputs = [int(each) for each in re.findall(r"number_of_executed_units: +(\d+)", printed)]
    figures["targets"] = len(inputs)
    figures["inputs"] = sum(inputs)
    assert figures["targets"] == len(list((ROOT / "tests" / "cpp" / "fuzz" / "corpus").iterdir()))
    assert min(inputs) > 100


def test_sanitizers_of_the_module(figures: dict[str, Any]) -> None:
    """Tests of the package that are not slow, with its core under address and undefined"""
    passed = re.search(r"(\d+) passed", _make(figures, "sanitize-python"))
    assert passed
    figures["cases"] = int(passed[1])
    assert figures["cases"] > 10_000
