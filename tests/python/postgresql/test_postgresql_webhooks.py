"""Runs the tests of webhooks and their delivery with a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import comptroller
import pytest
from test_delivery import *  # noqa: F403
from test_webhooks import *  # noqa: F403

pytestmark = pytest.mark.slow

# These copy or change a store file, or look for its files.
del test_an_event_after_a_restored_backup_is_another_one  # noqa: F821
del test_a_changed_row_is_found  # noqa: F821
del test_secrets_are_not_in_the_store  # noqa: F821
# These name a store file to another process or command.
del test_a_killed_process_loses_no_event  # noqa: F821
del test_the_commands  # noqa: F821
# It opens a store file.
del svc  # noqa: F821


@pytest.fixture
def open_as(store_path: str, tmp_path: Path) -> Iterator[Callable[..., comptroller.Service]]:
    """Opens the test's database with a state folder, which has the key of the webhooks."""
    with ExitStack() as closing:
        yield lambda **how: closing.enter_context(
            comptroller.open(store_path, state=tmp_path / "state", **how)
        )


@pytest.fixture(name="svc")
def _svc(open_as: Callable[..., comptroller.Service]) -> comptroller.Service:
    return open_as()
