"""Reports and queries stay within the memory of the process, or fail with an error that says so."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import comptroller
import pytest

for needed in ("sqlglot", "duckdb", "polars"):
    pytest.importorskip(needed)

from comptroller.analysis.engines.duckdb import DuckDB  # noqa: E402
from comptroller.analysis.registry import TABLES  # noqa: E402
from comptroller.analysis.reports import Reports  # noqa: E402
from comptroller.analysis.tables import ServiceTables  # noqa: E402

PROGRAM = """
import comptroller
from comptroller.analysis.engines.duckdb import DuckDB  # noqa: E402

SQL = "SELECT current_setting('memory_limit') AS value"
with comptroller.open(":memory:") as svc:
    print(svc.query(SQL).to_polars()["value"][0])
print(DuckDB()._connection.sql(SQL).fetchall()[0][0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no limit of data")
def test_the_limit_of_the_process_bounds_duckdb() -> None:
    allowed = 1536 << 20
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed)),
    )
    assert (done.stdout.split("\n"), done.stderr) == (["256.0 MiB", "256.0 MiB", ""], "")


def test_a_report_without_memory_is_unavailable(
    operator: comptroller.Service, tmp_path: Path
) -> None:
    lines = comptroller.sample("claims", 30_000, out=tmp_path / "claims.ndjson")
    operator.load("claims", lines)
    engine = DuckDB()
    engine._connection.execute("SET memory_limit = '2MB'; SET max_temp_directory_size = '0KB'")
    tables = ServiceTables(
        {name: getattr(operator, name) for name in TABLES}, operator.host.version
    )
    reports = Reports(tables, engine)
    with pytest.raises(comptroller.Unavailable, match="the report failed: Out of Memory"):
        reports.claims_summary()
    reports.close()
