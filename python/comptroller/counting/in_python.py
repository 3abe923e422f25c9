"""Claims counted page by page, where there is no DuckDB."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from decimal import Decimal, localcontext
from itertools import chain as joined
from typing import TYPE_CHECKING, Any

from comptroller import figures
from comptroller.counting.totals import (
    DIMENSIONS,
    STATUSES,
    AssetTotal,
    Key,
    TimeToConfirm,
    Totals,
    by_word,
)

if TYPE_CHECKING:
    from comptroller.operations.claims import ClaimFilters
    from comptroller.service import Service

# An amount has 38 digits, and no store holds 10**22 of them.
_ENOUGH_DIGITS = 60
_CLAIMS_BETWEEN_PROGRESS = 10_000


class InPython:
    """Claims read page by page, while others may write; `progress` hears how many."""

    def __init__(
        self, svc: Service, filters: ClaimFilters, progress: Callable[[int], None] | None
    ) -> None:
        self._claims: Counter[tuple[Key, str, str | None]] = Counter()
        self._amounts: defaultdict[tuple[Key, str, str | None], Decimal] = defaultdict(Decimal)
        self._times: defaultdict[Key, list[int]] = defaultdict(list)
        self._messages: Counter[str | None] = Counter()
        customer_id = filters.get("customer_id")
        jurisdictions = {
            group.id: group.jurisdiction
            for group in svc.payout_groups.iter(customer_id=customer_id)
        }
        with localcontext(prec=_ENOUGH_DIGITS):
            for number, claim in enumerate(svc.claims.iter(**filters), start=1):
                day = claim.created_at.date().isoformat()
                jurisdiction = jurisdictions.get(claim.payout_group_id)
                key = (claim.onchain_status, claim.blockchain, jurisdiction, day)
                cell = (key, claim.onchain_status, claim.asset_type)
                self._claims[cell] += 1
                self._amounts[cell] += claim.amount
                if claim.onchain_status == "FAILED":
                    self._messages[claim.error_message] += 1
                elif (
                    claim.onchain_status == "CONFIRMED"
                    and claim.confirmed_at is not None
                    and claim.submitted_at is not None
                ):
                    taken = claim.confirmed_at - claim.submitted_at
                    self._times[key].append(taken // timedelta(microseconds=1))
                if progress and number % _CLAIMS_BETWEEN_PROGRESS == 0:
                    progress(number)

    def totals(self, by: Sequence[str]) -> tuple[Totals, ...]:
        """Count, sum and time the claims of each key."""
        statuses: defaultdict[Key, Counter[str]] = defaultdict(Counter)
        assets: defaultdict[Key, dict[str | None, tuple[int, Decimal]]] = defaultdict(dict)
        with localcontext(prec=_ENOUGH_DIGITS):
            for cell, claims in self._claims.items():
                key, status, asset = _part(cell[0], by), *cell[1:]
                statuses[key][status] += claims
                before, sum_before = assets[key].get(asset, (0, Decimal(0)))
                assets[key][asset] = (before + claims, sum_before + self._amounts[cell])
        times = self._times_by(by)
        return tuple(
            Totals(
                key=key,
                claims=statuses[key].total(),
                confirmed=statuses[key]["CONFIRMED"],
                failed=statuses[key]["FAILED"],
                waiting=statuses[key]["SUBMITTED"],
                assets=tuple(
                    AssetTotal(asset, claims, figures.shortest(amount))
                    for asset, (claims, amount) in sorted(
                        assets[key].items(), key=lambda each: by_word(each[0])
                    )
                ),
                time_to_confirm=times.get(key),
            )
            for key in _in_order(statuses, by)
        )

    def _times_by(self, by: Sequence[str]) -> dict[Key, TimeToConfirm]:
        parts: defaultdict[Key, list[list[int]]] = defaultdict(list)
        for key, times in self._times.items():
            parts[_part(key, by)].append(times)
        return {key: _percentiles(joined.from_iterable(lists)) for key, lists in parts.items()}

    def failures(self) -> Iterable[tuple[str | None, int]]:
        """Count FAILED claims by message."""
        return self._messages.items()


def _part(key: Key, by: Sequence[str]) -> Key:
    return tuple(key[DIMENSIONS.index(name)] for name in by)


def _percentiles(times: Iterable[int]) -> TimeToConfirm:
    ordered = sorted(times)
    # The nearest rank of n values is the ceiling of n * percent / 100, counted from 1.
    p50, p90, p99 = (ordered[(len(ordered) * n + 99) // 100 - 1] for n in (50, 90, 99))
    return TimeToConfirm(len(ordered), p50, p90, p99)


def _in_order(keys: Iterable[Key], by: Sequence[str]) -> list[Key]:
    places: list[Callable[[Any], Any]] = [
        STATUSES.index if name == "status" else by_word for name in by
    ]
    return sorted(
        keys, key=lambda key: [place(word) for place, word in zip(places, key, strict=True)]
    )
