"""Tables of the docs are complete: environment variables, extras."""

from __future__ import annotations

import re
import tomllib

import pytest
from places import ROOT


def rows(page: str) -> set[str]:
    """Returns the code texts in the first column of a page's tables."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    first = re.findall(r"^\|([^|]*)\|", text, re.MULTILINE)
    return {word for cell in first for word in re.findall(r"`([^`]+)`", cell)}


def test_every_environment_variable_is_listed() -> None:
    sources = [
        path.read_text(encoding="utf-8")
        for folder in ("cpp", "python/comptroller")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".cpp", ".hpp", ".py"}
    ]
    read = set(re.findall(r'"(COMPTROLLER_[A-Z_]+|FORWARDED_ALLOW_IPS)"', "".join(sources)))
    listed = {row for row in rows("reference/environment.md") if row.isupper()}
    assert read
    assert read == listed


def test_every_extra_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["optional-dependencies"]) <= rows("reference/environment.md")


@pytest.mark.parametrize("page", ["SECURITY.md", "docs/explanation/threat-model.md"])
def test_the_tests_that_a_page_names_exist(page: str) -> None:
    named = re.findall(r"`(tests/[^`]+)`", (ROOT / page).read_text(encoding="utf-8"))
    assert named
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_each_attack_has_a_test_or_is_said_not_to_be_stopped() -> None:
    page = (ROOT / "docs/explanation/threat-model.md").read_text(encoding="utf-8")
    before_journal = page.partition("\n## The journal\n")[0]
    attackers = before_journal.split("\n## ")[2:]
    assert len(attackers) == 9
    for each in attackers:
        title, _, section = each.partition("\n")
        attacks = [line for line in section.splitlines() if line.startswith("| ")][1:]
        assert attacks, title
        assert [line for line in attacks if "`tests/" not in line] == [], title
        assert "**Not stopped.**" in section, title
