"""The command line: `comptroller demo`, `load`, `report` and the other commands.

Exit codes: 0 success; 1 an error, rejected lines, or findings; 2 wrong usage; 130 interrupted by
Ctrl-C; 129 and 143 interrupted by SIGHUP and SIGTERM.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default that of `sys.argv`, and return its exit code."""
    from importlib.util import find_spec

    missing = [name for name in ("click", "rich") if find_spec(name) is None]
    if missing:
        print(
            f"comptroller: the command line needs {' and '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not installed; "
            'install comptroller with its extra "cli"',
            file=sys.stderr,
        )
        return 1
    from comptroller.cli.program import run

    return run(arguments)
