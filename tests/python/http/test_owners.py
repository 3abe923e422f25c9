"""Files that a command of root leaves beside the store of another user."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import comptroller
import pytest
from comptroller.bulk import pulling
from examples import short_line

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")

NOBODY = 65534
MODE = 0o660

AS_NOBODY = """
import os, sys, comptroller
with comptroller.open(":memory:") as svc:
    svc.identities.list()  # all is imported that others might not be allowed to read
    svc.load("claims", [])
path, client = sys.argv[1:]
if client:
    from comptroller.http.oauth import clients, keys
os.setgid(65534), os.setuid(65534)
with comptroller.open(path) as svc:
    svc.identities.put(id="nobody")
    print(len(svc.identities.list()))
if client:
    clients.add(clients.file_of(path), client, None, None)
    print(len(clients.read(clients.file_of(path))))
    keys.rotate(keys.file_of(path), 0)
"""


@pytest.fixture
def store() -> Iterator[Path]:
    """The restored store of another user, without lock files, in a folder of that user."""
    before = os.umask(0o077)
    # A folder that other users may read, unlike those of pytest.
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "store.db"
        comptroller.open(path).close()
        for suffix in ("-lock", "-opening-lock"):
            Path(f"{path}{suffix}").unlink()
        path.chmod(MODE)
        for each in (path, path.parent):
            os.chown(each, NOBODY, NOBODY)
        yield path
    os.umask(before)


def as_nobody(store: Path, client: str = "") -> list[str]:
    command = [sys.executable, "-c", AS_NOBODY, str(store), client]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_the_user_of_a_store_opens_it_after_root(store: Path) -> None:
    with comptroller.open(store) as svc:
        svc.identities.put(id="root")
        made = sorted(store.parent.glob("store.db-*"))
        assert [each.name.removeprefix("store.db") for each in made] == [
            *("-lock", "-opening-lock", "-shm", "-wal")
        ]
        for each in made:
            status = each.stat()
            assert (status.st_uid, status.st_gid) == (NOBODY, NOBODY)
            assert stat.S_IMODE(status.st_mode) == MODE
    assert as_nobody(store) == ["2"]


def test_the_user_of_a_store_opens_the_locks_of_earlier_commands_of_root(store: Path) -> None:
    for suffix in ("-lock", "-opening-lock"):
        Path(f"{store}{suffix}").touch()
        Path(f"{store}{suffix}").chmod(0o644)
    assert as_nobody(store) == ["1"]


def test_the_user_of_a_store_uses_the_clients_and_keys_that_root_made(store: Path) -> None:
    pytest.importorskip("joserfc")
    from comptroller.http.oauth import clients, keys

    registry, signing = clients.file_of(str(store)), keys.file_of(str(store))
    clients.add(registry, "root", None, None)
    keys.rotate(signing, 0)
    assert as_nobody(store, "1") == ["1", "2"]
    # Root replaces the files.
    clients.add(registry, "root again", None, None)
    keys.rotate(signing, 0)
    assert as_nobody(store, "2") == ["1", "4"]
    for file in (registry, signing):
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_a_file_that_root_replaces_keeps_its_owner(store: Path) -> None:
    path = store.with_name("rows")
    with comptroller.open(store) as svc:
        for form in ("ndjson", "csv", "parquet"):
            path.write_bytes(b"old")
            path.chmod(0o640)
            os.chown(path, NOBODY, NOBODY)
            svc.export("claims", path, form)
            status = path.stat()
            assert (status.st_uid, status.st_gid) == (NOBODY, NOBODY)
            assert stat.S_IMODE(status.st_mode) == 0o640


def test_the_user_of_a_store_reads_the_times_of_a_pull_of_root(store: Path) -> None:
    path = store.with_name("source.db")
    with comptroller.open(path) as source, comptroller.open(store) as target:
        source.load("claims", [short_line("claims")])
        pulling.pull(source, target, "claims")
    status = Path(f"{store}.pulled").stat()
    assert (status.st_uid, status.st_gid) == (NOBODY, NOBODY)
