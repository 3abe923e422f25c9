"""Opening of files: which files are stores, and which files remain."""

from __future__ import annotations

import io
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import comptroller
import pytest
from comptroller import InvalidRequest, Service, Unusable
from examples import KINDS, LINES, line, loaded, short_line
from places import ROOT


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def execute(path: Path, *statements: str) -> None:
    """Changes a store with SQL."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("as_text", [False, True])
def test_a_missing_file_is_created_and_opens_again(tmp_path: Path, as_text: bool) -> None:
    path = tmp_path / "new ünï.db"
    with comptroller.open(str(path) if as_text else path) as svc:
        svc.identities.put(id="alice")
    assert path.stat().st_size > 0
    with comptroller.open(path) as svc:
        assert svc.identities.get("alice").id == "alice"
    assert not {name for name in files(tmp_path) if name.endswith(("-wal", "-shm", ".part"))}


def test_a_file_in_the_working_folder_needs_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    comptroller.open("store.db").close()
    assert "store.db" in files(tmp_path)


def test_a_relative_path_keeps_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with comptroller.open("store.db") as svc:
        monkeypatch.chdir(tmp_path / "other")
        svc.identities.put(id="alice")
        assert svc.claims.stream() is not None
        assert len(svc.identities.list()) == 1
    assert files(tmp_path / "other") == set()


def test_memory_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with comptroller.open(":memory:") as one, comptroller.open(":memory:") as other:
        one.identities.put(id="alice")
        assert len(other.identities.list()) == 0
        assert one.check()["ok"]
    assert files(tmp_path / "here") == files(tmp_path / "temporary") == set()


def test_memory_that_is_never_closed_leaves_no_file(tmp_path: Path) -> None:
    program = "import comptroller; s = comptroller.open(':memory:'); s.identities.put(id='a')"
    environment = dict(os.environ, TMPDIR=str(tmp_path))
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert files(tmp_path) == set()


def a_folder(path: Path) -> None:
    path.mkdir()


def a_text(path: Path) -> None:
    path.write_text("dear diary\n" * 200)


def another_database(path: Path) -> None:
    execute(path, "CREATE TABLE claims (id)")


def another_programs_database(path: Path) -> None:
    execute(path, "PRAGMA application_id = 12345", "CREATE TABLE claims (id)")


def a_newer_store(path: Path) -> None:
    comptroller.open(path).close()
    execute(path, "PRAGMA user_version = 1000000")


def a_store_of_no_version(path: Path) -> None:
    comptroller.open(path).close()
    execute(path, "PRAGMA user_version = -1")


def a_store_cut_short(path: Path) -> None:
    comptroller.open(path).close()
    data = path.read_bytes()
    path.write_bytes(data[:50] + b"\xff" * 5000)


NOT_STORES = [
    a_folder,
    a_text,
    another_database,
    another_programs_database,
    a_newer_store,
    a_store_of_no_version,
    a_store_cut_short,
]


@pytest.mark.parametrize("make", NOT_STORES)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_not_a_store_is_refused_and_unchanged(
    tmp_path: Path, make: object, read_only: bool
) -> None:
    path = tmp_path / "it.db"
    assert callable(make)
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(Unusable) as refused:
        comptroller.open(path, read_only=read_only)
    assert refused.value.code == "unusable"
    assert "it.db" in refused.value.detail
    assert (path.read_bytes() if path.is_file() else b"") == before
    if make is a_newer_store:
        assert "newer" in refused.value.detail
    if make in (a_folder, a_text):
        assert files(tmp_path) == {"it.db"}


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with comptroller.open(tmp_path / "empty.db") as svc:
        assert svc.check()["ok"]


@pytest.mark.parametrize("path", ["absent/store.db", "file/store.db"])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_path_without_a_folder_is_unusable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, read_only: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(Unusable):
        comptroller.open(path, read_only=read_only)
    assert files(tmp_path) == {"file"}


@pytest.mark.parametrize(("path", "read_only"), [("", False), ("", True), (":memory:", True)])
def test_an_invalid_path_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, read_only: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(InvalidRequest):
        comptroller.open(path, read_only=read_only)
    assert files(tmp_path) == set()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_an_unwritable_folder_is_unusable(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(Unusable):
        comptroller.open(folder / "store.db")


AS_NOBODY = """
import os, sys, comptroller
with comptroller.open(":memory:") as svc:
    svc.identities.list()  # all is imported that others might not be allowed to read
os.setgid(65534), os.setuid(65534)
try:
    with comptroller.open(sys.argv[1], read_only=sys.argv[2] == "read") as svc:
        print(len(svc.identities.list()))
except comptroller.Error as error:
    print(error.code)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
@pytest.mark.parametrize(
    ("mode", "how", "expected"),
    [
        (0o755, "write", "unusable"),
        (0o755, "read", "1"),
        (0o700, "read", "unusable"),
        (0o700, "write", "unusable"),
    ],
)
def test_a_file_without_permission_is_unusable(mode: int, how: str, expected: str) -> None:
    # A folder that other users may read, unlike those of pytest.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "store"
        folder.mkdir()
        with comptroller.open(folder / "store.db") as svc:
            svc.identities.put(id="alice")
        Path(name).chmod(0o755)
        folder.chmod(mode)
        command = [sys.executable, "-c", AS_NOBODY, str(folder / "store.db"), how]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.stdout.strip(), done.stderr) == (expected, "")


def test_a_link_leads_to_one_store_and_one_lock(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "folder" / "store.db")
    with (
        comptroller.open(tmp_path / "folder" / "store.db") as one,
        comptroller.open(tmp_path / "link.db") as other,
    ):
        one.identities.put(id="alice")
        other.identities.put(id="bob")
        assert len(one.identities.list()) == 2
    assert files(tmp_path) == {"folder", "link.db"}


def test_a_link_to_a_missing_store_leads_to_its_lock(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to("other.db")
    (tmp_path / "other.db").symlink_to("store.db")
    with comptroller.open(tmp_path / "link.db") as svc:
        svc.identities.put(id="alice")
        assert "store.db-lock" in files(tmp_path)
        assert not {name for name in files(tmp_path) if name.startswith(("link.db-", "other.db-"))}


# ---- older ---------------------------------------------------------------------------------------


def test_a_store_of_every_version_so_far_is_migrated(tmp_path: Path, operator: Service) -> None:
    """From the SQL files alone, as the first release of each version would have created it."""
    migrations = sorted((ROOT / "cpp/db/sqlite/migrations").glob("*.sql"))
    with closing(sqlite3.connect(tmp_path / "now.db")) as connection:
        comptroller.open(tmp_path / "now.db").close()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (newest,) = connection.execute("PRAGMA user_version").fetchone()
    assert newest == len(migrations)
    for version in range(1, newest + 1):
        path = tmp_path / f"version-{version}.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            for file in migrations[:version]:
                connection.executescript(file.read_text())
            connection.execute(f"PRAGMA application_id = {application}")
            connection.execute(f"PRAGMA user_version = {version}")
        if version < newest:
            with pytest.raises(Unusable, match="older"):
                comptroller.open(path, read_only=True)
        with comptroller.open(path) as svc:
            for kind in KINDS:
                loaded(svc, kind, LINES[kind])
            assert svc.check()["ok"]


# ---- read only, and closed -----------------------------------------------------------------------


ASKED_AS_NOBODY = """
import os, sys, comptroller
with comptroller.open(":memory:") as svc:
    svc.claims.list()
    len(svc.reports.claims_summary())
os.setgid(65534), os.setuid(65534)
with comptroller.open(sys.argv[1], read_only=True) as svc:
    for asked in sys.stdin:
        listed, reported = svc.claims.list(), svc.reports.claims_summary(by=("status",))
        print(len(listed), reported.to_polars()["claims"].sum(), flush=True)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_a_reader_without_write_permission_sees_the_writes_of_others() -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "store.db"
        Path(name).chmod(0o755)
        comptroller.open(path).close()
        command = [sys.executable, "-c", ASKED_AS_NOBODY, str(path)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as reader:
            assert reader.stdin
            assert reader.stdout

            def seen() -> tuple[int, int]:
                reader.stdin.write("?\n")
                reader.stdin.flush()
                listed, reported = map(int, reader.stdout.readline().split())
                return listed, reported

            assert seen() == (0, 0)
            with comptroller.open(path) as writer:
                writer.claims.put(short_line("claims", id="a"))
                assert seen() == (1, 1)
                writer.claims.put(short_line("claims", id="b"))
                assert seen() == (2, 2)
            assert seen() == (2, 2)
            with comptroller.open(path) as writer:
                loaded(writer, "claims", *(short_line("claims", id=f"c{n}") for n in range(500)))
            assert seen() == (100, 502)  # a page, all
            reader.stdin.close()
        assert reader.returncode == 0


def test_read_only_reads_and_never_writes(store_path: Path, tmp_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        loaded(svc, "claims", line("claims"))
        loaded(svc, "identities", line("identities"))
    before = store_path.read_bytes()
    with comptroller.open(store_path, read_only=True) as svc:
        assert svc.claims.get("claim-1").id == "claim-1"
        assert svc.check()["ok"]
        assert svc.export("claims", tmp_path / "claims.ndjson") == 1
        for write in (
            lambda: svc.identities.put(id="bob"),
            lambda: svc.claims.put(short_line("claims", id="other")),
            lambda: svc.claims.confirm("claim-1"),
            lambda: svc.load("claims", [short_line("claims", id="other")]),
            lambda: svc.load("claims", [short_line("claims", id="other")], keep_going=True),
        ):
            with pytest.raises(Unusable, match="read-only"):
                write()
    assert store_path.read_bytes() == before


def test_read_only_sees_what_a_writer_adds(store_path: Path) -> None:
    with (
        comptroller.open(store_path) as writer,
        comptroller.open(store_path, read_only=True) as reader,
    ):
        for number in range(3):
            writer.claims.put(short_line("claims", id=f"c{number}"))
            assert len(reader.claims.list()) == number + 1


def test_read_only_creates_no_file(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="no file"):
        comptroller.open(tmp_path / "absent.db", read_only=True)
    assert files(tmp_path) == set()


def test_closing_twice_does_nothing(operator: Service) -> None:
    operator.close()
    operator.close()
    for ask in (
        lambda: operator.identities.get("alice"),
        lambda: operator.identities.put(id="alice"),
        lambda: operator.load("claims", []),
        lambda: operator.export("claims", "-"),
        lambda: operator.check(),
        lambda: operator.backup("copy.db"),
        lambda: operator.claims.stream(),
    ):
        with pytest.raises(Unusable, match="closed"):
            ask()


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "loop/claims.csv"])
def test_a_name_that_no_file_can_have_is_refused(
    operator: Service, tmp_path: Path, name: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(comptroller.Unusable, match="cannot be written"):
        operator.export("claims", tmp_path / name)


def test_a_closed_file_is_refused(operator: Service) -> None:
    closed = io.BytesIO()
    closed.close()
    with pytest.raises(comptroller.InvalidRequest, match="cannot be read"):
        operator.load("claims", closed)
