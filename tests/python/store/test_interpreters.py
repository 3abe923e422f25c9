"""The core works in the main interpreter only, and says so."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig

import pytest

PROGRAM = """
import sys
try:
    import _interpreters as interpreters
except ImportError:  # before Python 3.13
    import _xxsubinterpreters as interpreters

{first}
code = '''
try:
    from comptroller import _core
except ImportError as error:
    print(error)
'''
for kind in ("isolated", "legacy"):
    if sys.version_info >= (3, 13):
        interpreter = interpreters.create(kind)
    else:
        interpreter = interpreters.create(isolated=kind == "isolated")
    interpreters.run_string(interpreter, code)
    interpreters.destroy(interpreter)
from comptroller import _core
assert _core.describe()
"""


@pytest.mark.parametrize("first", ["", "import comptroller; comptroller.open(':memory:').close()"])
def test_a_sub_interpreter_is_refused(first: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(first=first)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    refusals = done.stdout.splitlines()
    assert len(refusals) == 2
    # Python 3.13 refuses an isolated one itself.
    assert all(re.search("in (a )?sub-?interpreter", refusal) for refusal in refusals)


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="has a GIL")
def test_a_free_threaded_python_gets_its_gil_back() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-c"),
            "import sys, comptroller._core; print(sys._is_gil_enabled())",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "True\n"
