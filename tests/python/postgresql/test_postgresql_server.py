"""The server of the tests: it ends with the test run, whatever ends that."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from places import SUPPORT
from postgresql_server import GUARDED, PASSWORD, Connection, Server

# Starts a server, prints its folder, and ends when its standard input does.
PROGRAM = """
import sys
from postgresql_server import run_lock, shared
with run_lock() as lock:
    assert shared(lock) == shared(lock)
    print(shared(lock).folder, flush=True)
    sys.stdin.read()
"""


def test_a_database_is_a_copy_of_another(server: Server) -> None:
    original = f"original_{os.getpid()}"
    with_table = server.create(original)
    server.execute("CREATE TABLE numbers AS SELECT 7 AS number, NULL AS nothing", original)
    copy = server.create(f"{original}_copy", original)
    assert server.execute("SELECT * FROM numbers", f"{original}_copy") == [("7", None)]
    assert copy != with_table
    server.drop(f"{original}_copy")
    server.drop(original)
    with pytest.raises(RuntimeError, match="does not exist"):
        Connection(copy)


def test_one_role_needs_its_password(server: Server) -> None:
    Connection(server.address("postgres", GUARDED, PASSWORD)).close()
    with pytest.raises(RuntimeError, match="password authentication failed"):
        Connection(server.address("postgres", GUARDED, "other"))


@pytest.mark.parametrize("is_killed", [False, True])
def test_the_server_ends_with_the_run(server: Server, is_killed: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdin
        assert run.stdout
        folder = Path(run.stdout.readline().strip())
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        ended = os.pidfd_open(pid)
        if is_killed:
            run.send_signal(signal.SIGKILL)
        else:
            run.stdin.close()
        assert select.select([ended], [], [], 60)[0]
        os.close(ended)
    assert server.execute("SELECT 1") == [("1",)]  # that of this run goes on
