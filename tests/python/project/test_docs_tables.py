"""Tables of the docs are complete: environment variables, extras."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

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


def test_every_scope_is_listed() -> None:
    described = (ROOT / "python/comptroller/http/openapi.json").read_text(encoding="utf-8")
    scheme = json.loads(described)["components"]["securitySchemes"]["oauth2"]
    scopes = set(scheme["flows"]["clientCredentials"]["scopes"])
    assert scopes <= rows("how-to/serve-and-connect.md")
    assert scopes <= rows("specification.md")


def test_the_index_links_every_page() -> None:
    docs = ROOT / "docs"
    index = (docs / "index.md").read_text(encoding="utf-8")
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} - {"index.md"}
    assert pages == set(re.findall(r"\]\(([^)]+\.md)\)", index))


@pytest.mark.parametrize(
    "page",
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "cpp").rglob("*.md")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    folders = "benchmarks|cpp|docs|generate|notebooks|python|tests"
    named = re.findall(rf"`((?:{folders})/[^`\s]+)`", text)
    assert [path for path in named if not any(ROOT.glob(path.rstrip("/")))] == []
    tests = re.findall(r"`(test_[\w*]+\.py)`", text)  # in the folder of the test before it
    assert [name for name in tests if not any((ROOT / "tests").rglob(name))] == []


def test_the_pages_about_promises_name_tests() -> None:
    for page in ("SECURITY.md", "docs/reliability.md", "docs/explanation/threat-model.md"):
        assert "`tests/" in (ROOT / page).read_text(encoding="utf-8"), page


def test_every_fuzz_target_of_the_file_format_is_listed() -> None:
    folder = ROOT / "tests" / "cpp" / "sqlite_format" / "fuzz"
    targets = {f"fuzz_{path.stem}" for path in folder.glob("*.cpp")}
    text = (ROOT / "cpp" / "sqlite_format" / "README.md").read_text(encoding="utf-8")
    assert targets
    assert set(re.findall(r"`(fuzz_\w+)`", text)) == targets


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
