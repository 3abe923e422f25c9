"""The interpreter ends cleanly while daemon threads are inside calls, and the store stays sound."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import comptroller
import ending_interpreter
import pytest

RUNS = 5


def end_in(call: str, folder: Path) -> None:
    """Ends several interpreters in a call, all at the same time."""
    folders = [folder / str(number) for number in range(RUNS)]
    running = []
    for each in folders:
        each.mkdir()
        command = [sys.executable, ending_interpreter.__file__, str(each), call]
        running.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
    for process in running:
        out, err = process.communicate(timeout=300)
        assert (process.returncode, out, err) == (ending_interpreter.CODE, "last words", "")
    for each in folders:
        with comptroller.open(each / "store.db") as svc:
            assert svc.check()["ok"]
            assert svc.identities.get("0-0")
            svc.identities.put(id="later")


def test_the_interpreter_ends_in_a_call(tmp_path: Path) -> None:
    end_in("list", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("call", ending_interpreter.CALLS)
def test_the_interpreter_ends_in_each_call_that_releases_the_gil(tmp_path: Path, call: str) -> None:
    if call == "stream":
        pytest.importorskip("polars")
    end_in(call, tmp_path)
