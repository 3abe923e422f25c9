"""Claims counted by DuckDB, which hands over each key's totals as a JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from comptroller.counting.totals import STATUSES, Totals
from comptroller.errors import unavailable
from comptroller.streams import interruptible, require

if TYPE_CHECKING:
    from comptroller.operations.claims import ClaimFilters
    from comptroller.service import Service

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
_READ = f"""
CREATE TEMP TABLE claims AS
SELECT onchain_status::ENUM{STATUSES} AS status, blockchain AS chain, jurisdiction,
       make_timestamp(epoch_us(created_at))::DATE AS day, asset_type AS asset, amount,
       CASE WHEN status = 'FAILED' THEN error_message END AS message,
       CASE WHEN status = 'CONFIRMED' THEN epoch_us(confirmed_at) - epoch_us(submitted_at) END AS us
FROM claim_stream LEFT JOIN group_stream ON group_stream.id = payout_group_id
"""
_TOTALS = """
WITH cells AS (
    SELECT {keys} asset, count(*) AS claims, {sum} AS amount FROM claims GROUP BY ALL
), summed AS (
    SELECT {keys} list_sort(list({{
               'asset': asset, 'claims': claims, 'amount': rtrim(rtrim(amount, '0'), '.')
           }}), 'ASC', 'NULLS LAST') AS assets
    FROM cells GROUP BY ALL
), counted AS (
    SELECT {keys} count(*) AS claims, count(*) FILTER (status = 'CONFIRMED') AS confirmed,
           count(*) FILTER (status = 'FAILED') AS failed,
           count(*) FILTER (status = 'SUBMITTED') AS waiting, count(us) AS timed,
           quantile_disc(us, [0.5, 0.9, 0.99]) AS percentiles
    FROM claims GROUP BY ALL HAVING count(*) > 0
)
SELECT to_json({{
    'key': [{key}], 'claims': claims, 'confirmed': confirmed, 'failed': failed,
    'waiting': waiting, 'assets': assets,
    'time_to_confirm': CASE WHEN timed > 0 THEN {{
        'claims': timed, 'p50_us': percentiles[1], 'p90_us': percentiles[2],
        'p99_us': percentiles[3]
    }} END
}})
FROM counted JOIN summed ON {same}
ORDER BY {order}
"""
_SUM = "sum(amount)::VARCHAR"
# Where a sum would pass the 38 digits of a decimal, which DuckDB refuses, its whole part and its
# fraction are summed apart, which takes longer.
_WIDE_SUM = """
(sum(trunc(amount)::HUGEINT) + trunc(sum(amount - trunc(amount)))::HUGEINT)::VARCHAR
|| ltrim((sum(amount - trunc(amount)) - trunc(sum(amount - trunc(amount))))::VARCHAR, '0')
"""


class InDuckDB:
    """Claims as of one moment, read into DuckDB; their groups' jurisdictions as of another.

    Raises Unavailable where DuckDB is not installed.
    """

    def __init__(self, svc: Service, filters: ClaimFilters) -> None:
        self._duckdb = require("duckdb", "engine 'duckdb'", "comptroller[analysis]")
        self._connection = self._duckdb.connect(config={"preserve_insertion_order": "false"})
        groups = svc.payout_groups.stream(
            columns=["id", "jurisdiction"], customer_id=filters.get("customer_id")
        )
        self._connection.register("group_stream", groups)
        self._connection.register("claim_stream", svc.claims.stream(_COLUMNS, **filters))
        self._rows(_READ)

    def totals(self, by: Sequence[str]) -> tuple[Totals, ...]:
        """Count, sum and time the claims of each key."""
        try:
            rows = self._rows(_totals_query(by, _SUM))
        except self._duckdb.OutOfRangeException:
            rows = self._rows(_totals_query(by, _WIDE_SUM))
        read = msgspec.json.Decoder(Totals).decode
        return tuple(read(document) for (document,) in rows)

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


def _totals_query(by: Sequence[str], total: str) -> str:
    names = tuple(dict.fromkeys(by))
    same = (f"counted.{name} IS NOT DISTINCT FROM summed.{name}" for name in names)
    return _TOTALS.format(
        sum=total,
        keys="".join(f"{name}, " for name in names),
        key=", ".join(f"counted.{name}::VARCHAR" for name in by),
        same=" AND ".join(same) or "true",
        order=", ".join(f"counted.{name} NULLS LAST" for name in names) or "1",
    )
