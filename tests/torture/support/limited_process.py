"""Runs a program in a process of its own, and returns how much memory it used."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

# Runs a program with its arguments as `given`, and prints what it puts into `found`.
PROGRAM = """
import json, sys
from pathlib import Path

program, given = json.loads(sys.argv[1])
found = {}
exec(program)
status = Path("/proc/self/status").read_text()
found["rss_mib"] = int(status.partition("VmHWM:")[2].split()[0]) / 1024
print(json.dumps(found))
"""


class Ran(NamedTuple):
    """The exit code of a program, what it found, and its error output."""

    code: int
    found: dict[str, Any]
    errors: str


def run(program: str, given: object, cwd: Path, data: int | None = None) -> Ran:
    """Runs a program in a folder; `found["rss_mib"]` is its largest resident memory.

    `data` bounds the bytes that it may allocate, whether it uses them or not.
    """

    def limit() -> None:
        if data is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (data, data))

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([program, given])],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
    return Ran(done.returncode, found, done.stderr)
