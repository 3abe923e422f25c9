"""The command line: `comptroller demo`, `load`, `report` and the others.

Exit codes: 0 done; 1 refused, failed, or with bad lines; 2 asked in a way it does not know; 130
interrupted; 129 and 143 ended by SIGHUP and SIGTERM, which leave as little behind as Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, of `sys.argv` if none is given, and return its exit code."""
    from importlib.util import find_spec

    missing = [name for name in ("click", "rich") if find_spec(name) is None]
    if missing:
        print(
            f"comptroller: the command line needs {' and '.join(missing)}, which is not installed; "
            'install comptroller with its extra "cli"',
            file=sys.stderr,
        )
        return 1
    from comptroller.cli.program import run

    return run(arguments)
