"""Stores of random records: nulls, ties, unordered times, extreme amounts, unusual text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import comptroller
from lines import address, balance, claim, control, group, load, orchestration

STATUSES = ("PENDING", "SUBMITTED", "CONFIRMED", "CONFIRMED", "CONFIRMED", "FAILED")
LAST = datetime(2026, 2, 28, 23, 59, 59, 999_999, UTC)


class Chance:
    """Generates random members of records."""

    def __init__(self, seed: int) -> None:
        self.of = Random(seed)
        self.groups = [str(UUID(int=self.of.getrandbits(128))) for _ in range(6)]
        self.places = [f"0x{self.of.getrandbits(160):040x}" for _ in range(8)]

    def time(self) -> datetime:
        kind = self.of.random()
        if kind < 0.7:
            moment = {"days": self.of.randrange(60), "seconds": self.of.choice((0, 5, 3_600))}
            return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(**moment)
        if kind < 0.97:  # on both sides of the end of a month
            return LAST + timedelta(microseconds=self.of.randrange(3))
        return datetime(
            self.of.choice((1, 1969, 2031, 9999)), self.of.randint(1, 12), 2, tzinfo=UTC
        )

    def amount(self) -> str:
        whole = self.of.choice((0, 0, self.of.randrange(1_000), self.of.randrange(10**16)))
        return f"{whole}.{self.of.choice((0, 1, self.of.randrange(10**18))):018d}"

    def claim(self) -> dict[str, Any]:
        made, status = self.time(), self.of.choice(STATUSES)
        members = {
            "payout_group_id": self.of.choice(self.groups),
            "onchain_status": status,
            "amount": self.amount(),
            "asset_type": self.of.choice(("ETH", "RPL", None)),
            "blockchain": self.of.choice(("INK", "BASE", None)),
            "claim_schedule_id": self.of.choice(("daily", "weekly", None)),
            "addresses": self.of.sample(self.places, self.of.randrange(3)),
            "submitted_at": self.of.choice((made, made, self.time(), None)),
            "created_at": made,
            "updated_at": self.time(),
        }
        if status == "CONFIRMED":
            members["confirmed_at"] = self.of.choice((self.time(), made, None))
        if status == "FAILED":
            members["error_message"] = self.of.choice(("gas", 'it\'s "odd" \u202e', None))
        return claim(**members)


def fill_randomly(svc: comptroller.Service, seed: int) -> str:
    """Fills a store; returns the id of a group that has claims."""
    chance = Chance(seed)
    pick = chance.of.choice
    known = [
        group(id=each, asset_type=pick(("ETH", None)), jurisdiction=pick(("CH", "DE")))
        for each in chance.groups[:4]
    ]
    owned = [
        address(address=each, payout_group_id=pick([*chance.groups, None]))
        for each in chance.places
    ]
    moments = {(pick(owned)["id"], chance.time()) for _ in range(40)}
    held = [balance(address_id=id, at=at, balance=chance.amount()) for id, at in sorted(moments)]
    moved = [
        orchestration(
            source_asset=pick(("EUR", None)),
            destination_asset=pick(("USDC", None)),
            status=pick(("PENDING", "COMPLETED", "FAILED", "NEWER")),
            source_amount=pick((None, chance.amount())),
            created_at=chance.time(),
            updated_at=chance.time(),
        )
        for _ in range(30)
    ]
    controls = [
        control(
            identity_id=f"i{number}",
            type=pick(("FROZEN", "CLOSED")),
            reason_code=pick(("X", None)),
            created_at=chance.time(),
            **pick(({}, {"deleted_at": chance.time()})),
        )
        for number in range(40)
    ]
    for kind, lines in {
        "payout-groups": known,
        "reward-addresses": owned,
        "balances": held,
        "orchestrations": moved,
        "controls": controls,
        "claims": [chance.claim() for _ in range(chance.of.randrange(1, 250))],
    }.items():
        load(svc, kind, *lines)
    return next(each.payout_group_id for each in svc.claims.iter())
