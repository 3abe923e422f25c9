"""Commands on a database: the state folder, and a source that accepts only reads."""

from __future__ import annotations

import re
import shutil
from contextlib import closing
from pathlib import Path

import comptroller
import pytest
from command_line import GOOD, Run
from postgresql_server import Connection, Server


@pytest.fixture
def standby(server: Server, store_path: str) -> str:
    """An address at which the test's database accepts only reads, as that of a standby does."""
    database = store_path.partition("@/")[2].partition("?")[0]
    return server.address(database) + "&options=-cdefault_transaction_read_only%3Don"


def test_a_standby_is_copied(run: Run, store_path: str, standby: str, tmp_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        svc.identities.put(id="alice")
    copied = run("copy", standby, "copy.db", "--json")
    assert copied.code == 0, copied.err
    assert copied.json["rows"]["identities"] == 1
    with comptroller.open(tmp_path / "copy.db", read_only=True) as svc:
        assert [each.id for each in svc.identities.list()] == ["alice"]


def test_a_standby_with_entries_that_have_no_number_is_not_copied(
    run: Run, store_path: str, standby: str
) -> None:
    with comptroller.open(store_path) as svc, closing(Connection(store_path)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM journal_writer FOR UPDATE")  # so the entry gets no number
        svc.identities.put(id="alice")
        refused = run("copy", standby, "copy.db")
        other.execute("COMMIT")
    assert refused.code == 1
    assert "the journal has entries without a number" in refused.err


def test_the_keys_and_clients_of_a_standby_are_read(
    run: Run, store_path: str, standby: str, tmp_path: Path
) -> None:
    run("keys", "rotate", "--db", store_path, "--state", "state")
    run("clients", "add", "desk", "--operator", "--db", store_path)
    assert "desk-" in run("clients", "list", "--db", standby).out
    for command in ("checkpoint", "key"):
        ended = run("journal", command, "--db", standby, "--state", "state")
        assert ended.code == 0, ended.err
    copied = run("copy", standby, "copy.db", "--with-keys", "--state", "state", "--json")
    assert copied.code == 0, copied.err
    assert len(copied.json["secrets"]) == 4
    assert "desk-" in run("clients", "list", "--db", "copy.db").out


def test_commands_name_a_database_by_its_address(
    run: Run, store_path: str, server: Server, tmp_path: Path
) -> None:
    run("keys", "rotate", "--db", store_path, "--state", "state")
    run("clients", "add", "desk", "--operator", "--db", store_path)
    checked = run("check", "--db", store_path).out
    assert re.search(r"^PostgreSQL 1[^;\n]+$", checked, re.MULTILINE)
    assert run("copy", store_path, "copy.db", "--with-keys", "--state", "state").code == 0
    name = f"named_{tmp_path.name}"
    try:
        target = server.create(name)
        ended = run("copy", "copy.db", target, "--with-keys", "--state", "other")
    finally:
        server.drop(name)
    assert ended.code == 0, ended.err
    copied = re.findall(r"^copied (.*)", ended.out, re.MULTILINE)
    assert copied[:2] == [f"the {each} in {target}" for each in ("keys", "clients")]


def test_keys_are_not_made_for_a_standby(
    run: Run, store_path: str, standby: str, tmp_path: Path
) -> None:
    """A checkpoint of a key that is in the state folder alone could not be verified by others."""
    run("load", "claims", "-", "--db", "s.db", given=GOOD)
    run("journal", "key", "--db", "s.db")
    (tmp_path / "state").mkdir(mode=0o700)
    shutil.copy(tmp_path / "s.db.journal-key", tmp_path / "state" / "store.journal-key")
    for state in ("state", "new"):
        ended = run("journal", "checkpoint", "--db", standby, "--state", state)
        assert ended.code == 1
        assert "the database accepts only reads" in ended.err
    assert not list((tmp_path / "new").iterdir())


def test_backup_with_keys_names_copy(run: Run, store_path: str, tmp_path: Path) -> None:
    for more in ([], ["--state", "state"]):
        refused = run("backup", "copy.db", "--with-keys", "--db", store_path, *more)
        assert refused.code == 1
        assert "copies files only; use pg_dump" in refused.err
    assert not (tmp_path / "copy.db").exists()


def test_keys_that_cannot_be_read_are_reported_before_the_copy(
    run: Run, store_path: str, tmp_path: Path
) -> None:
    run("keys", "rotate", "--db", store_path, "--state", "state")
    refused = run("copy", store_path, "copy.db", "--with-keys", "--state", "wrong")
    assert refused.code == 1
    assert "wrong/store.seal-key is missing" in refused.err
    assert not (tmp_path / "copy.db").exists()


def test_a_missing_state_folder_is_named_by_its_option(run: Run, store_path: str) -> None:
    refused = run("keys", "rotate", "--db", store_path)
    assert refused.code == 1
    assert "--state: missing; give the folder of the key" in refused.err
