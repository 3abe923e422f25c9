"""No function opens a file of a store that is open in the process: closing it would drop SQLite's
locks on it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import comptroller
import pytest
from command_line import Run
from comptroller import InvalidRequest, Service, Unusable
from comptroller.bulk import pulling
from examples import padded, short_line

pytest.importorskip("click")
pytest.importorskip("duckdb")
pytest.importorskip("sqlglot")
pytest.importorskip("polars")
pytest.importorskip("httpx2")
pytest.importorskip("httptools")
pytest.importorskip("joserfc")

from comptroller.analysis import open_exports
from comptroller.http.oauth import clients, keys
from comptroller.http.oauth.jwks import PublishedKeys
from comptroller.http.server.certificate import require_certificate
from in_process import opener

# The locks that SQLite holds for an idle connection: on the file, and on the index of its log.
# https://sqlite.org/src/file/src/os_unix.c: SHARED_FIRST and UNIX_SHM_DMS
LOCKED = """
import fcntl, sys
for suffix, start, size in (("", 0x40000002, 510), ("-shm", 128, 1)):
    with open(sys.argv[1] + suffix, "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, size, start)
            print("free")
        except OSError:
            print("locked")
"""


class Place(NamedTuple):
    """An open store, a path that leads to a file of it, and a folder for other files."""

    svc: Service
    remote: Service
    path: Path
    folder: Path

    def linked(self, name: str) -> Path:
        """Makes a link to the path in the folder."""
        link = self.folder / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(self.path)
        return link

    @property
    def db(self) -> str:
        return str(self.svc.host.path)


Door = Callable[[Place], object]


def exporting(form: str) -> Door:
    return lambda at: at.svc.export("claims", at.path, form)


def pull(at: Place) -> None:
    at.linked("target.db.pulled")
    with comptroller.open(at.folder / "target.db") as target:
        pulling.pull(at.svc, target, "claims")


def secret_file(module: Any, suffix: str, act: Callable[[Any], object]) -> Door:
    def door(at: Place) -> None:
        at.linked(f"other.db{suffix}")
        act(module.file_of(str(at.folder / "other.db")))

    return door


DOORS: dict[str, Door] = {
    "load": lambda at: at.svc.load("claims", at.path),
    "dry run": lambda at: at.svc.load("claims", str(at.path), dry_run=True),
    "load_all": lambda at: at.svc.load_all(at.linked("all/claims.ndjson").parent),
    "remote load": lambda at: at.remote.load("claims", at.path),
    "export ndjson": exporting("ndjson"),
    "export csv": exporting("csv"),
    "export parquet": exporting("parquet"),
    "dataset": lambda at: at.svc.export("claims", at.path, partition="month"),
    "remote export": lambda at: at.remote.export("claims", at.path),
    "backup": lambda at: at.svc.backup(at.path),
    "sample": lambda at: comptroller.sample("claims", 1, out=at.path),
    "sample all": lambda at: comptroller.sample(
        "all", 1, out=at.linked("all/claims.ndjson").parent
    ),
    "exports": lambda at: open_exports({"claims": str(at.path)}).claims_summary(),
    "exports in a folder": lambda at: open_exports(
        at.linked("all/claims.parquet").parent
    ).claims_summary(),
    "exports in a dataset": lambda at: open_exports(
        {"claims": str(at.linked("claims/1.parquet").parent)}
    ).claims_summary(),
    "pull": pull,
    "clients": secret_file(clients, ".clients", clients.read),
    "clients lock": secret_file(
        clients, ".clients-lock", lambda file: clients.add(file, "name", None, None)
    ),
    "keys": secret_file(keys, ".keys", keys.open_or_make),
    "jwks": lambda at: PublishedKeys(str(at.path), lambda: 0.0),
    "certificate": lambda at: require_certificate(str(at.path), str(at.folder)),
    "certificate key": lambda at: require_certificate(str(at.folder), str(at.path)),
}
COMMANDS: dict[str, Callable[[Place], tuple[str | Path, ...]]] = {
    "query": lambda at: ("query", "FROM claims", "--out", at.path, "--format=csv", "--db", at.db),
    "report": lambda at: ("report", "--html", at.path, "--db", at.db),
    "migrate": lambda at: ("migrate", "--db", at.path),
    "pull": lambda at: (
        *("pull", "--from", "https://none.test", "--client-id", "x"),
        *("--client-secret-file", at.path),
    ),
}


@pytest.fixture(params=["path", "symbolic link", "hard link", "index of the log"])
def place(
    request: pytest.FixtureRequest, operator: Service, store_path: Path, tmp_path: Path
) -> Iterator[Place]:
    """A path that leads to a file of the open store."""
    operator.identities.list()
    path = Path(f"{store_path}{'-shm' if request.param == 'index of the log' else ''}")
    with ExitStack() as closing:
        remote = opener(store_path, closing)()
        if request.param.endswith("link"):
            path = tmp_path / "other-name"
            link = path.symlink_to if request.param == "symbolic link" else path.hardlink_to
            link(store_path)
        yield Place(operator, remote, path, tmp_path)


def require_locks(store: str) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", LOCKED, store], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["locked", "locked"]


@pytest.mark.parametrize("door", DOORS)
def test_a_file_of_an_open_store_is_refused(place: Place, door: str) -> None:
    with pytest.raises(InvalidRequest, match=f"the open store {place.db}; name another file"):
        DOORS[door](place)
    require_locks(place.db)
    assert place.svc.check()["ok"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_refuses_a_file_of_an_open_store(place: Place, command: str, run: Run) -> None:
    if place.path.stat().st_nlink > 1:
        pytest.skip("a command cannot open a store with hard links")
    ended = run(*map(str, COMMANDS[command](place)))
    assert f"the open store {place.db}; name another file" in ended.err
    require_locks(place.db)


@pytest.mark.parametrize(
    "name",
    [
        *("-journal", "-wal", "-filling", ".keys", ".clients", ".pulled"),
        *(".journal-key", ".webhook-key"),
    ],
)
@pytest.mark.parametrize("is_open", [False, True])
def test_a_backup_is_not_made_beside_a_store_where_the_store_would_use_it(
    tmp_path: Path, name: str, is_open: bool
) -> None:
    path = tmp_path / "store.db"
    with comptroller.open(path) as svc:
        svc.identities.put(id="alice")
        if is_open:
            with pytest.raises(InvalidRequest, match=r"another file"):
                svc.backup(f"{path}{name}")
    if not is_open:
        with (
            comptroller.open(":memory:") as other,
            pytest.raises(InvalidRequest, match="belongs to the store"),
        ):
            other.backup(f"{path}{name}")
    assert not Path(f"{path}{name}").exists()


def test_a_backup_may_have_the_name_of_a_uri(
    operator: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.identities.put(id="alice")
    monkeypatch.chdir(tmp_path)
    operator.backup("file:copy.db")
    with comptroller.open("file:copy.db", read_only=True) as copy:
        assert [each.id for each in copy.identities.iter()] == ["alice"]


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("file", ["-wal", "-shm", "-lock", "-opening-lock", "hard link", "moved"])
def test_a_file_beside_an_open_store_is_not_opened_as_a_store(
    operator: Service, store_path: Path, file: str, read_only: bool
) -> None:
    operator.identities.put(id="alice")
    path = Path(f"{store_path}{file}")
    if file == "hard link":
        path.hardlink_to(store_path)
    elif file == "moved":
        store_path.rename(path)
    with pytest.raises(Unusable, match=f"the open store {store_path}; name another file"):
        comptroller.open(path, read_only=read_only)
    if file == "moved":
        path.rename(store_path)
    require_locks(str(store_path))
    assert {each.name for each in store_path.parent.iterdir()} == {
        *(
            f"{store_path.name}{suffix}"
            for suffix in ("", "-wal", "-shm", "-lock", "-opening-lock")
        ),
        *([path.name] if file == "hard link" else []),
    }


# A load is refused or its lines are rejected; then another process opens and closes the store.
KILLED = """
import os, subprocess, sys, comptroller
svc = comptroller.open(sys.argv[1])
svc.identities.put(id="before")
try:
    svc.load("claims", sys.argv[1], dry_run=sys.argv[2] == "dry")
except comptroller.InvalidRequest:
    pass
opening = "import sys, comptroller; comptroller.open(sys.argv[1]).close()"
subprocess.run([sys.executable, "-c", opening, sys.argv[1]], check=True)
for number in range(5):
    svc.identities.put(id=f"after-{number}")
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("how", ["dry", "whole"])
def test_no_acknowledged_write_after_such_a_load_is_lost(store_path: Path, how: str) -> None:
    command = [sys.executable, "-c", KILLED, str(store_path), how]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    with comptroller.open(store_path) as svc:
        assert len(svc.identities.list()) == 6


def test_files_of_stores_that_are_not_open_are_read(
    operator: Service, store_path: Path, tmp_path: Path
) -> None:
    lines = tmp_path / "store.db-lines"
    lines.write_bytes(padded([short_line("claims")]))
    assert operator.load("claims", lines).inserted == 1
    operator.close()
    with (
        comptroller.open(tmp_path / "other.db") as other,
        pytest.raises(InvalidRequest, match="is an SQLite database; export its tables"),
    ):
        other.load("claims", store_path)
