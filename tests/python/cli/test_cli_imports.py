"""Signals while a command, or a script, imports a library."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import GOOD, Run, started

pytest.importorskip("click")
pytest.importorskip("rich")


@pytest.fixture
def _importing(run: Run, tmp_path: Path) -> None:
    """A folder with a store, and modules that send signals to their process while imported."""
    assert run("load", "claims", "-", "--db", "store.db", given=GOOD).code == 0
    for name in ("duckdb", "sqlite3", "polars"):
        (tmp_path / f"{name}.py").write_text(
            "import os, signal\n"
            "for number in os.environ['NUMBERS'].split():\n"
            "    os.kill(os.getpid(), int(number))\n"
            "open('imported', 'x').close()\n"
            "Error = Exception\n"
            "def connect(*_arguments, **_named):\n"
            "    signal.pause()\n"
        )


@pytest.mark.usefixtures("_importing")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "words",
    [["export", "claims", "out/claims.parquet"], ["sample", "claims", "--out", "store.db"]],
    ids=["duckdb", "sqlite3"],
)
def test_a_signal_during_an_import_ends_the_command_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], number: signal.Signals
) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.setenv("NUMBERS", f"{number:d}")
    with started(*words, cwd=tmp_path) as writing:
        assert writing.wait(30) == 128 + number
    assert (tmp_path / "imported").exists()
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.usefixtures("_importing")
@pytest.mark.parametrize("numbers", ["15 2", "2 15", "2 2", "1 15"])
@pytest.mark.parametrize("is_in_import", [False, True])  # the command itself
def test_one_of_several_signals_during_an_import_ends_the_command(
    tmp_path: Path, numbers: str, is_in_import: bool
) -> None:
    command = ["sample", "claims", "--out", "store.db"]
    (tmp_path / "job.py").write_text(
        f"import sys\nfrom comptroller.cli import main\nsys.exit(main({command}))\n"
    )
    ended = subprocess.run(
        [sys.executable, *(["-c", "import job"] if is_in_import else ["job.py"])],
        cwd=tmp_path,
        env={**os.environ, "NUMBERS": numbers},
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert ended.returncode in [128 + int(number) for number in numbers.split()]
    assert ended.stderr.strip() == b"comptroller: interrupted"
    assert (tmp_path / "imported").exists()


@pytest.mark.usefixtures("_importing")
@pytest.mark.parametrize("work", ["export('claims', 'claims.parquet')", "reports"])
def test_ctrl_c_during_an_import_ends_a_script_after_it(tmp_path: Path, work: str) -> None:
    script = f"import comptroller; comptroller.open('store.db').{work}"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "NUMBERS": f"{signal.SIGINT:d}"},
        capture_output=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGINT
    assert (tmp_path / "imported").exists()
    assert not (tmp_path / "claims.parquet").exists()


def test_a_library_is_imported_while_the_interpreter_exits(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    assert run("load", "claims", "-", "--db", "store.db", given=GOOD).code == 0
    script = (
        "import atexit, comptroller\n"
        "service = comptroller.open('store.db')\n"
        "atexit.register(service.export, 'claims', 'claims.parquet')\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert (tmp_path / "claims.parquet").exists()
