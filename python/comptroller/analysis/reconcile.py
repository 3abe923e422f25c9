"""Reconciliation of the records of a service with a table of someone else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, localcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars

from comptroller import arguments
from comptroller.analysis.formatting import columns_of, csv_of
from comptroller.analysis.registry import ALL_ROWS
from comptroller.analysis.table import AMOUNT, TIME, Table, quoted, rows_of
from comptroller.bulk.files import whole_file
from comptroller.bulk.frames import frame_of
from comptroller.bulk.mapping import ColumnMapping, RowMapping
from comptroller.bulk.streams import awaited, interruptible
from comptroller.description import members, stored
from comptroller.display.html import SHOWN_ROWS, html
from comptroller.errors import InvalidRequest, invalid, shorten, unavailable

if TYPE_CHECKING:
    from comptroller.bulk.sources import LoadSource
    from comptroller.service import Service

#: What a row can be, in the order of results.
STATUSES = ("matched", "different", "missing_here", "missing_there", "duplicate", "no_key")
#: The members of amounts, and the members of their assets.
_ASSETS = {"source_amount": "source_asset", "amount": "asset_type", "balance": "asset_type"}
# Results are sorted where their order matters.
_UNORDERED: dict[str, str | bool | int | float | list[str]] = {"preserve_insertion_order": "false"}
_SQL_TYPES = {"amount": "DECIMAL(38, 18)", "timestamp": "TIMESTAMPTZ", "boolean": "BOOLEAN"}
_PATTERNS = {"amount": AMOUNT, "timestamp": f"(?i){TIME}"}
_MEANINGS = {"amount": "a plain decimal number", "timestamp": "a time with an offset"}
# 0x and the digits of an address or of a hash of a transaction.
_HEXADECIMAL = "^0[xX]([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$"


class Reconciliation(Table):
    """The differences between records and a table of someone else, and what both have.

    A Reconciliation is the table of all rows that are not matched: its status, the members that
    differ, the key, the record's id, the number of the other row, and each compared member on both
    sides, such as ``amount_here`` and ``amount_there``.

    Attributes:
        kind: the kind of the records.
        on: the members of the key.
        compared: the members that both sides have.
        ignored: the columns of the other side that are not members.
        counts: the number of rows on both sides by status: ``matched``, ``different``,
            ``missing_here``, ``missing_there``, ``duplicate`` or ``no_key``.
        sums: the exact sums of amounts by status, member and asset. A sum of more than 20 digits
            before the point is null.
        differing: the number of different rows by member.
        duplicates: the keys that appear more than once on a side, with their counts.
        matched: the keys of the matched rows.
    """

    def __init__(
        self,
        frame: polars.DataFrame,
        *,
        kind: str,
        on: Sequence[str],
        compared: Sequence[str],
        ignored: Sequence[str],
        tables: Mapping[str, polars.DataFrame],
    ) -> None:
        super().__init__(frame)
        self.kind = kind
        self.on = tuple(on)
        self.compared = tuple(compared)
        self.ignored = tuple(ignored)
        self.counts = Table(tables["counts"])
        self.sums = Table(tables["sums"])
        self.duplicates = Table(tables["duplicates"])
        self.matched = Table(tables["matched"])
        counted = [(name, frame["differs"].list.contains(name).sum()) for name in compared]
        self.differing = {name: count for name, count in counted if count}

    @property
    def is_equal(self) -> bool:
        """Whether every row of each side is matched."""
        return not len(self)

    @property
    def different(self) -> Table:
        """The rows whose compared members differ."""
        return self._of("different")

    @property
    def missing_here(self) -> Table:
        """The rows of the other side that have no record."""
        return self._of("missing_here")

    @property
    def missing_there(self) -> Table:
        """The records that the other side does not have."""
        return self._of("missing_there")

    def _of(self, status: str) -> Table:
        return Table(self._frame.filter(polars.col("status") == status))

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Writes a page: counts, sums, and the first rows of each status with all as CSV."""
        from comptroller.analysis.document import document

        with whole_file(arguments.path("path", path)) as part:
            part.write_text(document([self], self.title), encoding="utf-8")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the rows as .csv, .xlsx or .parquet, or the page as .html, by the suffix.

        Raises InvalidRequest for another suffix.
        """
        writers = {
            ".csv": self.to_csv,
            ".xlsx": self.to_excel,
            ".parquet": self.to_parquet,
            ".html": self.to_html,
        }
        suffix = Path(arguments.path("path", path)).suffix.lower()
        if suffix not in writers:
            raise invalid("path", f"{path} names no format; end it in one of {', '.join(writers)}")
        writers[suffix](path)

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"Reconciliation of {self.kind} by {', '.join(self.on)}"

    @property
    def lines(self) -> list[str]:
        """What was compared, in sentences."""
        compared = ", ".join(self.compared) or "nothing but the key"
        lines = [f"Compared: {compared}."]
        if self.differing:
            shown = ", ".join(f"{name} ({count:,})" for name, count in self.differing.items())
            lines.append(f"Members that differ (rows): {shown}.")
        if self.ignored:
            lines.append(f"Not compared, because they are no members: {', '.join(self.ignored)}.")
        return lines

    def section(self, shown: int, *, with_csv: bool = True) -> dict[str, Any]:
        """Returns the values of the section template, with at most `shown` rows of each table."""
        titled = {
            "Rows": self.counts,
            "Sums": self.sums,
            "Different": self.different,
            "Missing here": self.missing_here,
            "Missing there": self.missing_there,
            "Keys that appear more than once": self.duplicates,
            "Rows without a key": self._of("no_key"),
        }
        tables = []
        for title, each in titled.items():
            if not len(each):
                continue
            frame = _shown(each.to_polars())
            tables.append(
                {
                    "title": title,
                    "columns": columns_of(frame.head(shown)),
                    "csv": csv_of(frame) if with_csv else None,
                    "more": max(len(frame) - shown, 0),
                }
            )
        return {"place": "rows", "title": self.title, "lines": self.lines, "listed": tables}

    def __repr__(self) -> str:
        parts = []
        for status, here, there in self.counts.to_polars().iter_rows():
            is_pair = status in STATUSES[:4]
            count = f"{here or there:,}" if is_pair else f"{here:,} here and {there:,} there"
            parts.append(f"{count} {status.replace('_', ' ')}")
        shown = ", ".join(parts) or "no rows"
        return f"<Reconciliation of {self.kind} on {', '.join(self.on)}: {shown}>"

    def _repr_html_(self) -> str:
        return html("section.html", section=self.section(SHOWN_ROWS, with_csv=False))


def _shown(frame: polars.DataFrame) -> polars.DataFrame:
    """Returns a frame without empty columns and its status, and with lists as text."""
    empty = [column.name for column in frame if column.null_count() == len(frame)]
    lists = [name for name, type in frame.schema.items() if type == polars.List(polars.String)]
    alone = ["status"] if "differs" in frame.columns else []
    return frame.with_columns(polars.col(lists).list.join(", ")).drop(*{*empty, *alone})


def reconcile(
    svc: Service,
    kind: str,
    source: LoadSource,
    on: str | Sequence[str],
    compare: str | Sequence[str] | None,
    where: Mapping[str, Any],
    mapping: ColumnMapping,
) -> Reconciliation:
    """Compares the records of a kind with a table; see `Service.reconcile`."""
    kind = arguments.kind(kind)
    types = {name: str(members(kind)[name]["type"]).rstrip("?") for name in stored(kind)}
    comparable = {name: type for name, type in types.items() if _is_comparable(type)}
    keys = list(arguments.choices("on", on, list(comparable)))
    there, ignored = _members_of(kind, source, mapping, comparable, keys)
    if compare is None:
        compared = [name for name in comparable if name in there.columns and name not in keys]
    else:
        compared = list(arguments.choices("compare", compare, list(comparable)))
        for name in compared:
            if name not in there.columns:
                raise invalid("compare", _no_column(name, there))
    amounts = [name for name in types if name in _ASSETS]
    assets = [_ASSETS[name] for name in amounts if _ASSETS[name] in types]
    own = ["id"] if "id" in types else []
    names = list(dict.fromkeys([*own, *keys, *compared, *amounts, *assets]))
    filters = {**ALL_ROWS.get(kind, {}), **where}
    stream = getattr(svc, kind.replace("-", "_")).stream(names, **filters)
    with _refusing(), duckdb.connect(config=_UNORDERED) as connection:
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        work = _Work(connection, comparable, keys, compared, amounts)

        def run() -> Reconciliation:
            work.copy("here", stream, names)
            work.copy("there", rows_of(there), [each for each in names if each in there.columns])
            tables = work.tables()
            return Reconciliation(
                tables.pop("rows"),
                kind=kind,
                on=keys,
                compared=compared,
                ignored=ignored,
                tables=tables,
            )

        return awaited(run, connection.interrupt)


def _is_comparable(type: str) -> bool:
    from comptroller.description import described

    return type != "metadata" and type not in described()["records"]


def _no_column(name: str, frame: polars.DataFrame) -> str:
    found = ", ".join(each for each in frame.columns if each != "row") or "none"
    return f"the table has no column {name}; of the members it has {found}; see rename"


# ---- the other side ------------------------------------------------------------------------------


def _members_of(
    kind: str,
    source: LoadSource,
    mapping: ColumnMapping,
    types: Mapping[str, str],
    keys: Sequence[str],
) -> tuple[polars.DataFrame, list[str]]:
    """Returns the columns of a table that are members, converted, and the names of the others."""
    frame, lines_before = frame_of(source, mapping.separator, mapping.sheet)
    rows = RowMapping(kind, mapping, unescapes=lines_before > 0)
    columns: dict[str, polars.Series] = {}
    ignored = []
    for column in frame.get_columns():
        name = mapping.rename.get(column.name, column.name)
        if name not in types:
            ignored.append(column.name)
        elif name in columns:
            raise invalid(name, f"another column also sets it, beside {column.name!r}")
        else:
            converted = _Converted(rows, mapping, name, types[name], lines_before)
            columns[name] = converted(column, unescapes=lines_before > 0)
    for name in mapping.constants:
        if name in types:
            value = rows.constant(name)
            given = columns.get(name, polars.Series([None] * len(frame), dtype=polars.String))
            columns[name] = given.cast(polars.String).fill_null(str(value))
    there = polars.DataFrame([each.alias(name) for name, each in columns.items()])
    for name in keys:
        if name not in there.columns:
            raise invalid("on", _no_column(name, there))
    numbers = polars.int_range(1 + lines_before, len(frame) + 1 + lines_before, eager=True)
    return there.with_columns(numbers.alias("row")), ignored


class _Converted:
    """Converts a column of a table to a member: an exact type, or text that DuckDB casts exactly.

    The values that are not in the interface's form are converted as in a load, each of them once.
    """

    def __init__(
        self, rows: RowMapping, mapping: ColumnMapping, member: str, type: str, lines_before: int
    ) -> None:
        self._rows = rows
        self._mapping = mapping
        self._member = member
        self._type = type
        self._lines_before = lines_before

    def __call__(self, column: polars.Series, *, unescapes: bool) -> polars.Series:
        """Returns the converted column. Raises InvalidRequest, which names the row."""
        typed = self._typed(column)
        if typed is not None:
            return typed
        if column.dtype in (polars.Categorical, polars.Enum):
            column = column.cast(polars.String)
        is_same = polars.Series([False]).new_from_index(0, len(column))
        if column.dtype == polars.String:
            is_same = self._is_same(column, unescapes=unescapes)
        others = column.filter(~is_same.fill_null(True)).unique()
        texts = [self._text(column, value) for value in others.to_list()]
        if self._type == "string[]":
            by_value = dict(zip(map(repr, others.to_list()), texts, strict=True))
            lists = [by_value.get(repr(value)) for value in column.to_list()]
            whole = polars.Series(lists, dtype=polars.List(polars.String))
        else:
            found = polars.DataFrame({"x": others, "y": polars.Series(texts, dtype=polars.String)})
            joined = polars.DataFrame({"x": column}).join(
                found, on="x", how="left", maintain_order="left"
            )["y"]
            whole = joined
            if column.dtype == polars.String and len(others) < len(column):
                whole = polars.select(
                    polars.when(is_same).then(column).otherwise(joined)
                ).to_series()
        return self._checked(column, whole)

    def _typed(self, column: polars.Series) -> polars.Series | None:
        """Returns a column that has an exact type; None for others."""
        dtype = column.dtype
        if self._type == "amount" and (dtype.is_integer() or isinstance(dtype, polars.Decimal)):
            exact = column.cast(polars.Decimal(38, 18), strict=False)
            scale = dtype.scale if isinstance(dtype, polars.Decimal) else 0
            return exact if exact.null_count() == column.null_count() and scale <= 18 else None
        if self._type == "timestamp" and isinstance(dtype, polars.Datetime) and dtype.time_zone:
            return column.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
        is_text = self._type == "string[]" and dtype == polars.List(polars.String)
        is_boolean = self._type == "boolean" and dtype == polars.Boolean
        return column if is_text or is_boolean else None

    def _is_same(self, column: polars.Series, *, unescapes: bool) -> polars.Series:
        """Returns which texts need no conversion."""
        options = self._mapping
        same = polars.Series([True]).new_from_index(0, len(column))
        if self._type in _PATTERNS:
            same = column.str.contains(f"^(?:{_PATTERNS[self._type]})$")
        if (
            self._type in ("boolean", "string[]")
            or (self._type == "amount" and options.decimal == ",")
            or (self._type == "uuid" and options.ids is not None)
        ):
            same = polars.Series([False]).new_from_index(0, len(column))
        return same & ~column.str.starts_with("'") if unescapes else same

    def _text(self, column: polars.Series, value: Any) -> Any:
        try:
            given = self._rows.convert(self._member, value)
        except InvalidRequest as error:
            raise self._refused(column, value, error.errors[0][1]) from error
        if given is None or self._type == "string[]":
            return given if given is None or isinstance(given, list) else [str(given)]
        if isinstance(given, Decimal):
            return format(given, "f")
        return str(given).lower() if isinstance(given, bool) else str(given)

    def _checked(self, column: polars.Series, texts: polars.Series) -> polars.Series:
        """Refuses values that are none of the type, as a load does."""
        pattern = _PATTERNS.get(self._type)
        if pattern is None:
            return texts
        wrong = ~texts.str.contains(f"^(?:{pattern})$").fill_null(True)
        if wrong.any():
            value = column[wrong.arg_max() or 0]
            raise self._refused(column, value, f"{shorten(repr(value))} is not {self._meaning}")
        return texts

    @property
    def _meaning(self) -> str:
        return _MEANINGS[self._type]

    def _refused(self, column: polars.Series, value: Any, why: str) -> InvalidRequest:
        row = (column == value).arg_max() if column.dtype != polars.List else None
        place = "" if row is None else f"row {row + 1 + self._lines_before}: "
        return invalid(self._member, f"{place}{why}")


# ---- the comparison ------------------------------------------------------------------------------


class _Work:
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
        """Copies the columns of a side to the table h or t; k0.. are the keys to compare."""
        self._connection.register("stream", rows)
        try:
            cast = [f"{self._typed(name)} AS {quoted(name)}" for name in names]
            number = '"row"' if table == "there" else "NULL::BIGINT"
            folded = [f"{self._folded('s', name)} AS k{n}" for n, name in enumerate(self._keys)]
            self._connection.execute(
                f"CREATE TABLE {table[0]} AS SELECT {', '.join(folded)}, s.* FROM"
                f" (SELECT {number} AS row_number, {', '.join(cast)} FROM stream) AS s"
            )
        finally:
            self._connection.unregister("stream")
        self._columns[table] = list(names)

    def _typed(self, name: str) -> str:
        type = self._types[name]
        sql = "VARCHAR[]" if type == "string[]" else _SQL_TYPES.get(type, "VARCHAR")
        return f"{quoted(name)}::{sql}"

    def _folded(self, side: str, name: str) -> str:
        """Returns the value to compare: of one spelling, lists in one order."""
        value = f"{side}.{quoted(name)}"
        type = self._types[name]
        if type == "uuid":
            return f"lower({value})"
        is_hexadecimal = type == "string" and (name == "tx_hash" or name.endswith("address"))
        if is_hexadecimal:
            return _fold(value)
        if type == "string[]":
            return f"list_sort(list_transform({value}, lambda x: {_fold('x')}))"
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
            f"CASE WHEN s.{quoted(f'd {name}')} THEN '{name}' END" for name in self._compared
        ]
        key = [f"s.{quoted(f'key {name}')} AS {quoted(name)}" for name in self._keys]
        own = ['s."h id" AS id'] if self._has("here", "id") and "id" not in self._keys else []
        both = [
            f"s.{quoted(f'{side} {name}')} AS {quoted(f'{name}_{word}')}"
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
                {ordered}, s.row_there, {", ".join(f"s.{quoted(f'key {e}')}" for e in self._keys)}
            """),
            "counts": self._read(f"""
                SELECT status, count(*) FILTER (in_here) AS here,
                  count(*) FILTER (in_there) AS there
                FROM result GROUP BY status {ordered}
            """),
            "sums": sums,
            "duplicates": self._read(f"""
                SELECT {", ".join(f"k{n} AS {quoted(name)}" for n, name in enumerate(self._keys))},
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

    def _selected(self) -> str:
        """Returns the columns of a pair of rows h and t."""
        values = []
        for name in self._keys:
            value = f"h.{quoted(name)}, t.{quoted(name)}"
            values.append(f"coalesce({value}) AS {quoted(f'key {name}')}")
        for side, table in (("h", "here"), ("t", "there")):
            values += [
                f"{side}.{quoted(name)} AS {quoted(f'{side} {name}')}"
                for name in self._columns[table]
            ]
        values += [f"{self._differ(name)} AS {quoted(f'd {name}')}" for name in self._compared]
        return ", ".join(["h.k0 IS NOT NULL AS h_keyed", "t.row_number AS row_there", *values])

    def _differ(self, name: str) -> str:
        return f"({self._folded('h', name)} IS DISTINCT FROM {self._folded('t', name)})"

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
              {self._selected()}
            FROM h FULL JOIN t ON {pairs})
        """

    def _several(self, k: str) -> str:
        """Returns a query of the other rows, which are paired in the order of their values.

        If all pairs of a key are equal, they are matched.
        """
        sides = []
        for side in ("h", "t"):
            order = ", ".join(self._folded(side, name) for name in self._compared) or "1"
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
              {self._selected()}
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
                    x = quoted(f"{side} {member}")
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
            quoted(f"{each} {_ASSETS[member]}")
            for each, word in (sides if side == "h" else sides[::-1])
            if self._has(word, _ASSETS[member])
        ]
        return f"coalesce({', '.join(known)})" if known else "NULL::VARCHAR"

    def _read(self, sql: str) -> polars.DataFrame:
        return polars.DataFrame(rows_of(self._connection.sql(sql)))


def _fold(value: str) -> str:
    return (
        f"CASE WHEN {value} LIKE '0x%' OR {value} LIKE '0X%' THEN CASE WHEN"
        f" regexp_matches({value}, '{_HEXADECIMAL}') THEN lower({value}) ELSE {value} END"
        f" ELSE {value} END"
    )


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        with interruptible(duckdb):
            yield
    except duckdb.ConversionException as error:
        raise invalid("source", str(error)) from error
    except duckdb.OperationalError as error:
        raise unavailable(f"the reconciliation failed: {error}") from error
