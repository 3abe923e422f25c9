"""The planted defects of tests/planted still apply, and name tests that exist."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from places import ROOT

PATCHES = sorted((ROOT / "tests" / "planted").glob("*.patch"))


def test_there_are_enough_in_both_languages() -> None:
    texts = [path.read_text(encoding="utf-8") for path in PATCHES]
    assert len(texts) >= 60
    assert sum("\n+++ b/python/" in text for text in texts) >= 25
    assert sum("\n+++ b/cpp/" in text for text in texts) >= 20


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.stem)
def test_it_applies_and_its_tests_exist(patch: Path) -> None:
    what, tests, *_ = patch.read_text(encoding="utf-8").splitlines()
    assert what.endswith(".")
    named = tests.removeprefix("# tests:").split()
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []
    command = ["git", "apply", "--check", str(patch)]
    applied = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert applied.stderr == ""
