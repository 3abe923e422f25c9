"""Two writes of identities, orchestrations, webhooks or idempotency keys at the same moment."""

from __future__ import annotations

import json
from contextlib import suppress

import comptroller
import pytest
from comptroller import _core
from interleaved_writes import AGGREGATES, Pair, pairs
from interleavings import Interleavings


def test_each_operation_that_writes_is_tried(interleavings: Interleavings) -> None:
    """By the entries of the journal, which these two operations of webhooks do not have."""
    tried, operator = set(), interleavings.operator
    for aggregate, writes in AGGREGATES.items():
        in_order = interleavings.make_case(aggregate)
        for write in writes.values():
            for case in (interleavings.make_case(aggregate), in_order):
                before = operator.journal.list(limit=1_000_000)[-1].sequence
                with suppress(comptroller.Error):
                    write(operator, case)
                tried |= {entry.operation for entry in operator.journal.iter(after=before)}
    operations = json.loads(_core.describe())["operations"]
    written = {each["name"] for each in operations if each["is_write"]}
    assert written - tried == {"webhooks.test", "webhooks.replay"}


@pytest.mark.parametrize(
    "pair",
    pairs("identity", "orchestration", "webhook", "idempotency key"),
    ids="-".join,
)
@pytest.mark.filterwarnings("default::UserWarning")
def test_writes_at_once_are_writes_in_an_order(interleavings: Interleavings, pair: Pair) -> None:
    interleavings.check(pair)
