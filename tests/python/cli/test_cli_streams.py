"""Commands whose standard streams are closed, full, or have no reader."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import GOOD, Run

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def shell(folder: Path, words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in a shell, which redirects its streams."""
    command = f"{shlex.quote(sys.executable)} -m comptroller {words}"
    return subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, check=False, text=True
    )


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
