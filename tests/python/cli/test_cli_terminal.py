"""Tables on a terminal."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import comptroller
import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")


def printed(command: list[str], terminal: str, columns: int) -> str:
    """Returns what a command prints on a terminal of some columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    surroundings = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-m", "comptroller", *command],
        stdout=theirs,
        env={**surroundings, "TERM": terminal},
    )
    os.close(theirs)
    pieces = []
    try:
        while piece := os.read(ours, 65536):
            pieces.append(piece)
    except OSError:  # on Linux, the end of a terminal
        pass
    finally:
        os.close(ours)
    assert process.wait(60) == 0
    return b"".join(pieces).decode()


@pytest.mark.parametrize("columns", [40, 200])
@pytest.mark.parametrize("terminal", ["dumb", "xterm"])
def test_a_table_has_all_columns(tmp_path: Path, terminal: str, columns: int) -> None:
    store = tmp_path / "store.db"
    with comptroller.open(store) as service:
        folder = tmp_path / "sample"
        comptroller.sample("all", rows=200, seed=7, out=folder)
        service.load_all(folder)
    text = re.sub(
        "\x1b\\[[0-9;]*m",
        "",
        printed(["report", "claims-summary", "--db", str(store)], terminal, columns),
    )
    expected = ["confirmed_amount", "failed_amount", "success_rate"]
    header = next(line for line in text.splitlines() if line.startswith("chain "))
    assert [name for name in header.split() if name in expected] == expected
