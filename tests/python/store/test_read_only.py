"""Commands that only read leave no file beside a store that nobody has open."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import comptroller
import pytest
from command_line import Run
from examples import KINDS, LINES, loaded


@pytest.fixture(name="backup", scope="module")
def _backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backup")
    with comptroller.open(folder / "store.db") as svc:
        for kind in KINDS:
            loaded(svc, kind, LINES[kind])
        svc.backup(folder / "backup.db")
    return folder / "backup.db"


@pytest.fixture(name="copy")
def _copy(backup: Path, tmp_path: Path) -> Path:
    (tmp_path / "backups").mkdir()
    return Path(shutil.copyfile(backup, tmp_path / "backups" / "copy.db"))


COMMANDS = [
    ["check"],
    ["export", "claims", "claims.csv"],
    ["query", "SELECT count(*) FROM claims"],
    ["report", "claims-summary"],
    ["backup", "again.db"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_leaves_nothing_beside_a_backup(run: Run, copy: Path, command: list[str]) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("sqlglot")
    before = copy.read_bytes(), copy.stat().st_mtime_ns
    ended = run(*command, "--db", str(copy))
    assert ended.code == 0, ended.err
    assert list(copy.parent.iterdir()) == [copy]
    assert (copy.read_bytes(), copy.stat().st_mtime_ns) == before


def test_a_backup_that_is_refused_has_nothing_beside_it(run: Run, copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA user_version = 1")
    ended = run("check", "--db", str(copy))
    assert "has an older schema" in ended.err
    assert list(copy.parent.iterdir()) == [copy]


def test_the_log_of_a_store_in_use_stays(run: Run, copy: Path) -> None:
    with comptroller.open(copy) as svc:
        svc.identities.put(id="new")
        assert run("check", "--db", str(copy)).code == 0
        assert copy.with_name("copy.db-wal").stat().st_size > 0
        assert svc.identities.get("new").id == "new"
    with comptroller.open(copy, read_only=True) as svc:
        assert svc.identities.get("new").id == "new"


def test_a_copy_without_its_log_is_not_made_a_store(run: Run, tmp_path: Path) -> None:
    with comptroller.open(tmp_path / "store.db") as svc:
        svc.identities.put(id="only in the log".replace(" ", "-"))
        copy = Path(shutil.copyfile(tmp_path / "store.db", tmp_path / "copy.db"))
    before = copy.read_bytes()
    for command in (["check"], ["migrate"], ["load", "claims", "none.ndjson"]):
        (tmp_path / "none.ndjson").write_bytes(b"")
        ended = run(*command, "--db", str(copy))
        assert ended.code != 0
        assert "copy.db is a copy without its log" in ended.err
        assert "open it for writing" not in ended.err
    assert copy.read_bytes() == before
