"""The commands and code of each page are run from top to bottom, with an empty store."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import comptroller
import pytest
from places import ROOT

for needed in ("sybil", "click", "duckdb", "sqlglot", "polars", "httpx2", "httptools", "fastapi"):
    pytest.importorskip(needed)

from comptroller.cli import main  # noqa: E402
from serving import serving  # noqa: E402
from spark_session import MARKS  # noqa: E402
from sybil import Document, Example  # noqa: E402
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser  # noqa: E402

README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
WITH_SPARK = ROOT / "docs" / "how-to" / "spark.md"
if not PAGES:
    pytest.skip("the source distribution carries no docs", allow_module_level=True)

Run = Callable[[Path], Document]


class Console:
    """Runs the commands of a page. A server runs on a free port until the end of the page.

    The names `address`, `client_id` and `client_secret` are those of the newest server that prints
    them; in commands, they replace the default address of `serve`.
    """

    SHOWN_ADDRESS = "http://127.0.0.1:8080"

    def __init__(self, folder: Path, closing: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._closing = closing
        self._monkeypatch = monkeypatch
        self._address = self.SHOWN_ADDRESS

    def __call__(self, example: Example) -> None:
        commands = r"^\$ ((?:comptroller|sqlite3|mkdir|mv|cp) .*)"
        for line in re.findall(commands, example.parsed, re.MULTILINE):
            program, *words = shlex.split(line, comments=True)
            if program == "comptroller":
                if words[0] == "serve":
                    self._serve(words[1:], example.namespace)
                else:
                    there = [word.replace(self.SHOWN_ADDRESS, self._address) for word in words]
                    assert main(there) == 0, line
            elif shutil.which(program):
                subprocess.run(line, shell=True, check=True)

    def _serve(self, words: list[str], names: dict[str, Any]) -> None:
        server = self._closing.enter_context(serving(*words, cwd=self._folder))
        if "--sample" in words:
            self._address = names["address"] = server.address
            names["client_id"], names["client_secret"] = server.credentials()
            for name in ("client_id", "client_secret"):
                self._monkeypatch.setenv(f"COMPTROLLER_{name.upper()}", names[name])


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs the Python blocks and commands of a page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMPTROLLER_DB", raising=False)
    comptroller.open("rewards.db").close()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with ExitStack() as closing:
        console = Console(tmp_path, closing, monkeypatch)

        def running(page: Path) -> Document:
            parsers = (PythonCodeBlockParser([], flags), CodeBlockParser("console", console))
            document = Document.parse(str(page), *parsers)
            for example in document.examples():
                example.evaluate()
            return document

        yield running


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=MARKS if page == WITH_SPARK else (),
        )
        for page in PAGES
    ],
)
def test_the_code_of_a_page_runs(run: Run, page: Path) -> None:
    if page == WITH_SPARK:
        pytest.importorskip("pyspark")
    run(page)


def test_the_programs_of_worker_pools_run(run: Run, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "worker-pools.md").read_text(encoding="utf-8")
    spawning, forking, serving_api = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    serving_api += """
import asyncio

async def begin() -> None:
    async with api.router.lifespan_context(api):
        print(len(api.state.books.identities.list()))

asyncio.run(begin())
"""
    printed = []
    for program in (spawning, spawning.replace("forkserver", "spawn"), forking, serving_api):
        (tmp_path / "program.py").write_text(program, encoding="utf-8")
        command = [sys.executable, "-W", "ignore", "program.py"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        printed.append(done.stdout)
    assert printed[:2] == ["{'APPROVED'}\n20\n"] * 2
    assert "'identities': 20" in printed[2]
    assert printed[3] == "20\n"


def test_the_readme_runs_with_its_output(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = run(README).namespace["page"].items[0]
    output = capsys.readouterr().out
    for line in (
        "10000 0",
        "False True",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359 PENDING",
        f"5 {failed.error_message}",
        "<Page: 3 x Claim, more follow>",
        "insufficient-scope this needs the scope rewards:read_payout_groups",
    ):
        assert f"{line}\n" in output
    assert (tmp_path / "claims.ndjson").read_bytes().count(b"\n") == 10_000


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("*.md")), *PAGES], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_of_a_page_exist(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)[)#]", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_wheels_and_the_newest_changes_are_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [page.read_text(encoding="utf-8") for page in (README, *PAGES)]
    named = re.findall(r"\bcomptroller[- ](\d+\.\d+\.\d+)", "".join(texts))
    assert set(named) == {project["version"]}
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\d\S+)", changes, re.MULTILINE)[0] == project["version"]


def test_the_changes_of_a_release_have_at_most_60_lines() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = changes.split("\n## ")[1:]
    assert len(releases) > 1
    lines = {each.split("\n")[0]: each.count("\n") for each in releases}
    assert {release: count for release, count in lines.items() if count > 60} == {}


def test_the_schema_versions_that_pages_name_are_those_of_the_migrations() -> None:
    files = sorted(path.stem for path in (ROOT / "cpp/db/sqlite/migrations").glob("*.sql"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"Schema version (\d+)", changes)[0] == str(len(files))
    upgrade = (ROOT / "docs" / "how-to" / "upgrade.md").read_text(encoding="utf-8")
    (strict,) = re.findall(r"schema version (\d+) makes all tables \[STRICT\]", upgrade)
    assert f"{int(strict):04}_strict_tables" in files


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("*.md")), *PAGES], ids=lambda page: str(page.relative_to(ROOT))
)
def test_a_line_of_a_shell_block_is_one_command(page: Path) -> None:
    blocks = re.findall(r"^```shell\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    programs = {"systemctl", "python3", "rm", "install", "pip", "make", "sudo"}
    for words in (shlex.split(line, comments=True) for line in lines):
        # `pip install` is one command.
        assert programs.intersection(words[1:]) <= {"install"}, words
