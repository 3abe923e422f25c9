"""Claims counted, summed and timed by their dimensions: by DuckDB, or by plain Python.

Both read the claims once and give exactly the same answers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from decimal import Decimal, localcontext
from itertools import chain as joined
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec

from comptroller.errors import unavailable
from comptroller.streams import interruptible, require

if TYPE_CHECKING:
    from comptroller.operations.claims import ClaimFilters
    from comptroller.service import Service

#: What claims can be told apart by: onchain_status, blockchain, the present jurisdiction of the
#: payout group, and the UTC day of created_at.
DIMENSIONS = ("status", "chain", "jurisdiction", "day")

#: One value for each dimension asked for; None where a claim has none.
Key: TypeAlias = tuple[str | None, ...]

#: An amount has 38 digits, and no store holds 10**22 of them.
ENOUGH_DIGITS = 60
_CLAIMS_BETWEEN_PROGRESS = 10_000


class TimeToConfirm(msgspec.Struct, frozen=True, gc=False):
    """Percentiles of confirmed_at - submitted_at in microseconds, by nearest rank.

    `claims` counts the CONFIRMED claims that have both times; the others are left out.
    """

    claims: int
    p50_us: int
    p90_us: int
    p99_us: int


class Count(NamedTuple):
    """How many claims share a key, a status and an asset, and the sum of their amounts."""

    key: Key
    status: str
    asset: str | None
    claims: int
    amount: Decimal


class Counted(Protocol):
    """Claims that have been read once, ready to be asked about."""

    def counts(self, by: Sequence[str]) -> Iterable[Count]:
        """One for each key, status and asset that occurs."""

    def times(self, by: Sequence[str]) -> Iterable[tuple[Key, TimeToConfirm]]:
        """One for each key that has a confirmed claim with both times."""

    def failures(self) -> Iterable[tuple[str | None, int]]:
        """The messages of FAILED claims, each with its number of claims."""


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
        with localcontext(prec=ENOUGH_DIGITS):
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

    def counts(self, by: Sequence[str]) -> Iterator[Count]:
        """Count and sum, for each key, status and asset."""
        for cell, claims in self._claims.items():
            key, status, asset = cell
            yield Count(_part(key, by), status, asset, claims, self._amounts[cell])

    def times(self, by: Sequence[str]) -> Iterator[tuple[Key, TimeToConfirm]]:
        """Take the percentiles of each key that has a time."""
        parts: defaultdict[Key, list[list[int]]] = defaultdict(list)
        for key, times in self._times.items():
            parts[_part(key, by)].append(times)
        for part, lists in parts.items():
            ordered = sorted(joined.from_iterable(lists))
            # The nearest rank of n values is the ceiling of n * percent / 100, counted from 1.
            p50, p90, p99 = (ordered[(len(ordered) * n + 99) // 100 - 1] for n in (50, 90, 99))
            yield part, TimeToConfirm(len(ordered), p50, p90, p99)

    def failures(self) -> Iterable[tuple[str | None, int]]:
        """Count FAILED claims by message."""
        return self._messages.items()


def _part(key: Key, by: Sequence[str]) -> Key:
    return tuple(key[DIMENSIONS.index(name)] for name in by)


_COLUMNS = (
    "payout_group_id",
    "onchain_status",
    "amount",
    "error_message",
    "blockchain",
    "asset_type",
    "submitted_at",
    "confirmed_at",
    "created_at",
)
# Read once, so that every number of a report is of the same claims. The groups that tell the
# jurisdictions are read by themselves: what is written in between may show in one of the two only.
_READ = """
CREATE TEMP TABLE claims AS
SELECT onchain_status::VARCHAR AS status, blockchain AS chain, jurisdiction,
       make_timestamp(epoch_us(created_at))::DATE::VARCHAR AS day, asset_type AS asset, amount,
       CASE WHEN status = 'FAILED' THEN error_message END AS message,
       CASE WHEN status = 'CONFIRMED' THEN epoch_us(confirmed_at) - epoch_us(submitted_at) END AS us
FROM claim_stream LEFT JOIN group_stream ON group_stream.id = payout_group_id
"""
_SUM = "sum(amount), 0"
# Where a sum would pass the 38 digits of a decimal, which DuckDB refuses, its whole part and its
# fraction are summed apart: five times slower.
_WIDE_SUM = "sum(trunc(amount)::HUGEINT), sum(amount - trunc(amount))"


class InDuckDB:
    """Claims as of one moment, read into DuckDB; their groups' jurisdictions as of another.

    Raises Unavailable where DuckDB is not installed.
    """

    def __init__(self, svc: Service, filters: ClaimFilters) -> None:
        self._duckdb = require("duckdb", "engine 'duckdb'", "comptroller[analysis]")
        self._connection = self._duckdb.connect()
        groups = svc.payout_groups.stream(
            columns=["id", "jurisdiction"], customer_id=filters.get("customer_id")
        )
        self._connection.register("group_stream", groups)
        self._connection.register("claim_stream", svc.claims.stream(_COLUMNS, **filters))
        self._rows(_READ)

    def counts(self, by: Sequence[str]) -> Iterator[Count]:
        """Count and sum, for each key, status and asset."""
        width = len(by)
        for row in self._summed(by):
            status, asset, claims, whole, fraction = row[width:]
            yield Count(row[:width], status, asset, claims, whole + fraction)

    def _summed(self, by: Sequence[str]) -> list[tuple[Any, ...]]:
        names = "".join(f"{name}, " for name in by)
        query = f"SELECT {names} claims.status, asset, count(*), {{}} FROM claims GROUP BY ALL"
        try:
            return self._rows(query.format(_SUM))
        except self._duckdb.OutOfRangeException:
            return self._rows(query.format(_WIDE_SUM))

    def times(self, by: Sequence[str]) -> Iterator[tuple[Key, TimeToConfirm]]:
        """Take the percentiles of each key that has a time."""
        names = "".join(f"{name}, " for name in by)
        query = f"""
            SELECT {names} count(*), quantile_disc(us, 0.50), quantile_disc(us, 0.90),
                   quantile_disc(us, 0.99)
            FROM claims WHERE us IS NOT NULL GROUP BY ALL HAVING count(*) > 0"""
        width = len(by)
        for row in self._rows(query):
            yield row[:width], TimeToConfirm(*row[width:])

    def failures(self) -> list[tuple[str | None, int]]:
        """Count FAILED claims by message."""
        query = "SELECT message, count(*) FROM claims WHERE status = 'FAILED' GROUP BY message"
        return [(message, claims) for message, claims in self._rows(query)]

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        try:
            with interruptible(self._duckdb):
                rows: list[tuple[Any, ...]] = self._connection.execute(query).fetchall()
        except self._duckdb.OutOfRangeException:
            raise
        except self._duckdb.Error as error:
            raise unavailable(f"the report cannot be made: {error}") from error
        return rows
