"""The limit of open files of the process."""

from __future__ import annotations

import resource

_BESIDE_CONNECTIONS = 1024


def allow_open_files(connections: int) -> None:
    """Raises the limit of open files, so that this many connections take none from the store.

    The hard limit stays.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _BESIDE_CONNECTIONS
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
