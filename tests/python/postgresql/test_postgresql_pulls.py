"""Runs the tests of pulls from a database into another one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import comptroller
import pytest
from postgresql_server import Server
from test_pull import (  # noqa: F401
    remote_as,
    sampled,
    test_a_kind_without_permission_is_refused,
    test_a_second_pull_reads_nothing,
    test_changed_records_arrive,
    test_the_customer_of_the_records_is_determined,
    test_the_operator_pulls_everything,
)
from test_pull_again import *  # noqa: F403

# These change or name the file of the places beside a store file.
del test_a_place_that_the_source_does_not_know_is_ignored  # noqa: F821
del test_an_unusable_checkpoint_file_is_named  # noqa: F821
del test_a_new_store_of_the_same_name_gets_everything  # noqa: F821
del test_files_with_one_name_have_their_own_starts  # noqa: F821
del test_the_checkpoint_stays_beside_the_store_in_another_working_directory  # noqa: F821
# They load 131,000 records.
del test_an_interrupted_pull_continues  # noqa: F821
del test_an_interrupted_pull_of_changes_skips_none  # noqa: F821


@pytest.fixture
def here(server: Server, empty: str, tmp_path: Path) -> Iterator[comptroller.Service]:
    """The target store, with a state folder for the places of the next pulls."""
    name = f"pulls_{os.getpid()}"
    with comptroller.open(server.create(name, empty), state=tmp_path / "state") as service:
        yield service
    server.drop(name)
