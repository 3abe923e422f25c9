"""What is said about claims that share a key, and who can say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Protocol, TypeAlias

import msgspec

#: What claims can be told apart by: onchain_status, blockchain, the present jurisdiction of the
#: payout group, and the UTC day of created_at.
DIMENSIONS = ("status", "chain", "jurisdiction", "day")
#: Along a claim's life.
STATUSES = ("PENDING", "SUBMITTED", "CONFIRMED", "FAILED")

#: One value for each dimension asked for; None where a claim has none.
Key: TypeAlias = tuple[str | None, ...]


class TimeToConfirm(msgspec.Struct, frozen=True, gc=False):
    """Percentiles of confirmed_at - submitted_at in microseconds, by nearest rank.

    `claims` counts the CONFIRMED claims that have both times; the others are left out.
    """

    claims: int
    p50_us: int
    p90_us: int
    p99_us: int


class AssetTotal(msgspec.Struct, frozen=True, gc=False):
    """The claims of one asset, and the exact sum of their amounts, in that asset."""

    asset: str | None
    claims: int
    amount: Decimal


class Totals(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What there is to say about the claims that share a key.

    `waiting` claims are SUBMITTED: how long they will take is not known and not in time_to_confirm.
    """

    key: Key
    claims: int
    confirmed: int
    failed: int
    waiting: int = 0
    assets: tuple[AssetTotal, ...]
    time_to_confirm: TimeToConfirm | None = None

    @property
    def success_rate(self) -> float | None:
        """CONFIRMED of CONFIRMED and FAILED, to six digits; None where there is neither."""
        ended = self.confirmed + self.failed
        return round(self.confirmed / ended, 6) if ended else None


def by_word(word: str | None) -> tuple[bool, str]:
    """Orders texts by code point, None last."""
    return word is None, word or ""


class Counted(Protocol):
    """Claims that have been read once, ready to be asked about."""

    def totals(self, by: Sequence[str]) -> tuple[Totals, ...]:
        """One for each key that occurs: statuses along a claim's life, texts by code point.

        None comes last, and so among a key's assets.
        """

    def failures(self) -> Iterable[tuple[str | None, int]]:
        """The messages of FAILED claims, each with its number of claims."""
