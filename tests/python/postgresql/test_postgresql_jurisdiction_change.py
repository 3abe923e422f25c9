"""Runs the tests of a change of a group's jurisdiction with a database."""

from __future__ import annotations

import os
import time
from contextlib import closing

import pytest
from postgresql_server import Connection
from test_jurisdiction_change import *  # noqa: F403
from test_jurisdiction_change import _path  # noqa: F401


@pytest.fixture(autouse=True)
def _wait_with_libpq(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_jurisdiction_change.wait_until_finished", _wait_until_finished)


def _wait_until_finished(address: str) -> None:
    with closing(Connection(address)) as connection:
        deadline = time.monotonic() + 120
        while connection.execute("SELECT count(*) FROM jurisdiction_changes") != [("0",)]:
            assert time.monotonic() < deadline
            os.sched_yield()
