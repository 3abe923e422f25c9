"""Two writes of claims, payout groups or reward addresses at the same moment."""

from __future__ import annotations

from collections.abc import Iterator

import interleavings
import pytest
from interleavings import Interleavings, Pair
from postgresql_server import Server


@pytest.fixture(scope="module")
def stores(
    server: Server, shared_path: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Interleavings]:
    with interleavings.opened(server, shared_path, tmp_path_factory.mktemp("state")) as stores:
        yield stores


@pytest.mark.parametrize("pair", interleavings.pairs("claim", "group"), ids="-".join)
@pytest.mark.filterwarnings("default::UserWarning")
def test_writes_at_once_are_writes_in_an_order(stores: Interleavings, pair: Pair) -> None:
    stores.check(pair)
