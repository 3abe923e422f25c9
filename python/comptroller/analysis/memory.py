"""The memory that DuckDB may use."""

from __future__ import annotations

import resource

# Of the limit of the process: the program, the result of a query and what DuckDB does not count
# need the rest.
_SHARE = 6


def memory_limit() -> dict[str, str | bool | int | float | list[str]]:
    """Returns DuckDB's setting for a process with a limit of its own (`ulimit -d`, `ulimit -v`).

    DuckDB knows the memory of the machine and of a container, and writes to the disk what does not
    fit. Without this setting it would run into the limit of the process instead.
    """
    limits = [resource.getrlimit(each)[0] for each in (resource.RLIMIT_DATA, resource.RLIMIT_AS)]
    finite = [each for each in limits if each != resource.RLIM_INFINITY]
    return {"memory_limit": f"{min(finite) // _SHARE} B"} if finite else {}
