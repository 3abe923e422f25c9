"""The results of the long checks: a section for each promise, and no failed check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from promises import PROMISES
from results import NOT_RUN, PAGE, Check, write

if not PAGE.exists():
    pytest.skip("the source distribution carries no docs", allow_module_level=True)


def test_every_promise_has_a_section_without_a_failed_check() -> None:
    parts = re.split(r"^## (\d+)\. (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {
        int(number): title for number, title in zip(parts[1::3], parts[2::3], strict=True)
    } == PROMISES
    for body in parts[3::3]:
        rows = [line for line in body.splitlines() if re.match(r"\| (?!Check)", line)]
        assert body.strip() == NOT_RUN or rows
        assert [row for row in rows if not row.endswith("| passed |")] == []


def test_a_run_replaces_only_its_sections(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "results.md"
    first = Check("a", {"requests": 1_000, "MiB": 1.25}, 2.4, "passed")
    write({3: [first], 5: [first]}, "make torture", page)
    write({5: [Check("b | c", {}, 0, "failed")]}, "make torture PROMISE=5", page)
    text = page.read_text(encoding="utf-8")
    assert "| a | requests: 1,000; MiB: 1.2 | 2 | passed |" in text
    assert "`make torture PROMISE=5`" in text
    assert r"| b \| c | - | 0 | failed |" in text
    assert text.count("| a |") == 1
    assert text.count(NOT_RUN) == len(PROMISES) - 2


def test_a_partial_run_replaces_only_its_rows(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "results.md"
    write({3: [Check("a", {}, 1, "failed"), Check("b | c", {}, 1, "failed")]}, "make", page)
    write({3: [Check("b | c", {}, 2, "passed")]}, "make", page, is_partial=True)
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^\| (?!Check).*", text, re.MULTILINE) == [
        "| a | - | 1 | failed |",
        r"| b \| c | - | 2 | passed |",
    ]
