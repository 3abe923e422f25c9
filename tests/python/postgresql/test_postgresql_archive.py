"""Runs the tests of archives of the journal with a database."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import comptroller
import pytest
from comptroller.bulk.archiving import first_unarchived
from postgresql_proxy import Batch, Proxy
from postgresql_server import Connection, Server
from state_folder import state_folder  # noqa: F401
from test_journal_archive import *  # noqa: F403
from test_journal_archive import LATER, identities

pytestmark = pytest.mark.slow

# These change a store file with sqlite3; see below.
del test_an_alteration_is_found_without_the_file  # noqa: F821
del test_the_table_refuses_to_delete_entries_that_are_not_archived  # noqa: F821
del test_what_cannot_be_archived_stays  # noqa: F821

#: What another program does after an archive, and what finds it.
ALTERATIONS = [
    (
        "UPDATE identities SET ref_id = 'x' WHERE key = 1",
        "identities: the record with key 1 is not as it was inserted by entry 10",
    ),
    (
        "DELETE FROM identities WHERE key = 7",
        "identities: the record with key 7 is missing; it was inserted by entry 10",
    ),
    (
        "UPDATE identities SET ref_id = 'x' WHERE key = (SELECT max(key) FROM identities)",
        "ref_id is not as it was written by entry 11",
    ),
    (
        # The first byte says that the rest is a blob.
        "UPDATE journal_archives SET hashes = decode(repeat('00', 65), 'hex')",
        "entries were removed, but not by",
    ),
    ("DELETE FROM journal_archives", "journal"),
    ("UPDATE journal_archives SET size = 8", "journal"),
]


@pytest.mark.parametrize(("sql", "finding"), ALTERATIONS)
def test_an_alteration_is_found(store: str, tmp_path: Path, sql: str, finding: str) -> None:
    with comptroller.open(store) as svc:
        svc.journal.archive(LATER, tmp_path / "old.parquet")
        identities(svc, "carol")
    with closing(Connection(store)) as other:
        other.execute(sql)
    with comptroller.open(store, read_only=True) as svc:
        findings = svc.journal.verify().findings
    assert any(finding in f"{each.check}: {each.message}" for each in findings), findings


def test_a_store_with_an_alteration_is_not_archived(store: str, tmp_path: Path) -> None:
    with comptroller.open(store) as svc, closing(Connection(store)) as other:
        size = len(svc.journal.list())
        other.execute("UPDATE identities SET ref_id = 'x' WHERE key = 2")
        with pytest.raises(comptroller.Unusable, match="no entry was archived"):
            svc.journal.archive(LATER, tmp_path / "old.parquet")
        assert len(svc.journal.list()) == size


def test_an_entry_that_is_not_archived_is_not_deleted(store: str, tmp_path: Path) -> None:
    with comptroller.open(store) as svc, closing(Connection(store)) as other:
        svc.journal.archive(LATER, tmp_path / "old.parquet")
        identities(svc, "carol")
        with pytest.raises(RuntimeError, match="is never deleted"):
            other.execute("DELETE FROM journal")


def test_the_file_is_kept_if_the_outcome_is_unknown(
    store: str, tmp_path: Path, server: Server
) -> None:
    file = tmp_path / "old.parquet"

    def before(batch: Batch) -> bool:
        return not (file.exists() and b"COMMIT\0" in batch.data)  # loses the answer

    database = store.rpartition("?")[0].rpartition("/")[2]
    with Proxy(server, before) as proxy, comptroller.open(store) as direct:
        size = len(direct.journal.list())
        with (
            comptroller.open(proxy.server.address(database)) as svc,
            pytest.raises(comptroller.OutcomeUnknown),
        ):
            svc.journal.archive(LATER, file)
        # The COMMIT is sent after the caller has the error.
        while first_unarchived(direct.journal) == 0:
            pass
        assert first_unarchived(direct.journal) == size
        assert direct.journal.verify(archives=file).archived == size
