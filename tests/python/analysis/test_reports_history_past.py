"""A history as of a time: exactly what it was at that time, whatever was written later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID

import comptroller
import pytest
from lines import address, at, balance, claim, control, evm, group, identity, load, orchestration

GROUPS = [str(UUID(int=number)) for number in (1, 2)]
ADDRESSES = [str(UUID(int=number)) for number in (11, 12)]
PLACES = [evm() for _ in ADDRESSES]
IDENTITIES = ["alice", "bob"]
CLAIMS = ["c1", "c2", "c3"]
ORCHESTRATIONS = ["o1", "o2"]
SUBJECTS = [*GROUPS, *ADDRESSES, PLACES[0].upper().replace("X", "x"), *IDENTITIES]
SUBJECTS += [*CLAIMS, *ORCHESTRATIONS]
FILTERS: list[dict[str, Any]] = [
    *({}, {}, {"status": "FAILED"}, {"jurisdiction": "CH"}, {"asset": "ETH"}),
    *({"group": GROUPS[0]}, {"since": at(3), "until": at(400)}),
]
NEXT = {"PENDING": ("SUBMITTED", "FAILED"), "SUBMITTED": ("CONFIRMED", "FAILED")}
Query = tuple[str, dict[str, Any]]
Rows = list[dict[str, Any]]


def shown(svc: comptroller.Service, query: Query, **time: datetime) -> Rows:
    """Returns the rows of a history; none for an unknown subject."""
    subject, filters = query
    try:
        return svc.reports.history(subject, **filters, **time).to_dicts()
    except comptroller.NotFound:
        return []


class Writer:
    """Writes records at random that move between groups and identities."""

    def __init__(self, svc: comptroller.Service, seed: int) -> None:
        self.controls: list[str] = []
        self._svc = svc
        self._chance = Random(seed)
        self._pick = self._chance.choice
        self._updates = 0
        self._claims: dict[str, dict[str, Any]] = {}

    def write(self) -> None:
        writes: list[Callable[[], None]] = [
            *(self._group, self._address, self._claim, self._claim, self._orchestration),
            *(self._identity, self._control, self._replaced_control, self._balance),
        ]
        self._pick(writes)()

    def _updated_at(self) -> datetime:
        self._updates += 1
        return at(100 * self._updates)

    def _group(self) -> None:
        members = {
            "asset_type": self._pick(("ETH", "RPL")),
            "jurisdiction": self._pick(("CH", "DE")),
            "updated_at": self._updated_at(),
        }
        load(self._svc, "payout-groups", group(id=self._pick(GROUPS), **members))

    def _address(self) -> None:
        number = self._pick((0, 1))
        members = {"id": ADDRESSES[number], "address": PLACES[number]}
        load(self._svc, "reward-addresses", address(payout_group_id=self._pick(GROUPS), **members))

    def _balance(self) -> None:
        known = [each.id for each in self._svc.reward_addresses.list()]
        if known:
            observed_at = at(self._chance.random() * 500)
            load(self._svc, "balances", balance(address_id=self._pick(known), at=observed_at))

    def _claim(self) -> None:
        id = self._pick(CLAIMS)
        created = {"onchain_status": "PENDING", "created_at": at(CLAIMS.index(id))}
        known = self._claims.get(id, created)
        status = self._pick((known["onchain_status"], *NEXT.get(known["onchain_status"], ())))
        members = {
            "onchain_status": status,
            "payout_group_id": self._pick(GROUPS),
            "addresses": self._chance.sample(PLACES, self._chance.randrange(3)),
            "amount": str(self._chance.randrange(100)),
            "asset_type": self._pick(("ETH", None)),
            "confirmed_at": at(50) if status == "CONFIRMED" else None,
            "updated_at": self._updated_at(),
        }
        self._claims[id] = {**known, **members}
        load(self._svc, "claims", claim(id=id, **self._claims[id]))

    def _orchestration(self) -> None:
        members = {
            "identity_id": self._pick((*IDENTITIES, None)),
            "source_amount": self._pick(("1.50", "7", None)),
            "status": self._pick(("PROCESSING", "COMPLETED")),
            "updated_at": self._updated_at(),
        }
        load(self._svc, "orchestrations", orchestration(id=self._pick(ORCHESTRATIONS), **members))

    def _identity(self) -> None:
        # The deprecated boolean creates a control, which a loaded one replaces.
        made = identity(id=self._pick(IDENTITIES), updated_at=self._updated_at())
        load(self._svc, "identities", {**made, "user_disabled": self._pick((True, False))})
        self.controls += [each.id for each in self._svc.controls.iter(include_deleted=True)]

    def _control(self) -> None:
        identity_id = self._pick(IDENTITIES)
        if all(each.id != identity_id for each in self._svc.identities.iter()):
            load(self._svc, "identities", identity(id=identity_id))
        active = [*self._svc.controls.iter(identity_id=identity_id)]
        if active:
            self._svc.controls.delete(self._pick(active).id, reason="done")
        else:
            self._svc.controls.create(identity_id=identity_id, type="FROZEN", reason_code="REVIEW")

    def _replaced_control(self) -> None:
        line = control(identity_id=self._pick(IDENTITIES), created_at=at(self._updates))
        self._svc.load("controls", [line], keep_going=True)


def written(
    svc: comptroller.Service, seed: int, writes: int
) -> Iterator[tuple[datetime, Query, Rows]]:
    """Writes at random; yields times, histories, and their rows at that time."""
    writer, chance = Writer(svc, seed), Random(seed)
    for _ in range(writes):
        writer.write()
        time = datetime.now(UTC)
        for subject in [*chance.sample(SUBJECTS, 2), *writer.controls[-1:]]:
            query = subject, chance.choice(FILTERS)
            yield time, query, shown(svc, query)


@pytest.mark.parametrize(
    ("seed", "writes"),
    [(0, 15), *(pytest.param(seed, 30, marks=pytest.mark.slow) for seed in range(1, 4))],
)
def test_a_past_history_is_what_it_was(
    operator: comptroller.Service, seed: int, writes: int
) -> None:
    seen = list(written(operator, seed, writes))
    for time, query, rows in seen:
        assert shown(operator, query, as_of_recorded=time) == rows, (time, query)
    assert sum(bool(rows) for _, _, rows in seen) > len(seen) / 4
