"""The command line when it is interrupted, killed or loses its output."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

import comptroller
import pytest
from command_line import GOOD, Run, started

pytest.importorskip("click")
pytest.importorskip("rich")


@pytest.mark.parametrize(
    ("missing", "named"),
    [(["rich"], "rich, which is"), (["click", "rich"], "click and rich, which are")],
)
def test_without_its_extra_it_names_what_to_install(
    tmp_path: Path, missing: list[str], named: str
) -> None:
    (tmp_path / "missing.py").write_text(
        "import importlib.util as u, sys\n"
        "found = u.find_spec\n"
        f"u.find_spec = lambda name, *a: None if name in {missing} else found(name, *a)\n"
        "from comptroller.cli import main\n"
        "sys.exit(main(['check']))\n"
    )
    ended = subprocess.run(
        [sys.executable, "missing.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        f"comptroller: the command line needs {named} not installed; install comptroller "
        'with its extra "cli"\n'
    )


@pytest.mark.parametrize("keep_going", [False, True])
def test_ctrl_c_reports_the_stored_lines(run: Run, tmp_path: Path, keep_going: bool) -> None:
    words = ["load", "claims", "-", "--json", *["--keep-going"] * keep_going]
    with started(*words, cwd=tmp_path) as loading, comptroller.sample("claims", 150_000) as records:
        assert loading.stdin
        # More than a batch. The pipe is far smaller, so all that was written has been read.
        loading.stdin.write(records.read())
        loading.stdin.flush()
        wait_until(lambda: not keep_going or committed_claims(tmp_path / "store.db") > 0)
        loading.send_signal(signal.SIGINT)
        out, err = loading.communicate(timeout=60)
    assert loading.returncode == 130
    kept = run("check", "--db", "store.db", "--json").json["rows"]["claims"]
    if keep_going:
        assert json.loads(out)["interrupted"]
        assert json.loads(out)["inserted"] == kept > 0
        assert err.endswith(b"comptroller: interrupted; the lines counted above were stored\n")
    else:
        assert kept == 0
        assert err.endswith(b"comptroller: interrupted; nothing was stored\n")


def test_a_load_with_a_read_error_reports_the_stored_lines(run: Run) -> None:
    with comptroller.sample("claims", 120_000) as records:
        whole = gzip.compress(records.read(), 1)
    ended = run("load", "claims", "-", "--keep-going", "--json", given=whole[:-20])
    assert ended.code == 1
    assert ended.json["interrupted"]
    assert 0 < ended.json["inserted"] < 120_000
    assert "the load ended early; the lines counted above were stored" in ended.err
    assert re.search(r"^comptroller: invalid-request: source: .* cannot be read", ended.err, re.M)
    assert run("check", "--json").json["rows"]["claims"] == ended.json["inserted"]


def test_ctrl_c_ends_a_load_that_waits_for_input(tmp_path: Path) -> None:
    comptroller.open(tmp_path / "store.db").close()
    with started("load", "claims", "-", cwd=tmp_path) as loading:
        assert loading.stdin
        loading.stdin.write(GOOD)
        loading.stdin.flush()
        pipe = loading.stdin
        wait_until(lambda: unread_bytes(pipe) == 0)
        began = time.monotonic()
        loading.send_signal(signal.SIGINT)
        assert loading.wait(10) == 130
        assert time.monotonic() - began < 1
        assert loading.stderr
        assert loading.stderr.read().endswith(b"comptroller: interrupted; nothing was stored\n")


@pytest.mark.parametrize(
    "words", [["report"], ["export", "claims", "claims.parquet"]], ids=["report", "parquet"]
)
def test_ctrl_c_ends_a_query(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    duckdb = pytest.importorskip("duckdb")
    run("load", "claims", "-", given=GOOD)

    class Interrupted:
        """A DuckDB that behaves as if Ctrl-C ended a query."""

        def __init__(self, **_how: object) -> None: ...

        def __enter__(self) -> Interrupted:
            return self

        def __exit__(self, *_error: object) -> None: ...

        def register(self, *_view: object) -> None: ...

        unregister = close = register

        def execute(self, query: str, *_parameters: object) -> None:
            if not query.startswith("SET "):
                raise RuntimeError("Query interrupted")

        def table(self, _name: str) -> None:
            raise RuntimeError("Query interrupted")

    monkeypatch.setattr(duckdb, "connect", Interrupted)
    ended = run(*words)
    assert (ended.code, ended.err.strip()) == (130, "comptroller: interrupted")
    assert not (tmp_path / "claims.parquet").exists()


@pytest.fixture(name="store", scope="module")
def _store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that takes several hundred milliseconds to export or copy."""
    path = tmp_path_factory.mktemp("store") / "store.db"
    with comptroller.open(path) as svc, comptroller.sample("claims", 300_000) as records:
        assert svc.load("claims", records).committed
    return path


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "words",
    [
        ["export", "claims", "out/claims.ndjson"],
        ["export", "claims", "out/claims.csv"],
        ["export", "claims", "out/claims.parquet"],
        ["export", "claims", "out/claims", "--partition", "chain"],
        ["query", "FROM claims", "--out", "out/rows.csv"],
        ["query", "FROM claims", "--out", "out/rows.json"],
        ["backup", "out/copy.db"],
    ],
    ids=["ndjson", "csv", "parquet", "dataset", "query csv", "query json", "backup"],
)
def test_a_signal_leaves_no_unfinished_file(
    store: Path, tmp_path: Path, words: list[str], number: signal.Signals
) -> None:
    if "parquet" in words[-1] or "--partition" in words or "query" in words:
        pytest.importorskip("duckdb")
    folder = tmp_path / "out"
    folder.mkdir()
    with started(*words, "--db", str(store), cwd=tmp_path) as writing:
        wait_until(lambda: _is_writing(writing, folder))
        writing.send_signal(number)
        assert writing.wait(30) == 128 + number
    assert list(folder.iterdir()) == []


def _is_writing(process: subprocess.Popen[bytes], folder: Path) -> bool:
    # An unfinished file has a random name, or none and is open as "(deleted)".
    for file in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            if str(folder) in str(file.readlink()):
                return True
    return any(folder.iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_ctrl_c_twice_leaves_no_unfinished_file(store: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    folder = tmp_path / "out"
    folder.mkdir()
    words = ["query", "FROM claims", "--out", "out/rows.parquet", "--db", str(store)]
    with started(*words, cwd=tmp_path) as writing:
        wait_until(lambda: _is_writing(writing, folder))
        writing.send_signal(signal.SIGINT)
        wait_until(lambda: not _is_pending(writing, signal.SIGINT))
        writing.send_signal(signal.SIGINT)
        assert writing.wait(30) in (128 + signal.SIGINT, -signal.SIGINT)
    assert list(folder.glob("*.part")) == []


def _is_pending(process: subprocess.Popen[bytes], number: signal.Signals) -> bool:
    status = Path(f"/proc/{process.pid}/status").read_text()
    (pending,) = re.findall(r"^ShdPnd:\s*(\w+)", status, re.MULTILINE)
    return bool(int(pending, 16) >> (number - 1) & 1)


NUMBERS = "range(1000000000000) AS every(n)"
ENDLESS = f"SELECT count(*) FROM {NUMBERS} WHERE n % 7 = 1"
ENDLESS_PIVOT = f"PIVOT (SELECT n % 2 AS k FROM {NUMBERS}) ON k USING count(*)"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("sql", "out"),
    [(ENDLESS, None), (ENDLESS, "rows.csv"), (ENDLESS, "rows.parquet"), (ENDLESS_PIVOT, None)],
)
def test_ctrl_c_ends_a_running_query(run: Run, tmp_path: Path, sql: str, out: str | None) -> None:
    pytest.importorskip("duckdb")
    assert run("load", "claims", "-", "--db", "store.db", given=GOOD).code == 0
    to = [] if out is None else ["--out", out]
    with started("query", sql, *to, cwd=tmp_path) as asking:

        def seconds() -> float:
            stat = Path(f"/proc/{asking.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

        wait_until(lambda: seconds() > 4)  # starting takes less
        asking.send_signal(signal.SIGINT)
        assert asking.wait(30) == 130
        assert asking.stderr
        assert asking.stderr.read().endswith(b"comptroller: interrupted\n")
    assert [path.name for path in tmp_path.glob("rows*")] == []


def committed_claims(store: Path) -> int:
    """Opens the store read-only in a separate process."""
    program = (
        "import sqlite3, sys\n"
        "store = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)\n"
        "print(store.execute('SELECT count(*) FROM claims').fetchone()[0])\n"
    )
    counted = subprocess.run(
        [sys.executable, "-c", program, str(store)], capture_output=True, text=True, check=False
    )
    return int(counted.stdout or 0)


def unread_bytes(pipe: IO[bytes]) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline


ENDLESS_ROWS = ["query", f"SELECT n AS n FROM {NUMBERS}", "--format"]
MANY_ROWS = [
    ["sample", "claims", "--rows", "50000"],
    [*ENDLESS_ROWS, "csv"],
    [*ENDLESS_ROWS, "json"],
]


@pytest.mark.parametrize("words", MANY_ROWS, ids=["sample", "csv", "json"])
def test_a_closed_pipe_is_not_reported_as_an_error(
    store: Path, tmp_path: Path, words: list[str]
) -> None:
    if "query" in words:
        pytest.importorskip("duckdb")
        words = [*words, "--db", str(store)]
    with started(*words, cwd=tmp_path) as writing:
        assert writing.stdout
        assert writing.stderr
        writing.stdout.read(100)
        writing.stdout.close()
        assert writing.stderr.read() == b""
        assert writing.wait(60) != 0


@pytest.mark.parametrize("format", ["csv", "json"])
def test_ctrl_c_ends_a_query_with_unread_output(store: Path, tmp_path: Path, format: str) -> None:
    pytest.importorskip("duckdb")
    with started(*ENDLESS_ROWS, format, "--db", str(store), cwd=tmp_path) as asking:
        assert asking.stdout
        assert asking.stderr
        pipe = asking.stdout
        pipe.read(100_000)
        wait_until(lambda: unread_bytes(pipe) > 30_000)
        asking.send_signal(signal.SIGINT)
        assert asking.wait(10) == 130
        assert asking.stderr.read().endswith(b"comptroller: interrupted\n")


def test_ctrl_c_ends_an_export_that_nobody_reads(store: Path, tmp_path: Path) -> None:
    with started("export", "claims", "-", "--db", str(store), cwd=tmp_path) as exporting:
        assert exporting.stdout
        assert exporting.stderr
        pipe = exporting.stdout
        wait_until(lambda: unread_bytes(pipe) > 30_000)
        exporting.send_signal(signal.SIGINT)
        assert exporting.wait(10) == 130
        assert exporting.stderr.read().endswith(b"comptroller: interrupted\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_full_disk_ends_a_query(store: Path, tmp_path: Path, format: str) -> None:
    pytest.importorskip("duckdb")
    words = [sys.executable, "-m", "comptroller", *ENDLESS_ROWS, format, "--db", str(store)]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            words, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert ended.returncode == 1
    assert b"comptroller: unavailable: " in ended.stderr
    assert b"No space left" in ended.stderr


@pytest.mark.parametrize(
    ("words", "closed", "expected"),
    [
        ("load claims -", "<&-", "invalid-request: file: standard input is closed;"),
        (
            "pull --from http://127.0.0.1:1 --client-id x --client-secret-file -",
            "<&-",
            "invalid-request: --client-secret-file: standard input is closed;",
        ),
        ("sample claims --rows 3", ">&-", "unusable: standard output is closed;"),
        ("report --json", ">&-", "unusable: standard output is closed;"),
    ],
)
def test_a_closed_standard_file_is_named(
    run: Run, tmp_path: Path, words: str, closed: str, expected: str
) -> None:
    run("load", "claims", "-", given=GOOD)
    command = f"{shlex.quote(sys.executable)} -m comptroller {words} {closed}"
    ended = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"comptroller: {expected}".encode())


# Sends a signal when a child has been started, before the parent has stored it.
_SIGNAL_AT_START = """
import os, signal, subprocess, sys
from comptroller.cli import main
start = subprocess.Popen.__init__
def start_and_signal(self, *arguments, **options):
    start(self, *arguments, **options)
    os.kill(os.getpid(), signal.SIGTERM)
subprocess.Popen.__init__ = start_and_signal
sys.exit(main(["demo"]))
"""


@pytest.mark.parametrize("is_at_start", [False, True], ids=["running", "starting"])
def test_a_signal_to_the_tour_ends_its_commands(tmp_path: Path, is_at_start: bool) -> None:
    words = ["-c", _SIGNAL_AT_START] if is_at_start else ["-m", "comptroller", "demo"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, start_new_session=True, env=environment
    ) as tour:
        assert tour.stdout
        if not is_at_start:
            while b"comptroller sample all" not in tour.stdout.readline():
                pass
            tour.send_signal(signal.SIGTERM)
        tour.stdout.read()
        assert tour.wait(30) == 143
        with pytest.raises(ProcessLookupError):
            os.killpg(tour.pid, 0)
    assert list(tmp_path.iterdir()) == []
