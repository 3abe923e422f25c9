"""SQLite as the model of PostgreSQL: random requests, loads and exports have equal answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from comptroller._core import Store
from paired_stores import PRINCIPALS, Requests, Side

_KINDS = ("identities", "controls", "orchestrations", "payout-groups", "reward-addresses")
_REQUESTS = 10_000
_LOAD_EVERY = 40


@pytest.fixture
def sides(tmp_path: Path, store_path: str) -> Iterator[tuple[Side, Side]]:
    """The model, and the store that is tested."""
    model, tested = Store(":memory:"), Store(store_path, secrets_base=str(tmp_path / "store"))
    yield Side(model), Side(tested)
    model.close()
    tested.close()


@pytest.mark.parametrize("seed", [1])
def test_random_requests_have_equal_answers(
    sides: tuple[Side, Side], tmp_path: Path, seed: int
) -> None:
    model, tested = sides
    requests = Requests(seed)
    known = requests.known
    for number in range(_REQUESTS):
        if number % _LOAD_EVERY == 0:
            kind, lines = requests.lines()
            expected = model.load(kind, lines, known)
            assert tested.load(kind, lines, known) == expected, (number, kind, lines)
        request = requests.next()
        expected = model.call(request, known)
        assert tested.call(request, known) == expected, (number, request)
        requests.learn(request, expected)
    for kind in (*_KINDS, "balances", "claims"):
        exported = model.exported(kind, tmp_path, known)
        assert exported
        assert tested.exported(kind, tmp_path, known) == exported
    checked = [json.loads(side.store.check(PRINCIPALS["operator"])) for side in sides]
    assert [each["findings"] for each in checked] == [[], []]
    assert checked[0]["rows"] == checked[1]["rows"]
