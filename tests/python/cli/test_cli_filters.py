"""Filters of commands by both of their spellings: that of HTTP, and that of Python."""

from __future__ import annotations

import pytest
from command_line import Run, claim, lines

pytest.importorskip("polars")
pytest.importorskip("duckdb")


@pytest.mark.parametrize("name", ["updated_at.lt", "updated_at_lt"])
def test_a_filter_may_have_both_spellings(run: Run, name: str) -> None:
    rows = lines(claim("c-1"), claim("c-2", created_at="2026-02-01T00:00:00Z"))
    ids = lines({"id": "c-1"}, {"id": "c-2"})
    run("load", "claims", "-", given=rows)
    where = ("--where", f"{name}=2026-02-01T00:00:00Z")
    exported = run("export", "claims", "-", *where)
    assert exported.out.count("\n") == 1, exported.err
    ended = run("reconcile", "claims", "-", "--on", "id", *where, "--json", given=ids)
    assert ended.code == 0, ended.err
    assert [row["status"] for row in ended.json["counts"] if row["there"]] == [
        "matched",
        "missing_here",
    ]


def test_both_spellings_at_once_are_refused(run: Run) -> None:
    run("load", "claims", "-", given=lines(claim("c-1")))
    where = ("--where", "updated_at.lt=2026-02-01", "--where", "updated_at_lt=2026-02-02")
    ended = run("reconcile", "claims", "-", "--on", "id", *where, given=lines({"id": "c-1"}))
    assert ended.code == 1
    assert "a filter appears in both of its spellings" in ended.err
