"""Runs the tests of webhooks and their delivery with a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import comptroller
import pytest
from receiver import Receiver, process
from test_delivery import *  # noqa: F403
from test_replays import *  # noqa: F403
from test_slow_receivers import *  # noqa: F403
from test_webhooks import *  # noqa: F403

pytestmark = pytest.mark.slow

# These copy or change a store file, or look for its files.
del test_an_event_after_a_restored_backup_is_another_one  # noqa: F821
del test_a_changed_row_is_found  # noqa: F821
del test_secrets_are_not_in_the_store  # noqa: F821
# These name a store file to another process or command; for the first one see below.
del test_a_killed_process_loses_no_event  # noqa: F821
del test_the_commands  # noqa: F821


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


def test_another_process_delivers_after_a_killed_one(
    svc: comptroller.Service, store_path: str, tmp_path: Path
) -> None:
    """Another takes over when the lease of the killed one has ended, after up to 15 s."""
    state = ("--state", str(tmp_path / "state"))
    with Receiver() as receiver:
        svc.webhooks.create(url=receiver.url)
        with process(store_path, *state) as first:
            for number in range(1_999):
                svc.identities.put(id=f"identity-{number}")
            receiver.take(200)
            first.kill()
            first.wait()
        svc.identities.put(id="last")
        with process(store_path, *state) as second:
            sent = len(receiver.received)
            receiver.wait(lambda got: len(got) > sent, 30)  # for a busy machine
            ids = lambda got: {each.headers["webhook-id"] for each in got}  # noqa: E731
            receiver.wait(lambda got: len(ids(got)) == 2_000, 120)
            second.terminate()
            assert second.wait(30) == 143
        # A window of events and not more is sent again.
        assert len(receiver.received) - 2_000 <= 256
