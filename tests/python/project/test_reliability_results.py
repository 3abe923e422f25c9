"""The results of the long checks: a section for each promise, and no failed check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from promises import PROMISES
from results import PAGE, Check, write

if not PAGE.exists():
    pytest.skip("the source distribution carries no docs", allow_module_level=True)


def test_every_promise_has_a_section_without_a_failed_check() -> None:
    parts = re.split(r"^## (\d+)\. (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {
        int(number): title for number, title in zip(parts[1::3], parts[2::3], strict=True)
    } == PROMISES
    for body in parts[3::3]:
        rows = [line for line in body.splitlines() if re.match(r"\| (?!Check)", line)]
        assert rows
        assert [row for row in rows if not row.endswith("| passed |")] == []


def test_each_row_is_below_its_last_run(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "results.md"
    first = Check("a", {"requests": 1_000, "MiB": 1.25}, 2.4, "passed")
    again = Check("b | c", {}, 0, "passed")
    known = {3: ["a", "b | c"], 5: ["a", "d"], 6: ["e"]}
    write({3: [first, again], 5: [first]}, "make torture", known, page)
    write({3: [again]}, "make torture PROMISE=3", known, page)
    text = page.read_text(encoding="utf-8")
    shown = re.findall(r"`(.*)`, \d|^(## \d+|\| (?!Check).*)", text, re.MULTILINE)
    of_promises = "\n".join(filter(None, (part for each in shown for part in each)))
    row = "| a | requests: 1,000; MiB: 1.2 | 2 | passed |"
    third = f"## 3\nmake torture\n{row}\nmake torture PROMISE=3\n| b \\| c | - | 0 | passed |\n"
    assert f"{third}## 4\n## 5\nmake torture\n{row}\n" in of_promises
    assert re.findall(r"Not run yet: .*", text) == ["Not run yet: d.", "Not run yet: e."]


def test_a_run_removes_the_rows_of_checks_that_no_longer_exist(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "results.md"
    old, new = (Check(name, {}, 1, "passed") for name in ("old", "new"))
    write({3: [old], 5: [old]}, "make torture", {3: ["old"], 5: ["old"]}, page)
    write({3: [new]}, "make torture", {3: ["new"], 5: ["old"]}, page)
    assert re.findall(r"^\| (?!Check).*", page.read_text(encoding="utf-8"), re.MULTILINE) == [
        "| new | - | 1 | passed |",
        "| old | - | 1 | passed |",
    ]
