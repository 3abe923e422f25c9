"""The checks of promises that `make test` and `make check` have, run at once for the results."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from programs import run

ROOT = Path(__file__).parents[2]
#: The files that check each promise, below `tests/python`.
FILES = {
    4: (
        "operations/test_idempotency.py",
        "operations/test_equal_requests.py",
        "remote/test_remote_replays.py",
    ),
    5: ("store/test_processes.py", "store/test_threads.py", "server/test_many_clients.py"),
    6: (
        "bulk/test_loading.py",
        "bulk/test_load_formats.py",
        "bulk/test_load_order.py",
        "bulk/test_load_ends.py",
        "bulk/test_round_trip.py",
        "store/test_durability.py",
    ),
    7: (
        "operations/test_money.py",
        "bulk/test_real_rewards.py",
        "analysis/test_reports_edges.py",
        "analysis/test_reports_random.py",
    ),
    8: ("oauth/test_scopes.py", "oauth/test_oauth_scopes.py", "oauth/test_oauth_requests.py"),
    9: (
        "operations/test_tenancy.py",
        "http/test_served_tenancy.py",
        "remote/test_remote_tenancy.py",
    ),
    10: (
        "oauth/test_tokens.py",
        "oauth/test_oauth_issuer.py",
        "oauth/test_oauth_files.py",
        "oauth/test_external_issuers.py",
        "oauth/test_oauth_log.py",
    ),
    11: (
        "http/test_bodies.py",
        "operations/test_values.py",
        "operations/test_arguments.py",
        "bulk/test_load_json.py",
        "bulk/test_load_odd_files.py",
        "http/test_schemathesis.py",
    ),
    12: ("server/test_server_bounds.py", "server/test_anonymous.py", "http/test_http.py"),
    13: ("operations/test_listing.py", "operations/test_cursors.py", "http/test_any_key.py"),
    14: ("operations/test_errors.py", "http/test_http_log.py", "http/test_openapi.py"),
    16: ("store/test_backup.py", "store/test_restore.py"),
    19: ("bulk/test_export.py", "bulk/test_export_tables.py", "analysis/test_report_files.py"),
    21: (
        "store/test_forks.py",
        "store/test_open_stores.py",
        "store/test_moved_stores.py",
        "store/test_damaged_files.py",
        "store/test_outside_tools.py",
        "store/test_restore.py",
        "project/test_replicate.py",
    ),
    22: ("operations/test_tenancy.py",),
    23: ("cli/test_endings.py", "cli/test_cli_endings.py", "store/test_interpreter_exit.py"),
    24: (
        "store/test_journal.py",
        "store/test_journal_archive.py",
        "store/test_journal_go.py",
        "store/test_evidence.py",
        "store/test_changes.py",
    ),
}
#: The files of the core's tests that check each promise, below `tests/cpp`.
CORE_FILES = {
    13: ("service/cursor.cpp",),
    22: ("store/tenants.cpp", "store/tenant_feeds.cpp"),
}
CORE_TESTS = ROOT / "build" / "coverage" / "comptroller_tests"


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(files, id=f"promise {number}", marks=pytest.mark.promise(number))
        for number, files in FILES.items()
    ],
)
def test_quick_checks(tmp_path: Path, files: tuple[str, ...], figures: dict[str, Any]) -> None:
    """Tests of `make check`"""
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile"]
    command += ["-p", "no:cacheprovider", f"--junit-xml={report}"]
    command += [f"tests/python/{name}" for name in files]
    done = run(command, cwd=ROOT, stderr=subprocess.PIPE)
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    figures["cases"] = counts["tests"] - counts["skipped"]
    figures["files"] = ", ".join(re.sub(r".*/|\.py", "", name) for name in files)
    assert counts["failures"] + counts["errors"] == 0, done.stdout[-4000:]
    assert done.returncode == 0, done.stderr
    assert counts["tests"] > counts["skipped"]


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, id=file, marks=pytest.mark.promise(number))
        for number, files in CORE_FILES.items()
        for file in files
    ],
)
def test_core_files(file: str, figures: dict[str, Any]) -> None:
    """Tests of the core"""
    command = [CORE_TESTS, "--no-version", f"-sf=*{file}"]
    done = run(command, stderr=subprocess.PIPE)
    for what in ("test cases", "assertions"):
        found = re.search(rf"{what}: +(\d+)", done.stdout)
        assert found, done.stdout
        figures[what] = int(found[1])
    assert done.returncode == 0, done.stdout[-4000:]
    assert figures["test cases"] > 0
