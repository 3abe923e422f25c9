"""The client library: where it comes from, and what is reported without it. Needs no server."""

from __future__ import annotations

import ctypes.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ADDRESS = "postgresql://nowhere.invalid/books"
HINT = (
    '; install it with `pip install "comptroller[postgres]"`, or the system\'s'
    " (Debian: libpq5, Homebrew: libpq), version 14 or newer\n"
)

# Opens a database, in an environment that has the library of psycopg or not.
PROGRAM = """
import sys
import comptroller
if sys.argv[2] == "without psycopg":
    sys.modules["psycopg_binary"] = None
for _ in range(2):  # the library is looked up again
    try:
        comptroller.open(sys.argv[1])
    except comptroller.Unavailable as error:
        print(error)
"""


def _opened(*, with_psycopg: bool = True, **environment: str) -> list[str]:
    """Returns the errors of two attempts to open a database."""
    inherited = {name: value for name, value in os.environ.items() if name != "COMPTROLLER_LIBPQ"}
    words = [ADDRESS, "with psycopg" if with_psycopg else "without psycopg"]
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
    return ended.stdout.splitlines(keepends=True)


def test_a_missing_library_is_named_with_what_installs_it(tmp_path: Path) -> None:
    path = str(tmp_path / "libpq.so.5")
    first, second = _opened(COMPTROLLER_LIBPQ=path)
    assert first == second
    assert first.startswith("unavailable: PostgreSQL's client library libpq was not found (")
    assert path in first
    assert first.endswith(HINT)


@pytest.mark.skipif(sys.platform != "linux", reason="changes the search of Linux")
def test_an_unusable_library_of_the_system_is_reported(tmp_path: Path) -> None:
    # The search ends at this file, whatever the system has after it.
    (tmp_path / "libpq.so.5").touch()
    first, _ = _opened(with_psycopg=False, LD_LIBRARY_PATH=str(tmp_path))
    assert first.startswith("unavailable: PostgreSQL's client library libpq was not found (")
    assert str(tmp_path / "libpq.so.5") in first
    assert first.endswith(HINT)


def test_a_library_without_the_functions_is_too_old() -> None:
    library = ctypes.util.find_library("c")
    assert library
    first, _ = _opened(COMPTROLLER_LIBPQ=library)
    assert first.startswith("unavailable: PostgreSQL's client library libpq is too old (it lacks")
    assert first.endswith(HINT)


def test_the_library_of_the_system_is_used_without_the_package() -> None:
    if ctypes.util.find_library("pq") is None:
        pytest.skip("needs libpq: apt-get install libpq5")
    for error in _opened(with_psycopg=False):
        assert error.startswith("unavailable: cannot connect to the database: ")


def test_a_command_reports_a_missing_library(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "comptroller", "check", "--db", ADDRESS],
        env=os.environ | {"COMPTROLLER_LIBPQ": str(tmp_path / "absent")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("comptroller: unavailable: PostgreSQL's client library libpq ")
    assert ended.stderr.endswith(HINT)
