"""Power is lost at 1,000 points of operations of every kind."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import power_loss
import pytest

pytestmark = [
    pytest.mark.promise(2),
    pytest.mark.skipif(
        sys.platform != "linux" or shutil.which("c++") is None,
        reason="the recorder needs a compiler, and the system calls of Linux",
    ),
]

#: 1,000 points.
POINTS = {"writes": 450, "loads": 330, "loads_by_sql": 80, "checkpoints": 60, "migration": 80}
#: Synchronisations that are ignored in the record, as if the program had not asked for them.
DEFECTS: dict[str, Callable[[str], bool]] = {
    "the log": lambda name: name.endswith("-wal"),
    "the file": lambda name: name == power_loss.STORE,
    "the folder": lambda name: name == ".",
    "a backup, an export and an archive": lambda name: not name.startswith((".", power_loss.STORE)),
}


@pytest.fixture(name="recorder", scope="module")
def _recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return power_loss.compile_recorder(tmp_path_factory.mktemp("recorder"))


def test_power_loss(tmp_path: Path, recorder: Path, figures: dict[str, Any]) -> None:
    """Power loss: unsynchronised writes, lengths and names are lost, reordered or torn"""
    findings: list[str] = []
    events = operations = answered = 0
    for scenario, count in POINTS.items():
        record = power_loss.record(scenario, tmp_path / scenario, recorder)
        points = power_loss.points_of(record, count, Random(scenario))
        findings += power_loss.lose_power(record, points, seed=2)
        events += len(record.events)
        operations += len(record.operations)
        answered += sum(map(record.answered, points))
    figures["operations"] = operations
    figures["changes and synchronisations recorded"] = events
    figures["points"] = sum(POINTS.values())
    figures["answered operations looked for after the losses"] = answered
    figures["points after which one was lost, or the store was not sound"] = len(findings)
    assert answered > figures["points"]
    assert findings == []


@pytest.mark.parametrize("missing", DEFECTS)
def test_missing_synchronisation(
    tmp_path: Path, recorder: Path, figures: dict[str, Any], missing: str
) -> None:
    """The check of power loss finds a missing synchronisation"""
    scenario = "checkpoints" if missing == "the file" else "writes"
    record = power_loss.record(scenario, tmp_path / "recorded", recorder)
    points = power_loss.points_of(record, 60, Random(missing))
    findings = power_loss.lose_power(record, points, seed=3, ignores=DEFECTS[missing])
    figures["not synchronised"] = missing
    figures["points where it is found"] = f"{len(findings)} of {len(points)}"
    assert findings


def test_an_unsound_private_copy(tmp_path: Path, recorder: Path, figures: dict[str, Any]) -> None:
    """A load whose private copy gets a damaged page is refused, and stores nothing"""
    record = power_loss.record(
        "loads", tmp_path / "files", recorder, fails=True, POWER_SPOIL="-filling"
    )
    points = [len(record.events)] * 20
    findings = power_loss.lose_power(record, points, seed=4)
    figures["refused operation"] = record.operations[-1].name
    figures["losses of power after it"] = len(points)
    figures["losses after which the store was not sound, or had the load"] = len(findings)
    assert "the tables that were built are not sound" in record.error
    assert findings == []
