"""Two writes of claims, payout groups or reward addresses at the same moment."""

from __future__ import annotations

import pytest
from interleaved_writes import Pair, pairs
from interleavings import Interleavings


@pytest.mark.parametrize("pair", pairs("claim", "group"), ids="-".join)
@pytest.mark.filterwarnings("default::UserWarning")
def test_writes_at_once_are_writes_in_an_order(interleavings: Interleavings, pair: Pair) -> None:
    interleavings.check(pair)
