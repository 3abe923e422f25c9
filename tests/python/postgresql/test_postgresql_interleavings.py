"""Two writes of identities, orchestrations, webhooks or idempotency keys at the same moment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

import comptroller
import interleavings
import pytest
from comptroller import _core
from interleavings import AGGREGATES, Interleavings, Pair
from postgresql_server import Server


@pytest.fixture(scope="module")
def stores(
    server: Server, shared_path: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Interleavings]:
    with interleavings.opened(server, shared_path, tmp_path_factory.mktemp("state")) as stores:
        yield stores


def test_each_operation_that_writes_is_tried(stores: Interleavings) -> None:
    """By the entries of the journal, which these two operations of webhooks do not have."""
    tried, operator = set(), stores.operator
    for aggregate, writes in AGGREGATES.items():
        in_order = stores.make_case(aggregate)
        for write in writes.values():
            for case in (stores.make_case(aggregate), in_order):
                before = operator.journal.list(limit=1_000_000)[-1].sequence
                with suppress(comptroller.Error):
                    write(operator, case)
                tried |= {entry.operation for entry in operator.journal.iter(after=before)}
    operations = json.loads(_core.describe())["operations"]
    written = {each["name"] for each in operations if each["is_write"]}
    assert written - tried == {"webhooks.test", "webhooks.replay"}


@pytest.mark.parametrize(
    "pair",
    interleavings.pairs("identity", "orchestration", "webhook", "idempotency key"),
    ids="-".join,
)
@pytest.mark.filterwarnings("default::UserWarning")
def test_writes_at_once_are_writes_in_an_order(stores: Interleavings, pair: Pair) -> None:
    stores.check(pair)
