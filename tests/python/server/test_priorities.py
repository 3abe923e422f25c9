"""Long reads give way to short ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import comptroller
import pytest

pytest.importorskip("httptools")

from serving import Serving, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a thread has no priority")


def lowest_priority(server: Serving) -> int:
    """Returns the largest nice value of a thread of a server."""
    threads = Path(f"/proc/{server.process.pid}/task").iterdir()
    return max(os.getpriority(os.PRIO_PROCESS, int(thread.name)) for thread in threads)


@pytest.mark.parametrize("path", ["/rewards/claims?limit=1000", "/operator/export/claims"])
def test_a_long_read_has_a_lower_priority_than_the_event_loop(store_path: Path, path: str) -> None:
    with comptroller.open(store_path):
        pass
    with serving("--db", str(store_path), "--auth", "off", cwd=store_path.parent) as server:
        own = os.getpriority(os.PRIO_PROCESS, server.process.pid)
        assert server.get("/rewards/claims?limit=1").status_code == 200
        assert lowest_priority(server) == own
        assert server.get(path).status_code == 200
        assert lowest_priority(server) == own + 5
        assert os.getpriority(os.PRIO_PROCESS, server.process.pid) == own
