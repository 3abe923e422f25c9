"""Applies each planted defect to a copy of the project, and reports which test finds it.

    python tests/planted/run.py [--near] [NAME...]

A defect is a patch in this folder. Its first lines say what it breaks and which tests are near it.
These run first; if they pass, the tests of `make test` follow, and if they use a database, those of
`make test-postgresql` too. With --near they do not. A defect is found by a test that fails.
Anything else that goes wrong ends the program with a message: a test that fails without a defect, a
timeout, an exit code without a failed test. The result of each defect is a row of results.md;
without names all defects run, those without C++ first.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import NamedTuple, NoReturn

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
COPY = ROOT / "build" / "planted"
RESULTS = HERE / "results.md"
SURVIVED = "survived"
NEAR, ALL = "near", "all"
#: The seconds after which a run of tests ends the program.
_LONGEST_S = 1800
_ROW = re.compile(
    r"\| (?P<name>[a-z0-9-]+) \| (?P<what>.+) \| (?P<by>.+) \| (?P<ran>near|all) "
    r"\| (?P<on>[0-9-]+) \|"
)
_NOTES = re.compile(r"^#.*\n\n(?:.+\n)+\n((?:.*\n)*?)Found: ", re.MULTILINE)
_QUICK = "not slow and not postgresql"
_QUICK_OF_DATABASES = "not slow and postgresql"
_CORE_OF_DATABASES = "tests/cpp/db/postgresql/"
#: Starts a server for a command.
_WITH_SERVER = [".venv/bin/python", "tests/python/support/postgresql_server.py"]
_FAILED = re.compile(r"^FAILED ([^\s\[]+(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)
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

    @property
    def is_of_database(self) -> bool:
        """Whether tests near it use a database."""
        return any("/postgresql/" in name for name in self.tests)


def defects() -> list[Defect]:
    """Returns all defects, those without C++ first."""
    return sorted(map(_read, HERE.glob("*.patch")), key=lambda each: (each.is_compiled, each.name))


def _read(path: Path) -> Defect:
    what, tests, *_ = path.read_text(encoding="utf-8").splitlines()
    return Defect(path, what, tests.removeprefix("# tests:").split())


class Result(NamedTuple):
    """What found a defect, or SURVIVED; the tests that ran, NEAR or ALL; and the day."""

    by: str
    ran: str
    on: str


def results() -> dict[str, Result]:
    """Returns the result of the last run of each defect."""
    if not RESULTS.exists():
        return {}
    rows = map(_ROW.fullmatch, RESULTS.read_text(encoding="utf-8").splitlines())
    return {row["name"]: Result(row["by"], row["ran"], row["on"]) for row in rows if row}


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
    _run(["make", ".venv/package", ".venv/tools", ".venv/postgresql/created"])
    if defect is not None and any(name.endswith(".cpp") for name in defect.tests):
        build_core_tests()


def build_core_tests() -> None:
    """Builds all tests of the core."""
    _run(["make", "build/coverage/build.ninja"])
    _run(["cmake", "--build", "build/coverage"])


def near(tests: list[str]) -> str:
    """Runs the tests near a defect; returns the one that failed, or nothing."""
    for name in (each for each in tests if each.endswith(".cpp")):
        if failed := _run_core_tests(name):
            return failed
    files = [each for each in tests if each.endswith(".py")]
    return _run_pytest("-m", "not slow", *files) if files else ""


def quick_suite(*, has_database: bool) -> str:
    """Runs the tests of `make test`, and of databases, until one fails; returns it."""
    # Its patches do not apply to a copy that has one of them already.
    beside = "--ignore=tests/python/project/test_planted.py"
    parallel = ["-n", "auto", "--dist", "loadfile"]
    for marked in [_QUICK, _QUICK_OF_DATABASES][: 1 + has_database]:
        if failed := _run_pytest("-m", marked, beside, *parallel):
            return failed
    build_core_tests()
    for path in sorted((COPY / "tests" / "cpp").rglob("*.cpp")):
        if failed := _run_core_tests(path.relative_to(COPY).as_posix()):
            return failed
    return _run_core(["make", "core-tests-postgresql"]) if has_database else ""


def _run_core_tests(name: str) -> str:
    is_of_format = "/sqlite_format/" in name
    program = "sqlite_format_tests" if is_of_format else "comptroller_tests"
    only = f"-sf=*{name.removeprefix('tests/cpp/')}"
    command = [f"build/coverage/{program}", "--no-version", "--minimal", only]
    engine = "sqlite"
    if name.startswith(_CORE_OF_DATABASES):
        command, engine = [*_WITH_SERVER, *command], "postgresql"
    failed = _run_core(command, COMPTROLLER_TEST_ENGINE=engine)
    return f"{name}: {failed}" if failed else ""


def _run_core(command: list[str], **variables: str) -> str:
    code, output = _try(command, **variables)
    if code == 0:
        return ""
    failed = _FAILED_CASE.search(output)
    if failed is None:
        _end(command, f"exit code {code} without a failed test case", output)
    return failed[1].strip()


def _run_pytest(*arguments: str) -> str:
    command = [".venv/bin/pytest", "-x", "-q", "-p", "no:schemathesis", *arguments]
    code, output = _try(command)
    if code == 0:
        return ""
    failed = _FAILED.search(output)
    if failed is None:
        _end(command, f"exit code {code} without a failed test", output)
    return failed[1]


def _try(command: list[str], **variables: str) -> tuple[int, str]:
    try:
        ended = subprocess.run(
            command,
            cwd=COPY,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=_LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        _end(command, f"no end after {_LONGEST_S} s")
    return ended.returncode, ended.stdout + ended.stderr


def _end(command: list[str], why: str, output: str = "") -> NoReturn:
    sys.exit(f"{' '.join(command)}: {why}\n{output[-20_000:]}")


def _run(command: list[str]) -> None:
    ended = subprocess.run(command, cwd=COPY, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{ended.stdout}{ended.stderr}")


def _apply(defect: Defect, *options: str) -> None:
    # The copy is in the repository, but is no part of it.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(COPY.parent)}
    command = ["git", "apply", *options, str(defect.path)]
    subprocess.run(command, cwd=COPY, env=environment, check=True)


def require_sound(chosen: list[Defect], *, is_near: bool) -> None:
    """Ends the program if a test fails without a defect: it would count as what finds one."""
    if any(name.endswith(".cpp") for each in chosen for name in each.tests):
        build_core_tests()
    failed = ""
    for name in sorted({name for each in chosen for name in each.tests}):
        failed = failed or near([name])
    has_database = any(each.is_of_database for each in chosen)
    if failed := failed or ("" if is_near else quick_suite(has_database=has_database)):
        sys.exit(f"{failed} fails without a defect; correct it first")


def examine(defect: Defect, *, is_near: bool) -> Result:
    """Plants a defect; returns which test fails."""
    _apply(defect)
    try:
        build(defect)
        by, ran = near(defect.tests), NEAR
        if not by and not is_near:
            by, ran = quick_suite(has_database=defect.is_of_database), ALL
        return Result(by or SURVIVED, ran, date.today().isoformat())
    finally:
        _apply(defect, "--reverse")


def write_results(found: dict[str, Result]) -> None:
    """Writes results.md, with the rows of earlier runs and the notes above them."""
    listed = [each for each in defects() if each.name in found]
    caught = sum(found[each.name].by != SURVIVED for each in listed)
    rows = [f"| {each.name} | {each.what} | {' | '.join(found[each.name])} |" for each in listed]
    old = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    notes = _NOTES.match(old)
    lines = [
        "# Planted defects, and the tests that find them",
        "",
        "Written by `make torture-planted`. The defects were chosen before it was known what the",
        "tests find. The test is the first one that failed. Tests: `near` if only those near the",
        "defect ran, which are named in its patch; `all` if those of `make test` followed.",
        "",
        *(notes[1].splitlines() if notes else []),
        f"Found: {caught} of {len(listed)}",
        "",
        "| Defect | What it breaks | Found by | Tests | Day |",
        "|---|---|---|---|---|",
        *rows,
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--near", action="store_true", help="run only the tests near each defect")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all defects")
    given = parser.parse_args()
    # A shell starts programs in the background without SIGINT, which tests send.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = [each for each in defects() if not given.names or each.name in given.names]
    if unknown := set(given.names) - {each.name for each in chosen}:
        parser.error(f"unknown defect {', '.join(sorted(unknown))}")
    update_copy()
    build(None)
    require_sound(chosen, is_near=given.near)
    survived = 0
    for each in chosen:
        result = examine(each, is_near=given.near)
        survived += result.by == SURVIVED
        print(f"{each.name}: {result.by}", flush=True)
        write_results({**results(), each.name: result})
    print(f"{len(chosen) - survived} of {len(chosen)} defects were found")
    return min(survived, 1)


if __name__ == "__main__":
    sys.exit(main())
