"""Failed system calls and allocations leave the store as it was, or with the whole operation."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

# The tests of the core may have to be compiled first, with the address sanitizer.
pytestmark = pytest.mark.promise(3, minutes=25)

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "sanitize"
TARGET = "comptroller_fault_tests"
OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Debug",
    "-DCOMPTROLLER_TESTS=ON",
    "-DCOMPTROLLER_MODULE=OFF",
    "-DCOMPTROLLER_SANITIZE=address,undefined",
)


def run(*command: str | Path, seconds: int, **variables: str) -> str:
    """Runs a command and returns its output, which it also shows if it fails."""
    result = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
    assert result.returncode == 0, result.stdout[-20_000:]
    return result.stdout


def test_storage_faults(figures: dict[str, Any]) -> None:
    """Calls of each operation fail, once and from then on; no leak, no invalid access."""
    run("cmake", "-S", ".", "-B", BUILD, "-G", "Ninja", *OPTIONS, seconds=60)
    run("cmake", "--build", BUILD, "--target", TARGET, seconds=780)
    output = run(BUILD / TARGET, "--no-version", seconds=720, TORTURE="20")
    rows = [line.split("\t")[1:] for line in output.splitlines() if line.startswith("faults\t")]
    numbers = [[int(number) for number in row[1:]] for row in rows]
    possible, injected, struck, failed = (sum(column) for column in zip(*numbers, strict=True))
    figures["operations"] = len(rows)
    figures["operations with a fault in every call"] = sum(row[0] == row[1] for row in numbers)
    figures["faults possible"] = possible
    figures["faults injected"] = injected
    figures["operations that a fault struck"] = struck
    figures["of these, refused as a whole"] = failed
    figures["of these, successful"] = struck - failed
    figures["half done, unsound or stuck afterwards"] = 0
    assert len(rows) >= 25
    assert injected >= 10 * len(rows)  # a busy machine injects fewer in the same time
