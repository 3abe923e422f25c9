"""A store whose file is moved, replaced or removed while it is open, or has several names."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import comptroller
import pytest
from comptroller import Service, Unusable
from examples import line, ndjson, short_line


def backup_of(path: Path) -> Path:
    """Returns another store, with other records than the one that it will replace."""
    backup = path.with_name("backup.db")
    with comptroller.open(backup) as svc:
        svc.load("identities", [short_line("identities", id=f"kept-{n}") for n in range(500)])
    assert not backup.with_name("backup.db-wal").exists()
    return backup


def replace(path: Path) -> None:
    backup_of(path).rename(path)


LOSSES: dict[str, Callable[[Path], object]] = {
    "moved": lambda path: path.rename(path.with_name("elsewhere.db")),
    "replaced": replace,
    "removed": lambda path: path.unlink(),
    "folder moved": lambda path: path.parent.rename(path.parent.with_name("other")),
}

WRITES: dict[str, Callable[[Service], object]] = {
    "write": lambda svc: svc.identities.put(id="late"),
    "load": lambda svc: svc.load("claims", [short_line("claims")]),
    "load of parts": lambda svc: svc.load("claims", [short_line("claims")], keep_going=True),
    "load of a table": lambda svc: svc.load(
        "claims", io.BytesIO(ndjson(line("claims", id=f"c-{n}") for n in range(10_000)))
    ),
}


@pytest.fixture
def place(tmp_path: Path, template: Path) -> Path:
    """The path of a store in a folder of its own."""
    (tmp_path / "folder").mkdir()
    return Path(shutil.copyfile(template, tmp_path / "folder" / "store.db"))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("write", WRITES)
def test_a_write_into_a_file_without_its_path_is_refused(
    place: Path, loss: str, write: str
) -> None:
    with comptroller.open(place) as svc:
        svc.identities.put(id="early")
        LOSSES[loss](place)
        for _ in range(2):
            with pytest.raises(Unusable, match=r"moved, replaced or removed.*put it back"):
                WRITES[write](svc)
        assert [identity.id for identity in svc.identities.list()] == ["early"]
        assert len(svc.claims.list()) == 0


def test_a_removed_file_can_still_be_backed_up(place: Path) -> None:
    with comptroller.open(place) as svc:
        svc.identities.put(id="early")
        place.unlink()
        with pytest.raises(Unusable):
            svc.identities.put(id="refused")
        svc.backup(place.with_name("rescued.db"))
    with comptroller.open(place.with_name("rescued.db")) as svc:
        assert [identity.id for identity in svc.identities.list()] == ["early"]


def test_a_file_that_is_put_back_is_written_again(place: Path) -> None:
    with comptroller.open(place) as svc:
        svc.identities.put(id="early")
        place.rename(place.with_name("elsewhere.db"))
        with pytest.raises(Unusable):
            svc.identities.put(id="refused")
        place.with_name("elsewhere.db").rename(place)
        svc.identities.put(id="late")
    with comptroller.open(place) as svc:
        assert {identity.id for identity in svc.identities.list()} == {"early", "late"}
        assert svc.check()["ok"]


@pytest.mark.parametrize("writes", [True, False])
def test_a_moved_file_has_all_records_and_its_replacement_only_its_own(
    place: Path, writes: bool
) -> None:
    moved = place.with_name("elsewhere.db")
    with comptroller.open(place) as svc:
        for number in range(100):
            svc.identities.put(id=f"early-{number}")
        place.rename(moved)
        replace(place)
        if writes:
            with pytest.raises(Unusable):
                svc.identities.put(id="refused")
    for path, prefix, count in ((place, "kept", 500), (moved, "early", 100)):
        with comptroller.open(path) as svc:
            ids = {identity.id for identity in svc.identities.iter()}
            assert ids == {f"{prefix}-{number}" for number in range(count)}
            assert svc.check()["ok"]


# A write is refused after the file was replaced; then the process is killed.
KILLED = """
import os, sys, comptroller
svc = comptroller.open(sys.argv[1])
for number in range(100):
    svc.identities.put(id=f"early-{number}")
os.rename(sys.argv[2], sys.argv[1])
try:
    svc.identities.put(id="late")
except comptroller.Unusable:
    os.kill(os.getpid(), 9)
"""


def test_the_log_of_a_replaced_file_is_not_applied_to_its_replacement(place: Path) -> None:
    backup = backup_of(place)
    command = [sys.executable, "-c", KILLED, str(place), str(backup)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    with comptroller.open(place) as svc:
        assert len(list(svc.identities.iter())) == 500
        assert svc.check()["ok"]


@pytest.mark.parametrize("read_only", [False, True])
def test_reads_after_a_replacement_see_one_file(place: Path, read_only: bool) -> None:
    with comptroller.open(place) as svc:
        svc.identities.put(id="early")
    seen: set[str] = set()
    with comptroller.open(place, read_only=read_only) as svc:
        replace(place)
        together = threading.Barrier(8)

        def read() -> None:  # the threads need more connections than are open
            together.wait()
            for _ in range(50):
                with suppress(Unusable):
                    seen.update(identity.id for identity in svc.identities.list())

        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == {"early"}
    with comptroller.open(place) as svc:
        assert len(list(svc.identities.iter())) == 500


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_with_several_names_is_refused(place: Path, read_only: bool) -> None:
    with comptroller.open(place) as svc:
        svc.identities.put(id="alice")
    other = place.with_name("other.db")
    os.link(place, other)
    before = {each.name for each in place.parent.iterdir()}
    for path in (place, other):
        with pytest.raises(Unusable, match=r"2 names \(hard links\).*remove them") as refusal:
            comptroller.open(path, read_only=read_only)
        assert refusal.value.detail.count(str(path)) == 1
    assert {each.name for each in place.parent.iterdir()} == before
    other.unlink()
    with comptroller.open(place) as svc:
        assert len(svc.identities.list()) == 1
