"""The comparison of two tables of records in DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext

import duckdb
import polars

from comptroller.analysis.folding import fold_address, fold_hash
from comptroller.analysis.member_columns import ROW
from comptroller.analysis.reconciliation import STATUSES
from comptroller.analysis.table import rows_of
from comptroller.bulk.parquet import quote_name

#: The members of amounts that are added up, and the members of their assets.
ASSETS = {"source_amount": "source_asset", "amount": "asset_type"}
_SQL_TYPES = {
    "amount": "DECIMAL(38, 18)",
    "timestamp": "TIMESTAMPTZ",
    "boolean": "BOOLEAN",
    "string[]": "VARCHAR[]",
}


class Comparison:
    """The comparison of the tables `here` and `there` in DuckDB."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        types: Mapping[str, str],
        keys: Sequence[str],
        compared: Sequence[str],
        amounts: Sequence[str],
    ) -> None:
        self._connection = connection
        self._types = types
        self._keys = keys
        self._compared = compared
        self._amounts = amounts
        self._columns: dict[str, list[str]] = {}

    def copy(self, table: str, rows: object, names: Sequence[str]) -> None:
        """Copies the columns of a side to the table h or t; k0.. are the keys to compare.

        An empty text is not a key.
        """
        self._connection.register("stream", rows)
        try:
            cast = [f"{self._cast(name)} AS {quote_name(name)}" for name in names]
            number = quote_name(ROW) if table == "there" else "NULL::BIGINT"
            folded = [f"{self._key(name)} AS k{n}" for n, name in enumerate(self._keys)]
            self._connection.execute(
                f"CREATE TABLE {table[0]} AS SELECT {', '.join(folded)}, s.* FROM"
                f" (SELECT {number} AS row_number, {', '.join(cast)} FROM stream) AS s"
            )
        finally:
            self._connection.unregister("stream")
        self._columns[table] = list(names)

    def _key(self, name: str) -> str:
        value = self._fold("s", name)
        return value if self._types[name] in _SQL_TYPES else f"nullif({value}, '')"

    def _cast(self, name: str) -> str:
        type = _SQL_TYPES.get(self._types[name], "VARCHAR")
        return f"{quote_name(name)}::{type}"

    def _fold(self, side: str, name: str) -> str:
        """Returns the value to compare: of one spelling, lists in one order."""
        value = f"{side}.{quote_name(name)}"
        type = self._types[name]
        if type == "uuid":
            return f"lower({value})"
        if name == "tx_hash":
            return fold_hash(value)
        if type == "string" and name.endswith("address"):
            return fold_address(value)
        if type == "string[]":
            return f"list_sort(list_transform({value}, lambda x: {fold_address('x')}))"
        return value

    def tables(self) -> dict[str, polars.DataFrame]:
        """Returns the rows, counts, sums, duplicates and matched keys."""
        connection, keys = self._connection, range(len(self._keys))
        k = ", ".join(f"k{place}" for place in keys)
        has_key = " AND ".join(f"k{place} IS NOT NULL" for place in keys)
        connection.execute(f"""
            CREATE TABLE repeated AS
            SELECT {k}, coalesce(sum(h), 0)::BIGINT AS here, coalesce(sum(t), 0)::BIGINT AS there
            FROM (
              SELECT {k}, 1 AS h, 0 AS t FROM h WHERE {has_key}
              UNION ALL SELECT {k}, 0, 1 FROM t WHERE {has_key}
            )
            GROUP BY {k} HAVING here > 1 OR there > 1
        """)
        connection.execute(f"CREATE TABLE result AS {self._single(k)} UNION ALL {self._several(k)}")
        differs = [
            f"CASE WHEN s.{quote_name(f'd {name}')} THEN '{name}' END" for name in self._compared
        ]
        key = [f"s.{quote_name(f'key {name}')} AS {quote_name(name)}" for name in self._keys]
        own = ['s."h id" AS id'] if self._has("here", "id") and "id" not in self._keys else []
        both = [
            f"s.{quote_name(f'{side} {name}')} AS {quote_name(f'{name}_{word}')}"
            for name in self._compared
            for side, word in (("h", "here"), ("t", "there"))
        ]
        order = " ".join(f"WHEN '{each}' THEN {n}" for n, each in enumerate(STATUSES))
        ordered = f"ORDER BY CASE status {order} END"
        differing = (
            f"CASE WHEN status = 'different' THEN list_filter([{', '.join(differs)}],"
            " lambda x: x IS NOT NULL) END"
            if differs
            else "NULL"
        )
        sums = self._sums()
        return {
            "rows": self._read(f"""
                SELECT s.status, ({differing})::VARCHAR[] AS differs,
                  {", ".join([*key, *own, "s.row_there", *both])}
                FROM result AS s WHERE status <> 'matched'
                {ordered}, s.row_there,
                  {", ".join(f"s.{quote_name(f'key {e}')}" for e in self._keys)}
            """),
            "counts": self._read(f"""
                SELECT status, count(*) FILTER (in_here) AS here,
                  count(*) FILTER (in_there) AS there
                FROM result GROUP BY status {ordered}
            """),
            "sums": sums,
            "duplicates": self._read(f"""
                SELECT
                  {", ".join(f"k{n} AS {quote_name(name)}" for n, name in enumerate(self._keys))},
                  here, there
                FROM repeated ORDER BY ALL
            """),
            "matched": self._read(f"""
                SELECT {", ".join([*key, *own, "s.row_there"])} FROM result AS s
                WHERE status = 'matched'
            """),
        }

    def _has(self, table: str, name: str) -> bool:
        return name in self._columns[table]

    def _select_pair(self) -> str:
        """Returns the columns of a pair of rows h and t."""
        values = []
        for name in self._keys:
            value = f"h.{quote_name(name)}, t.{quote_name(name)}"
            values.append(f"coalesce({value}) AS {quote_name(f'key {name}')}")
        for side, table in (("h", "here"), ("t", "there")):
            values += [
                f"{side}.{quote_name(name)} AS {quote_name(f'{side} {name}')}"
                for name in self._columns[table]
            ]
        values += [f"{self._differ(name)} AS {quote_name(f'd {name}')}" for name in self._compared]
        return ", ".join(["h.k0 IS NOT NULL AS h_keyed", "t.row_number AS row_there", *values])

    def _differ(self, name: str) -> str:
        h, t = (self._fold(side, name) for side in ("h", "t"))
        if self._types[name] not in _SQL_TYPES:  # a file may quote its empty cells
            h, t = (f"nullif({each}, '')" for each in (h, t))
        return f"({h} IS DISTINCT FROM {t})"

    @property
    def _is_different(self) -> str:
        return " OR ".join(map(self._differ, self._compared)) or "false"

    def _single(self, k: str) -> str:
        """Returns a query of the rows whose keys appear at most once on each side."""
        sides = ", ".join(
            f"{side} AS (SELECT *, true AS is_there FROM main.{side}"
            f" ANTI JOIN repeated USING ({k}))"
            for side in ("h", "t")
        )
        pairs = " AND ".join(f"h.{each} = t.{each}" for each in k.split(", "))
        no_key = " OR ".join(f"coalesce(h.{each}, t.{each}) IS NULL" for each in k.split(", "))
        return f"""
            (WITH {sides}
            SELECT CASE
                WHEN {no_key} THEN 'no_key'
                WHEN h.is_there IS NULL THEN 'missing_here'
                WHEN t.is_there IS NULL THEN 'missing_there'
                WHEN {self._is_different} THEN 'different'
                ELSE 'matched'
              END AS status,
              h.is_there IS NOT NULL AS in_here, t.is_there IS NOT NULL AS in_there,
              {self._select_pair()}
            FROM h FULL JOIN t ON {pairs})
        """

    def _several(self, k: str) -> str:
        """Returns a query of the other rows, which are paired in the order of their values.

        If all pairs of a key are equal, they are matched.
        """
        sides = []
        for side in ("h", "t"):
            order = ", ".join(self._fold(side, name) for name in self._compared) or "1"
            sides.append(
                f"{side} AS (SELECT {side}.*, true AS is_there, r.here AS n_here, r.there AS"
                f" n_there, row_number() OVER (PARTITION BY {k} ORDER BY {order}) AS place"
                f" FROM main.{side} AS {side} JOIN repeated AS r USING ({k}))"
            )
        keyed = [f"coalesce(h.{each}, t.{each})" for each in k.split(", ")]
        pairs = " AND ".join(f"h.{each} = t.{each}" for each in k.split(", "))
        equal = (
            f"bool_and(h.is_there IS NOT NULL AND t.is_there IS NOT NULL"
            f" AND NOT ({self._is_different})) OVER (PARTITION BY {', '.join(keyed)})"
        )
        return f"""
            (WITH {", ".join(sides)}
            SELECT CASE
                WHEN coalesce(h.n_here, t.n_here) = 0 THEN 'missing_here'
                WHEN coalesce(h.n_there, t.n_there) = 0 THEN 'missing_there'
                WHEN {equal} THEN 'matched'
                ELSE 'duplicate'
              END AS status,
              h.is_there IS NOT NULL AS in_here, t.is_there IS NOT NULL AS in_there,
              {self._select_pair()}
            FROM h FULL JOIN t ON {pairs} AND h.place = t.place)
        """

    def _sums(self) -> polars.DataFrame:
        """Returns the exact sums; adds whole units and fractions apart, so that none overflows."""
        totals: dict[tuple[str, str, str | None], dict[str, Decimal]] = {}
        with localcontext() as exact:
            exact.prec = 100
            for member in self._amounts:
                for side, word in (("h", "here"), ("t", "there")):
                    if not self._has(word, member):
                        continue
                    asset = self._asset(side, member)
                    x = quote_name(f"{side} {member}")
                    whole = f"(CASE WHEN {x} < 0 THEN -floor(-{x}) ELSE floor({x}) END)"
                    found = self._connection.execute(f"""
                        SELECT status, {asset} AS asset, sum({whole}), sum({x} - {whole})
                        FROM result WHERE {x} IS NOT NULL GROUP BY ALL
                    """).fetchall()
                    for status, of, units, fractions in found:
                        each = totals.setdefault((status, member, of), {})
                        each[word] = Decimal(units) + Decimal(fractions)
            rows: list[dict[str, object]] = []
            for (status, member, of), each in totals.items():
                # Without the member, a side has no sum, which is not 0.
                here, there = (
                    each.get(word, Decimal(0)) if self._has(word, member) else None
                    for word in ("here", "there")
                )
                difference = None if here is None or there is None else there - here
                both = {"here": here, "there": there, "difference": difference}
                rows.append({"status": status, "member": member, "asset": of, **both})
        rows.sort(
            key=lambda row: (
                STATUSES.index(str(row["status"])),
                str(row["member"]),
                str(row["asset"] or ""),
            )
        )
        amount = polars.Decimal(38, 18)
        names = ("here", "there", "difference")
        for row in rows:
            for name in names:
                value = row[name]
                if isinstance(value, Decimal) and value.copy_abs() >= 10**20:
                    row[name] = None
        text = dict.fromkeys(("status", "member", "asset"), polars.String())
        return polars.DataFrame(rows, schema={**text, **dict.fromkeys(names, amount)})

    def _asset(self, side: str, member: str) -> str:
        """Returns the asset of an amount of a side; of the other side if its own has none."""
        sides = [("h", "here"), ("t", "there")]
        known = [
            quote_name(f"{each} {ASSETS[member]}")
            for each, word in (sides if side == "h" else sides[::-1])
            if self._has(word, ASSETS[member])
        ]
        return f"coalesce({', '.join(known)})" if known else "NULL::VARCHAR"

    def _read(self, sql: str) -> polars.DataFrame:
        return polars.DataFrame(rows_of(self._connection.sql(sql)))
