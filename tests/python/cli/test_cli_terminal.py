"""Tables on a terminal."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import textwrap
from pathlib import Path

import comptroller
import pytest
from command_line import Run

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


def test_a_column_that_wraps_keeps_a_readable_width(run: Run) -> None:
    """The other columns of the journal are wider than a terminal."""
    with comptroller.open("store.db", actor="Jane Doe of Accounting") as service:
        webhook = service.webhooks.create(url="https://example.com/hooks")
        service.webhooks.update(webhook.id, status="PAUSED")
    shown = run("journal", "list", "--db", "store.db").out
    assert "Jane Doe of Accounting" in shown
    assert "status: ACTIVE -> PAUSED;" in shown
    assert re.search(r"updated_at: +\n +\d{4}-\d\d-\d\dT[\d:.]+Z ->", shown)


def test_a_table_is_as_wide_as_its_columns_need(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from comptroller.cli import screen

    monkeypatch.setenv("COLUMNS", "80")
    times = "2026-11-30 13:26:11.731002+00:00"
    error = "the receiver answered 503 to each of the attempts until now"
    rows = screen.table("event", "occurred_at", ">attempts", "next_attempt_at", "~last_error")
    rows.add_row("claim.updated", times, "3", times, error)
    screen.show(rows)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()[2:]]
    place = lines[0].index("the receiver")
    assert lines[0].count(times) == 2
    assert [line[place:] for line in lines] == textwrap.wrap(error, 30)

    few = screen.table("~file", ">bytes")
    few.add_row("a.csv", "12")
    screen.show(few)
    assert capsys.readouterr().out.splitlines()[-1] == "a.csv     12"
    assert [column.min_width for column in few.columns] == [None, None]  # unchanged
