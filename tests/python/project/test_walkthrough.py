"""The steps of the first change in CONTRIBUTING.md fit the files that they name."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest
from comptroller.description import core_description
from places import ROOT

MIGRATIONS = ROOT / "cpp" / "db" / "sqlite" / "migrations"
if not MIGRATIONS.exists():
    pytest.skip("the source distribution carries no migrations", allow_module_level=True)

WALKTHROUGH = (
    (ROOT / "CONTRIBUTING.md")
    .read_text(encoding="utf-8")
    .partition("\n## A first change: ")[2]
    .partition("\n## ")[0]
)
STEPS = re.split(r"^\d\. ", WALKTHROUGH, flags=re.MULTILINE)[1:]
MEMBERS = set(core_description()["records"]["PayoutGroup"]["members"])


def code(step: int, language: str) -> str:
    """Returns the only block of a step in this language."""
    (block,) = re.findall(rf"^   ```{language}\n(.*?)^   ```", STEPS[step - 1], re.M | re.S)
    return re.sub(r"^   ", "", str(block), flags=re.MULTILINE)


def test_the_member_is_declared_before_an_existing_one() -> None:
    (path,) = re.findall(r"`(cpp/\S+\.hpp)`", STEPS[0])
    header = (ROOT / path).read_text(encoding="utf-8")
    record = header.partition("struct PayoutGroup {")[2].partition("\n};")[0]
    (following,) = re.findall(r"before `(\w+)`", STEPS[0])
    assert re.search(rf"FIELD\([^,]+, {following},", record)
    (type, name) = re.findall(r"^FIELD\((.+), (\w+), \".+\"\);$", code(1, "cpp"))[0]
    assert f"FIELD({type}, " in header
    assert name not in MEMBERS


def test_the_migration_gives_the_table_a_column_for_each_member() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for file in sorted(MIGRATIONS.glob("*.sql")):
            connection.executescript(file.read_text(encoding="utf-8"))

        def columns() -> set[str]:
            found = connection.execute("SELECT name FROM pragma_table_info('payout_groups')")
            return {name for (name,) in found}

        before = columns()
        assert before >= MEMBERS
        connection.executescript(code(2, "sql"))
        assert columns() - before == {"remark"}


def test_the_migration_has_no_number_that_is_taken() -> None:
    assert f"`{MIGRATIONS.relative_to(ROOT)}`" in STEPS[1]
    assert re.findall(r"\d{4}_\w+", WALKTHROUGH) == []
    assert [path for path in MIGRATIONS.glob("*.sql") if not re.match(r"\d{4}_", path.name)] == []


def test_the_generated_files_show_the_members() -> None:
    files = re.findall(r"`((?:python|docs)/\S+)`", STEPS[2])
    assert len(files) == 3
    for path in files:
        words = set(re.findall(r"\w+", (ROOT / path).read_text(encoding="utf-8")))
        assert words >= MEMBERS, path


def test_the_program_loads_a_payout_group(capsys: pytest.CaptureFixture[str]) -> None:
    exec(code(4, "python").replace("remark", "name"), {})
    assert capsys.readouterr().out == "new\n"


def test_the_specification_lacks_the_member_only() -> None:
    (path,) = re.findall(r"pytest -q (\S+) -k PayoutGroup", code(5, "shell"))
    (failed, test) = re.findall(r"FAILED (\S+)::(\w+)\[PayoutGroup-remark\]", STEPS[4])[0]
    assert failed == path
    assert f"def {test}(record: str, field: str)" in (ROOT / path).read_text(encoding="utf-8")
    specification = (ROOT / "docs" / "specification.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"section ([\d.]+\d) of", STEPS[4])
    assert f"\n### {section} Payout group\n" in specification
    assert "remark" not in re.findall(r"[A-Za-z_]+", specification)
