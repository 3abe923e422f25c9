"""The file of rejected rows of a load into a remote service."""

from __future__ import annotations

from pathlib import Path

import pytest
from comptroller import Service
from examples import accounted
from in_process import open_as, shared_open_as  # noqa: F401
from test_load_rejections import BY_MEMBER, SOURCES, groups, read_csv


@pytest.mark.parametrize("source", SOURCES)
def test_rejects_of_a_remote_load_name_the_first_thousand(
    operator: Service, tmp_path: Path, source: str
) -> None:
    result = accounted(operator.load("claims", SOURCES[source](), rejects=tmp_path / "r.csv"))
    assert groups(result) == BY_MEMBER
    written = read_csv(tmp_path / "r.csv")
    assert [row["rejected_id"] for row in written] == ["c-1", "c-3", "c-4"]
    assert [row["rejected_value"] for row in written] == ["1e3", "DONE", "-2"]
    if source in ("polars", ".csv", ".tsv", ".xlsx", ".parquet"):
        assert [row["note"] for row in written] == ["n1", "n3", "n4"]
