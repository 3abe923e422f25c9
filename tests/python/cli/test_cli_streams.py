"""Commands whose standard streams are closed, full, or have no reader."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import resource
import shlex
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest
from command_line import GOOD, Run

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@pytest.fixture(params=[False, True], ids=["buffered", "unbuffered"])
def _buffering(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test of standard output with and without PYTHONUNBUFFERED, which containers set."""
    if request.param:
        monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    else:
        monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


def python(
    folder: Path, words: str, largest: int = resource.RLIM_INFINITY
) -> subprocess.CompletedProcess[str]:
    """Runs Python in a shell, which redirects its streams; no file gets larger than a size."""
    return subprocess.run(
        f"{shlex.quote(sys.executable)} {words}",
        shell=True,
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)),
    )


def shell(
    folder: Path, words: str, largest: int = resource.RLIM_INFINITY
) -> subprocess.CompletedProcess[str]:
    """Runs a command in a shell."""
    return python(folder, f"-m comptroller {words}", largest)


@pytest.mark.usefixtures("_buffering")
@needs_full
def test_a_full_standard_output_is_an_error(run: Run, tmp_path: Path) -> None:
    """Not exit code 120 of Python, which tries again to write what is buffered."""
    (tmp_path / "claims.ndjson").write_bytes(GOOD)
    run("load", "claims", "claims.ndjson", "--db", "comptroller.db")
    for words in (
        *("--version", "--help", "check", "changes", "sample claims --rows 1"),
        *("query 'FROM claims'", "query 'FROM claims' --format csv", "report", "report failures"),
        *("webhooks list", "journal list", "load claims claims.ndjson --json"),
        *("load claims claims.ndjson --suggest", "export claims -"),
    ):
        ended = shell(tmp_path, f"{words} > /dev/full")
        expected = "the standard output cannot be written: No space left on device"
        assert (ended.returncode, ended.stderr) == (1, f"comptroller: unavailable: {expected}\n")


@needs_full
def test_a_full_standard_error_does_not_change_the_exit_code(tmp_path: Path) -> None:
    for words, code in (("check", 1), ("check --nothing", 2), ("--version", 0)):
        assert shell(tmp_path, f"{words} 2> /dev/full").returncode == code


@pytest.mark.usefixtures("_buffering")
def test_an_output_that_is_cut_off_is_an_error(run: Run, tmp_path: Path) -> None:
    """The disk gets full within a write, of which Python without a buffer ignores the rest."""
    size = 100_000
    run("sample", "claims", "--rows", "500", "--out", "claims.ndjson")
    run("load", "claims", "claims.ndjson", "--db", "comptroller.db")
    for words in (
        *("sample claims", "export claims -", "changes", "query 'FROM claims' --format csv"),
        *("query 'FROM claims' --format json", "query 'FROM claims'"),
    ):
        ended = shell(tmp_path, f"{words} > out", size)
        expected = "the standard output cannot be written: File too large"
        assert (ended.returncode, ended.stderr) == (1, f"comptroller: unavailable: {expected}\n")
        assert (tmp_path / "out").stat().st_size == size


@pytest.mark.usefixtures("_buffering")
@needs_full
@pytest.mark.parametrize("is_json", [False, True], ids=["text", "json"])
def test_a_secret_that_cannot_be_shown_can_be_replaced(
    run: Run, tmp_path: Path, is_json: bool
) -> None:
    pytest.importorskip("joserfc")
    run("load", "claims", "-", "--db", "s.db", given=GOOD)
    form = "--json" if is_json else ""
    ended = shell(tmp_path, f"clients add desk --operator --db s.db {form} > /dev/full")
    for _ in range(2):
        assert ended.returncode == 1
        client, command = re.findall(
            r"client (desk-\w+) has a new secret, .*; give it another one: comptroller (.*)\n",
            ended.stderr,
        )[0]
        assert os.strerror(errno.ENOSPC) in ended.stderr
        assert command == f"clients rotate {client} --db s.db"
        ended = shell(tmp_path, f"{command} {form} > /dev/full")
    assert shell(tmp_path, f"{command} --json").stdout


#: The ends of a command, their exit codes and what they print on standard error.
ENDS = [
    ("KeyboardInterrupt", 130, "\ncomptroller: interrupted\n"),
    ("click.ClickException('no')", 1, "Error: no\n"),
    ("SystemExit(3)", 3, ""),
    ("OSError('archive is damaged')", 1, "comptroller: unusable: archive is damaged\n"),
    ("TimeoutError()", 1, "comptroller: unusable: \n"),
    ("ValueError('no')", 1, "comptroller: internal: ValueError: no\n"),
]


def waiting_bytes(pipe: Any) -> int:
    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    return int(count)


def raising(error: str, write: str = "sys.stdout.write('a line')") -> str:
    """Returns the arguments of Python for a command that prints a line and raises an error."""
    script = f"""
import click, sys
from comptroller.cli import program

@click.command
def check():
    {write}
    raise {error}

program.program.get_command = lambda ctx, name: check
sys.exit(program.run(["check"]))
"""
    return f"-c {shlex.quote(script)}"


@pytest.mark.usefixtures("_buffering")
@pytest.mark.parametrize(("error", "code", "message"), ENDS)
def test_a_command_that_fails_writes_its_output(
    tmp_path: Path, error: str, code: int, message: str
) -> None:
    ended = python(tmp_path, raising(error))
    assert (ended.returncode, ended.stdout) == (code, "a line")
    assert ended.stderr.startswith(message)


@needs_full
@pytest.mark.usefixtures("_buffering")
@pytest.mark.parametrize(("error", "code", "message"), ENDS)
def test_a_command_that_fails_keeps_its_exit_code_if_its_output_cannot_be_written(
    tmp_path: Path, error: str, code: int, message: str
) -> None:
    ended = python(tmp_path, f"{raising(error)} > /dev/full")
    assert ended.returncode == code
    assert ended.stderr.startswith(message)


@pytest.mark.usefixtures("_buffering")
@pytest.mark.parametrize("error", ["ValueError('no')", "click.ClickException('no')"])
def test_one_ctrl_c_ends_a_failing_command_without_a_reader(tmp_path: Path, error: str) -> None:
    """Its last output waits for the reader."""
    most = 65_536  # bytes that a pipe holds
    write = f"sys.stdout.write('x' * {most}); sys.stdout.flush(); sys.stdout.write('a line')"
    script = raising(error, write)
    with subprocess.Popen(
        ["/bin/sh", "-c", f"exec {shlex.quote(sys.executable)} {script}"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as failing:
        try:
            assert failing.stdout
            assert failing.stderr
            while waiting_bytes(failing.stdout) < most:
                assert failing.poll() is None
            failing.send_signal(signal.SIGINT)
            assert failing.wait(30) == 130
            assert failing.stderr.read().strip() == "comptroller: interrupted"
        finally:
            failing.kill()


@pytest.mark.usefixtures("_buffering")
def test_an_export_without_a_reader_ends_silently(run: Run, tmp_path: Path) -> None:
    rows = b"".join(GOOD.replace(b'"c-', b'"c-%d-' % number) for number in range(2_000))
    assert run("load", "claims", "-", "--db", "s.db", given=rows).code == 0
    for format in ("ndjson", "csv"):
        with subprocess.Popen(
            [sys.executable, "-m", "comptroller", "export", "claims", "-", "--format", format],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "COMPTROLLER_DB": "s.db"},
        ) as exporting:
            assert exporting.stdout
            assert exporting.stderr
            exporting.stdout.read(10)
            exporting.stdout.close()
            assert exporting.stderr.read() == b""
            assert exporting.wait(60) == 1


@pytest.mark.parametrize("redirection", ["2>&-", "0<&- 2>&-"])
def test_a_server_without_standard_error_serves(tmp_path: Path, redirection: str) -> None:
    """No file of the store gets descriptor 2, to which libraries write messages."""
    pytest.importorskip("httptools")
    program = (
        f"exec {shlex.quote(sys.executable)} -m comptroller serve --empty --auth off --port 0"
        f" {redirection}"
    )
    with subprocess.Popen(
        ["/bin/sh", "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout
            assert " at http://127.0.0.1:" in server.stdout.readline()
            if Path("/proc/self/fd").exists():
                assert Path(f"/proc/{server.pid}/fd/2").readlink() == Path(os.devnull)
            server.send_signal(signal.SIGTERM)
            assert server.wait(30) == 0
        finally:
            server.kill()


def test_a_closed_standard_input_is_named(run: Run, tmp_path: Path) -> None:
    run("load", "claims", "-", given=GOOD)
    for words in ("load claims -", "reconcile claims - --on id"):
        ended = shell(tmp_path, f"{words} <&-")
        assert ended.returncode == 1
        assert ended.stderr.startswith("comptroller: invalid-request: file: standard input is")
