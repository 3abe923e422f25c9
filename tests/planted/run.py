"""Applies each planted defect to a copy of the project, and reports which test finds it.

    python tests/planted/run.py [--near] [NAME...]

A defect is a patch in this folder. Its first lines say what it breaks and which tests are near it.
These run first; if they pass, the quick suite follows. With --near it does not. The result of each
defect is a row of results.md; without names all defects run, those without C++ first.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
COPY = ROOT / "build" / "planted"
RESULTS = HERE / "results.md"
SURVIVED = "survived"
#: The seconds after which a run of tests counts as failed.
_LONGEST_S = 1200
_ROW = re.compile(r"\| (?P<name>[a-z0-9-]+) \| (?P<what>.+) \| (?P<by>.+) \| (?P<on>[0-9-]+) \|")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_FAILED_CASE = re.compile(r"^TEST CASE: +(.+)$", re.MULTILINE)


class Defect(NamedTuple):
    """A planted defect: its patch, what it breaks, and the tests near it."""

    path: Path
    what: str
    tests: list[str]

    @property
    def name(self) -> str:
        """The name of the patch."""
        return self.path.stem

    @property
    def is_compiled(self) -> bool:
        """Whether it changes C++."""
        return "\n+++ b/cpp/" in self.path.read_text(encoding="utf-8")


def defects() -> list[Defect]:
    """Returns all defects, those without C++ first."""
    return sorted(map(_read, HERE.glob("*.patch")), key=lambda each: (each.is_compiled, each.name))


def _read(path: Path) -> Defect:
    what, tests, *_ = path.read_text(encoding="utf-8").splitlines()
    return Defect(path, what, tests.removeprefix("# tests:").split())


def results() -> dict[str, tuple[str, str]]:
    """Returns by what each defect was caught, or SURVIVED, and the day of its last run."""
    if not RESULTS.exists():
        return {}
    rows = map(_ROW.fullmatch, RESULTS.read_text(encoding="utf-8").splitlines())
    return {row["name"]: (row["by"], row["on"]) for row in rows if row}


def update_copy() -> None:
    """Copies the changed files of the project, and removes those that it no longer has."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        content = (ROOT / name).read_bytes()
        target = COPY / name
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod((ROOT / name).stat().st_mode)
    for folder in ("cpp", "python", "tests"):
        for path in (COPY / folder).rglob("*"):
            name = path.relative_to(COPY).as_posix()
            if path.is_file() and name not in names and path.suffix in (".py", ".cpp", ".hpp"):
                path.unlink()


def build(defect: Defect | None) -> None:
    """Builds the package of the copy, and the tests of the core that are near a defect."""
    _run(["make", ".venv/package", ".venv/tools"])
    if defect is not None and any(name.endswith(".cpp") for name in defect.tests):
        build_core_tests()


def build_core_tests() -> None:
    """Builds all tests of the core."""
    _run(["make", "build/coverage/build.ninja"])
    _run(["cmake", "--build", "build/coverage"])


def near(defect: Defect) -> str:
    """Runs the tests near a defect; returns the one that failed, or nothing."""
    for name in (each for each in defect.tests if each.endswith(".cpp")):
        if failed := _run_core_tests(name):
            return failed
    files = [each for each in defect.tests if each.endswith(".py")]
    return _run_pytest(*files) if files else ""


def quick_suite() -> str:
    """Runs the tests of `make test` until one fails; returns it."""
    # Its patches do not apply to a copy that has one of them already.
    beside = "--ignore=tests/python/project/test_planted.py"
    parallel = ["-n", "auto", "--dist", "loadfile"]
    if failed := _run_pytest("-m", "not slow", beside, *parallel):
        return failed
    build_core_tests()
    for path in sorted((COPY / "tests" / "cpp").rglob("*.cpp")):
        if failed := _run_core_tests(path.relative_to(COPY).as_posix()):
            return failed
    return ""


def _run_core_tests(name: str) -> str:
    is_of_format = "/sqlite_format/" in name
    program = "sqlite_format_tests" if is_of_format else "comptroller_tests"
    only = f"-sf=*{name.removeprefix('tests/cpp/')}"
    command = [f"build/coverage/{program}", "--no-version", "--minimal", only]
    code, output = _try(command)
    if code == 0:
        return ""
    cases = _FAILED_CASE.findall(output)
    return f"{name}: {cases[0].strip()}" if cases else f"{name}: exit code {code}"


def _run_pytest(*arguments: str) -> str:
    code, output = _try([".venv/bin/pytest", "-x", "-q", "-p", "no:schemathesis", *arguments])
    if code == 0:
        return ""
    failed = _FAILED.search(output)
    return failed[1] if failed else f"pytest: exit code {code}"


def _try(command: list[str]) -> tuple[int, str]:
    try:
        ended = subprocess.run(
            command, cwd=COPY, capture_output=True, text=True, timeout=_LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        return 124, ""
    return ended.returncode, ended.stdout + ended.stderr


def _run(command: list[str]) -> None:
    ended = subprocess.run(command, cwd=COPY, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{ended.stdout}{ended.stderr}")


def _apply(defect: Defect, *options: str) -> None:
    # The copy is in the repository, but is no part of it.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(COPY.parent)}
    command = ["git", "apply", *options, str(defect.path)]
    subprocess.run(command, cwd=COPY, env=environment, check=True)


def examine(defect: Defect, *, is_near: bool) -> str:
    """Plants a defect; returns the test that fails, or SURVIVED."""
    _apply(defect)
    try:
        build(defect)
        return near(defect) or ("" if is_near else quick_suite()) or SURVIVED
    finally:
        _apply(defect, "--reverse")


def write_results(found: dict[str, tuple[str, str]]) -> None:
    """Writes results.md, with the rows of earlier runs."""
    listed = [each for each in defects() if each.name in found]
    caught = sum(found[each.name][0] != SURVIVED for each in listed)
    rows = [f"| {each.name} | {each.what} | {' | '.join(found[each.name])} |" for each in listed]
    lines = [
        "# Planted defects, and the tests that find them",
        "",
        "Written by `make torture-planted`. The defects were chosen before it was known what the",
        "tests find. The test is the first one that failed.",
        "",
        f"Found: {caught} of {len(listed)}",
        "",
        "| Defect | What it breaks | Found by | Day |",
        "|---|---|---|---|",
        *rows,
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--near", action="store_true", help="run only the tests near each defect")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all defects")
    given = parser.parse_args()
    chosen = [each for each in defects() if not given.names or each.name in given.names]
    if unknown := set(given.names) - {each.name for each in chosen}:
        parser.error(f"unknown defect {', '.join(sorted(unknown))}")
    update_copy()
    build(None)
    survived = 0
    for each in chosen:
        by = examine(each, is_near=given.near)
        survived += by == SURVIVED
        print(f"{each.name}: {by}", flush=True)
        write_results({**results(), each.name: (by, date.today().isoformat())})
    print(f"{len(chosen) - survived} of {len(chosen)} defects were found")
    return min(survived, 1)


if __name__ == "__main__":
    sys.exit(main())
