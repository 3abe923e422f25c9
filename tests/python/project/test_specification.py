"""The specification in the docs names everything in the core's description."""

from __future__ import annotations

import re

import pytest
from comptroller import routes
from comptroller.description import core_description
from places import ROOT

SPECIFICATION = ROOT / "docs" / "specification.md"
TEXT = SPECIFICATION.read_text(encoding="utf-8")
WORDS = frozenset(re.findall(r"[A-Za-z_]+", TEXT))
RECORDS = core_description()["records"]


@pytest.mark.parametrize(
    ("record", "field"),
    [(record, field) for record, definition in RECORDS.items() for field in definition["members"]],
)
def test_has_every_field(record: str, field: str) -> None:
    assert field in WORDS


@pytest.mark.parametrize("request_name", sorted(core_description()["requests"]))
def test_has_every_parameter(request_name: str) -> None:
    parameters = core_description()["requests"][request_name]["members"]
    assert {word for name in parameters for word in name.split(".")} <= WORDS


@pytest.mark.parametrize("name", sorted(core_description()["enums"]))
def test_has_every_value_of_a_closed_set(name: str) -> None:
    assert set(core_description()["enums"][name]) <= WORDS


@pytest.mark.parametrize("scope", sorted(core_description()["scopes"]))
def test_has_every_scope(scope: str) -> None:
    assert f"`{scope}`" in TEXT


@pytest.mark.parametrize("row", routes.ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_has_every_path(row: routes.Row) -> None:
    path = row.path.replace("/v2/rewards", "/rewards")
    if path.endswith("/{id}"):  # a row of its own, or in the text after the list
        assert path in TEXT or path.removesuffix("/{id}") in TEXT
    else:
        assert path in TEXT or f"`/{path.rpartition('/')[2]}`" in TEXT


def test_has_every_section_that_the_code_cites() -> None:
    root = SPECIFICATION.parents[1]
    named = {
        (number.rstrip("."), path.name)
        for folder in ("cpp", "python/comptroller", "tests")
        for path in (root / folder).rglob("*.[chp]*p*")
        if path.suffix in {".cpp", ".hpp", ".py"}
        for number in re.findall(r"[Ss]pecification (\d[\d.]*)", path.read_text(encoding="utf-8"))
    }
    sections = set(re.findall(r"^##+ (\d+(?:\.\d+)?)", TEXT, re.MULTILINE))
    assert named
    assert {each for each in named if each[0] not in sections} == set()
