"""The report of claims: how many, how much, how surely and how fast, by whatever one asks for.

Sums are exact and never mix assets. The answer is the same whether DuckDB does the counting (where
it is installed: some seconds for a million claims) or plain Python (about ten times as long).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from itertools import chain as joined
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec

from comptroller import arguments
from comptroller.errors import unavailable

if TYPE_CHECKING:
    from comptroller.local import Service
    from comptroller.operations.claims import ClaimFilters

#: What claims can be told apart by: onchain_status, blockchain, the present jurisdiction of the
#: payout group, and the UTC day of created_at.
DIMENSIONS = ("status", "chain", "jurisdiction", "day")
STATUSES = ("PENDING", "SUBMITTED", "CONFIRMED", "FAILED")

#: One value for each dimension asked for; None where a claim has none.
Key: TypeAlias = tuple[str | None, ...]

# An amount has 38 digits, and no store holds 10**22 of them.
_ENOUGH_DIGITS = 60
_CLAIMS_BETWEEN_PROGRESS = 10_000


class AssetTotal(msgspec.Struct, frozen=True):
    """The claims of one asset, and the exact sum of their amounts, in that asset."""

    asset: str | None
    claims: int
    amount: Decimal


class TimeToConfirm(msgspec.Struct, frozen=True):
    """Percentiles of confirmed_at - submitted_at in microseconds, by nearest rank.

    `claims` counts the CONFIRMED claims that have both times; the others are left out.
    """

    claims: int
    p50_us: int
    p90_us: int
    p99_us: int


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to say about the claims that share a key."""

    key: Key
    claims: int
    confirmed: int
    failed: int
    assets: tuple[AssetTotal, ...]
    time_to_confirm: TimeToConfirm | None = None

    @property
    def success_rate(self) -> float | None:
        """CONFIRMED of CONFIRMED and FAILED, to six digits; None where there is neither."""
        ended = self.confirmed + self.failed
        return round(self.confirmed / ended, 6) if ended else None


class Breakdown(msgspec.Struct, frozen=True):
    """Totals for each key of the dimensions `by`; keys in order, None last."""

    by: tuple[str, ...]
    rows: tuple[Totals, ...]


class Failure(msgspec.Struct, frozen=True):
    """A message, and how many FAILED claims carry it."""

    message: str | None
    claims: int


class ClaimsReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report of the claims created in a period, of one customer or of all."""

    start: str | None
    end: str | None
    customer_id: str | None
    total: Totals
    breakdowns: tuple[Breakdown, ...]
    failures: tuple[Failure, ...]


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


def claims_report(
    svc: Service,
    *,
    start: arguments.Moment | None = None,
    end: arguments.Moment | None = None,
    customer_id: str | None = None,
    by: Iterable[Sequence[str]] = (("status",), ("chain",), ("jurisdiction",), ("day",)),
    engine: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> ClaimsReport:
    """The report of the claims created from `start` to `end`, both included.

    Args:
        svc: whose claims; a client sees its own.
        start: an RFC 3339 text or an aware datetime; from the first claim when left out.
        end: likewise; to the last claim when left out.
        customer_id: of this customer only.
        by: the breakdowns wanted, each one or several of :data:`DIMENSIONS`.
        engine: ``duckdb`` or ``python``; DuckDB where it is installed when left out. With
            ``python`` the claims are read page by page, not as of one moment.
        progress: called with the claims read so far; by ``python`` only.

    Raises:
        InvalidRequest: a malformed time, an unknown dimension or engine.
        Forbidden: a customer that is not one's own.
        Unavailable: DuckDB was asked for and is not installed.
    """
    wanted = [tuple(arguments.choice("by", name, DIMENSIONS) for name in names) for names in by]
    filters: ClaimFilters = {"start_time": start, "end_time": end, "customer_id": customer_id}
    counted: Counted
    if arguments.choice("engine", engine or _best_engine(), ("duckdb", "python")) == "duckdb":
        counted = _InDuckDB(svc, filters)
    else:
        counted = _InPython(svc, filters, progress)
    with localcontext(prec=_ENOUGH_DIGITS):
        (total,) = _totals((), counted) or (_nothing,)
        return ClaimsReport(
            start=None if start is None else arguments.text("start", start),
            end=None if end is None else arguments.text("end", end),
            customer_id=customer_id,
            total=total,
            breakdowns=tuple(Breakdown(names, _totals(names, counted)) for names in wanted),
            failures=tuple(
                Failure(message, claims)
                for message, claims in sorted(
                    counted.failures(), key=lambda each: (-each[1], _in_order(each[:1]))
                )
            ),
        )


_nothing = Totals(key=(), claims=0, confirmed=0, failed=0, assets=())


def _best_engine() -> str:
    from importlib.util import find_spec

    return "duckdb" if find_spec("duckdb") else "python"


def _totals(by: tuple[str, ...], counted: Counted) -> tuple[Totals, ...]:
    statuses: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    claims: defaultdict[Key, Counter[str | None]] = defaultdict(Counter)
    amounts: defaultdict[tuple[Key, str | None], Decimal] = defaultdict(Decimal)
    for count in counted.counts(by):
        statuses[count.key][count.status] += count.claims
        claims[count.key][count.asset] += count.claims
        amounts[count.key, count.asset] += count.amount
    times = dict(counted.times(by))
    return tuple(
        Totals(
            key=key,
            claims=statuses[key].total(),
            confirmed=statuses[key]["CONFIRMED"],
            failed=statuses[key]["FAILED"],
            assets=tuple(
                AssetTotal(asset, number, _shortest(amounts[key, asset]))
                for asset, number in sorted(
                    claims[key].items(), key=lambda each: _in_order(each[:1])
                )
            ),
            time_to_confirm=times.get(key),
        )
        for key in sorted(claims, key=lambda key: _in_order(key, by))
    )


def _in_order(key: Key, by: tuple[str, ...] = ()) -> tuple[tuple[bool, int, str], ...]:
    """Sorts statuses along a claim's life, all else by its text, None last."""
    return tuple(
        (word is None, STATUSES.index(word) if word and name == "status" else 0, word or "")
        for name, word in zip(by or ("",) * len(key), key, strict=True)
    )


def _shortest(amount: Decimal) -> Decimal:
    """Without trailing zeros, and without an exponent where there is no fraction."""
    shortest = amount.normalize()
    return shortest.quantize(Decimal(1)) if shortest == shortest.to_integral_value() else shortest


class _InPython:
    """Claims read page by page."""

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
                elif claim.onchain_status == "CONFIRMED" and claim.confirmed_at:
                    if claim.submitted_at:
                        taken = claim.confirmed_at - claim.submitted_at
                        self._times[key].append(taken // timedelta(microseconds=1))
                if progress and number % _CLAIMS_BETWEEN_PROGRESS == 0:
                    progress(number)

    def counts(self, by: Sequence[str]) -> Iterator[Count]:
        for cell, claims in self._claims.items():
            key, status, asset = cell
            yield Count(_part(key, by), status, asset, claims, self._amounts[cell])

    def times(self, by: Sequence[str]) -> Iterator[tuple[Key, TimeToConfirm]]:
        parts: defaultdict[Key, list[list[int]]] = defaultdict(list)
        for key, times in self._times.items():
            parts[_part(key, by)].append(times)
        for part, lists in parts.items():
            ordered = sorted(joined.from_iterable(lists))
            # The nearest rank of n values is the ceiling of n * percent / 100, counted from 1.
            p50, p90, p99 = (ordered[(len(ordered) * n + 99) // 100 - 1] for n in (50, 90, 99))
            yield part, TimeToConfirm(len(ordered), p50, p90, p99)

    def failures(self) -> Iterable[tuple[str | None, int]]:
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
# Read once, so that every number of a report is of one moment.
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


class _InDuckDB:
    """Claims read into DuckDB through the Arrow stream."""

    def __init__(self, svc: Service, filters: ClaimFilters) -> None:
        from comptroller.streams import require

        self._duckdb = require("duckdb", "engine 'duckdb'", "comptroller[analysis]")
        self._connection = self._duckdb.connect()
        groups = svc.payout_groups.stream(
            columns=["id", "jurisdiction"], customer_id=filters.get("customer_id")
        )
        self._connection.register("group_stream", groups)
        self._connection.register("claim_stream", svc.claims.stream(_COLUMNS, **filters))
        self._rows(_READ)

    def counts(self, by: Sequence[str]) -> Iterator[Count]:
        for *key, status, asset, claims, whole, fraction in self._summed(by):
            yield Count(tuple(key), status, asset, claims, Decimal(whole) + fraction)

    def _summed(self, by: Sequence[str]) -> list[tuple[Any, ...]]:
        names = "".join(f"{name}, " for name in by)
        query = f"SELECT {names} claims.status, asset, count(*), {{}} FROM claims GROUP BY ALL"
        try:
            return self._rows(query.format(_SUM))
        except self._duckdb.OutOfRangeException:
            return self._rows(query.format(_WIDE_SUM))

    def times(self, by: Sequence[str]) -> Iterator[tuple[Key, TimeToConfirm]]:
        names = "".join(f"{name}, " for name in by)
        query = f"""
            SELECT {names} count(*), quantile_disc(us, 0.50), quantile_disc(us, 0.90),
                   quantile_disc(us, 0.99)
            FROM claims WHERE us IS NOT NULL GROUP BY ALL HAVING count(*) > 0"""
        for *key, claims, p50, p90, p99 in self._rows(query):
            yield tuple(key), TimeToConfirm(claims, p50, p90, p99)

    def failures(self) -> list[tuple[str | None, int]]:
        query = "SELECT message, count(*) FROM claims WHERE status = 'FAILED' GROUP BY message"
        return [(message, claims) for message, claims in self._rows(query)]

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        try:
            rows: list[tuple[Any, ...]] = self._connection.execute(query).fetchall()
        except self._duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except self._duckdb.OutOfRangeException:
            raise
        except self._duckdb.Error as error:
            raise unavailable(f"the report cannot be made: {error}") from error
        return rows


def day_bounds(start: str | None, end: str | None) -> tuple[str | None, str | None]:
    """Dates as the moments they begin and end at in UTC; what is no date is left as it is."""
    return _moment_of(start, timedelta(0)), _moment_of(end, timedelta(days=1, microseconds=-1))


def _moment_of(given: str | None, into_the_day: timedelta) -> str | None:
    if given is None or len(given) != len("2026-01-31"):
        return given
    try:
        day = datetime.strptime(given, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return given
    return (day + into_the_day).isoformat().replace("+00:00", "Z")
