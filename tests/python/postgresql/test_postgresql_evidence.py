"""Runs the tests of evidence with a database."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import comptroller
import pytest
from postgresql_server import Connection
from state_folder import state_folder  # noqa: F401
from test_evidence import *  # noqa: F403

pytestmark = pytest.mark.slow

# It changes a store file with sqlite3; see below.
del test_records_that_differ_give_no_evidence  # noqa: F821
# It is about the folder, not the store.
del test_an_altered_file_is_found  # noqa: F821


def test_an_altered_record_gives_no_evidence(store: str, tmp_path: Path) -> None:
    with comptroller.open(store) as svc, closing(Connection(store)) as other:
        other.execute("UPDATE claims SET amount = '9' WHERE amount = '77.5'")
        with pytest.raises(comptroller.Unusable, match="not as it was written"):
            svc.evidence(tmp_path / "alice", identity="alice")
    assert not (tmp_path / "alice").exists()
