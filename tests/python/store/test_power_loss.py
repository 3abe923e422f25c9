"""A loss of power loses no answered write and leaves no partial load."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import power_loss
import pytest
from power_loss import Record
from power_record import Disk, Event

pytest.importorskip("duckdb")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("c++") is None,
    reason="the recorder needs a compiler, and the system calls of Linux",
)

#: The numbers of points; `make torture` has the others.
POINTS = {"writes": 20, "loads": 12, "loads_by_sql": 4, "migration": 5}

Recorded = Callable[[str], Record]


@pytest.fixture(name="recorder", scope="module")
def _recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return power_loss.compile_recorder(tmp_path_factory.mktemp("recorder"))


@pytest.fixture(name="recorded", scope="module")
def _recorded(tmp_path_factory: pytest.TempPathFactory, recorder: Path) -> Recorded:
    """Returns the record of a scenario, which runs once."""
    records: dict[str, Record] = {}

    def recorded(scenario: str) -> Record:
        if scenario not in records:
            folder = tmp_path_factory.mktemp(scenario) / "recorded"
            records[scenario] = power_loss.record(scenario, folder, recorder)
        return records[scenario]

    return recorded


class NoLoss:
    """Keeps every change, as if the power had stayed on."""

    lengthens = False

    def kept(self, changes: list[Event]) -> list[Event]:
        return changes

    def pieces(self, change: Event) -> list[tuple[int, int]]:
        return [(0, len(change.payload))]

    def noise(self, size: int) -> bytes:
        return bytes(size)


@pytest.mark.parametrize("scenario", POINTS)
def test_the_record_has_every_change(recorded: Recorded, scenario: str) -> None:
    record = recorded(scenario)
    disk = Disk(record.before)
    for event in record.events:
        disk.apply(event)
    left = disk.lost(NoLoss())
    assert left.keys() == record.after.keys()
    assert [name for name, content in left.items() if content != record.after[name]] == []


def test_large_loads_are_built_in_a_private_copy(recorded: Recorded) -> None:
    for scenario, copies in (("loads", 2), ("loads_by_sql", 0)):
        created = [event.names for event in recorded(scenario).events if event.kind == "c"]
        # The creation of the store makes such a file, too.
        assert created.count([f"{power_loss.STORE}-filling"]) == 1 + copies


@pytest.mark.parametrize("scenario", POINTS)
def test_a_loss_of_power_loses_no_answered_write(recorded: Recorded, scenario: str) -> None:
    record = recorded(scenario)
    points = power_loss.points_of(record, POINTS[scenario], Random(scenario))
    assert power_loss.lose_power(record, points, seed=1) == []


@pytest.mark.parametrize("missing", ["the log", "the folder"])
def test_a_missing_synchronisation_is_found(recorded: Recorded, missing: str) -> None:
    def ignores(name: str) -> bool:
        return name == "." if missing == "the folder" else name.endswith("-wal")

    record = recorded("writes")
    points = power_loss.points_of(record, 8, Random(missing))
    findings = power_loss.lose_power(record, points, seed=1, ignores=ignores)
    assert len(findings) >= 3, findings


def test_a_private_copy_with_a_damaged_page_is_refused(tmp_path: Path, recorder: Path) -> None:
    record = power_loss.record(
        "loads", tmp_path / "files", recorder, fails=True, POWER_SPOIL="-filling"
    )
    assert "the tables that were built are not sound" in record.error
    assert record.operations[-1].name == "load claims.ndjson"
    assert power_loss.lose_power(record, [len(record.events)] * 2, seed=1) == []


def test_a_creation_that_was_cut_off_is_repeated(recorded: Recorded) -> None:
    record = recorded("loads_by_sql")
    creation = range(record.operations[0].begins, record.operations[0].ends)
    points = [point for point in creation if record.events[point].kind in "cusd"]
    assert power_loss.lose_power(record, sorted(points * 2), seed=1) == []
