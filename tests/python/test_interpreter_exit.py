"""The interpreter ends cleanly while daemon threads are inside calls, and the store stays sound."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import comptroller
import ending_interpreter
import pytest

RUNS = 5


def end_in(action: str, folder: Path) -> None:
    """Ends interpreters in a call, all at the same time, so that their threads are interrupted."""
    folders = [folder / str(number) for number in range(RUNS)]
    running = []
    for each in folders:
        each.mkdir()
        command = [sys.executable, ending_interpreter.__file__, str(each), action]
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
    for process in running:
        _, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, "")
    for each in folders:
        with comptroller.open(each / "store.db") as svc:
            assert svc.check()["ok"]
            assert svc.identities.put(id="later").id == "later"


def test_the_interpreter_ends_in_a_call(tmp_path: Path) -> None:
    end_in("list", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("action", ending_interpreter.ACTIONS)
def test_the_interpreter_ends_in_every_call_that_releases_the_gil(
    tmp_path: Path, action: str
) -> None:
    if action == "stream":
        pytest.importorskip("polars")
    end_in(action, tmp_path)


IN_A_SUB_INTERPRETER = """
import sys
{before}
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
code = '''
try:
    import comptroller._core
except ImportError as error:
    print(error)
'''
interpreters.run_string(interpreters.create(), code)
"""


@pytest.mark.parametrize("before", ["", "import comptroller._core"])
def test_an_import_in_a_sub_interpreter_is_refused(before: str) -> None:
    command = [sys.executable, "-c", IN_A_SUB_INTERPRETER.format(before=before)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "sub-interpreter" in ended.stdout or "subinterpreters" in ended.stdout
