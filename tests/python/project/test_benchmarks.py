"""The picture of the benchmarks shows what RESULTS.md says."""

from __future__ import annotations

import sys

import pytest
from places import ROOT

BENCHMARKS = ROOT / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("the source distribution carries no benchmarks", allow_module_level=True)
pytest.importorskip("altair")


def test_picture_shows_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.delitem(sys.modules, "picture", raising=False)
    import picture

    shown = picture.ratios(picture.RESULTS.read_text())
    drawn = picture.PICTURE.read_text()
    assert {ratio["work"] for ratio in shown} == set(picture.TITLES.values())
    for ratio in shown:
        assert f">{ratio['label']}<" in drawn
        assert f">{ratio['peer']}<" in drawn
