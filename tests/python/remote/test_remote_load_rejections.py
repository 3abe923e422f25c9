"""The file of rejected rows of a load into a remote service."""

from __future__ import annotations

from pathlib import Path

import pytest
from comptroller import Service
from examples import accounted, short_line
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
    if source in ("rows", "polars", ".csv", ".tsv", ".xlsx", ".parquet"):
        assert [row["note"] for row in written] == ["n1", "n3", "n4"]


def test_rejects_of_a_remote_load_warn_of_missing_rows(operator: Service, tmp_path: Path) -> None:
    many = [short_line("claims", id=f"c-{n}", amount=f"{n}x", note=f"n{n}") for n in range(1002)]
    with pytest.warns(UserWarning, match=r"1,000 of 1,002 rejected rows"):
        operator.load("claims", many, rejects=tmp_path / "r.csv")
    written = read_csv(tmp_path / "r.csv")
    assert [row["note"] for row in written] == [f"n{n}" for n in range(1000)]
