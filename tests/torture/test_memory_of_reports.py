"""Reports on a store that does not fit into memory finish, and leave no file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller.analysis.registry import REPORTS
from limited_process import run
from places import SUPPORT

pytestmark = pytest.mark.promise(17, minutes=60, alone=True)

CLAIMS = int(os.environ.get("TORTURE_CLAIMS", "2_000_000"))
LIMIT_MIB = int(os.environ.get("TORTURE_MIB", "1536"))
PROGRAM = """
import comptroller

support, store, names = given
sys.path.append(support)
from report_stores import reported

with comptroller.open(store, read_only=True) as service:
    found.update({name: len(reported(service, name)) for name in names})
"""


def test_reports_of_a_large_store(tmp_path: Path, figures: dict[str, Any]) -> None:
    """All reports of a store finish with less memory than they would use, and leave no file"""
    folder, store = tmp_path / "reports", tmp_path / "store.db"
    folder.mkdir()
    with comptroller.open(store) as service:
        service.load_all(comptroller.sample("all", CLAIMS, out=tmp_path / "lines"))
    before = sorted(tmp_path.glob("store.db*"))
    figures["claims"] = CLAIMS
    figures["memory of the process (ulimit -d), MiB"] = LIMIT_MIB
    given = [str(SUPPORT), str(store), list(REPORTS)]
    ran = run(PROGRAM, given, folder, data=LIMIT_MIB << 20)
    assert ran.code == 0, ran.errors[-2000:]
    figures["largest RSS, MiB"] = ran.found.pop("rss_mib")
    figures["reports"] = len(ran.found)
    assert ran.found.keys() == REPORTS.keys()
    assert list(folder.iterdir()) == []
    assert sorted(tmp_path.glob("store.db*")) == before
