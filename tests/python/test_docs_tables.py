"""Tables of the docs are complete: error codes, environment variables, extras."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from comptroller import description, errors

ROOT = Path(__file__).parents[2]
PROBLEMS: list[dict[str, Any]] = description.described()["problems"]


def rows(page: str) -> set[str]:
    """Returns the code texts in the first column of a page's tables."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    first = re.findall(r"^\|([^|]*)\|", text, re.MULTILINE)
    return {word for cell in first for word in re.findall(r"`([^`]+)`", cell)}


def test_every_error_code_has_advice() -> None:
    assert {problem["code"] for problem in PROBLEMS} == rows("how-to/troubleshoot.md")


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda each: each["code"])
def test_every_error_code_has_its_status_and_class(problem: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    code, status = problem["code"], problem["status"]
    ((found, classes),) = re.findall(rf"^\|.*`{code}`.*\| (\d+) \| (.*) \|$", page, re.MULTILINE)
    assert found == str(status)
    assert f"`{errors.make(code, status, '').__class__.__name__}`" in classes


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


def test_the_tests_that_security_names_exist() -> None:
    named = re.findall(r"`(tests/[^`]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert named
    assert [path for path in named if not (ROOT / path).is_file()] == []
