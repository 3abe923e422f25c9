"""The tables of a service in an engine, read once for as many reports as possible."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import polars

from comptroller.analysis.engines import Engine
from comptroller.analysis.registry import ALL_ROWS
from comptroller.description import members
from comptroller.errors import Forbidden, invalid, make

#: Columns by table.
Reads = Mapping[str, Collection[str]]

# Columns that most reports read; the first report that reads a table also reads these.
_SHARED = {
    "claims": (
        *("onchain_status", "blockchain", "asset_type", "payout_group_id", "amount"),
        *("created_at", "submitted_at", "confirmed_at", "updated_at"),
    )
}


class TableSource(Protocol):
    """A source of tables."""

    def version(self) -> int | None:
        """Returns a number that changes whenever a table does; None if it is unknown."""

    def copy_to(
        self, engine: Engine, table: str, columns: Sequence[str], filters: Mapping[str, Any]
    ) -> None:
        """Copies columns of a table to an engine, at least the rows that match the filters."""


class Store:
    """The tables of a service."""

    def __init__(self, resources: Mapping[str, Any], version: Callable[[], int | None]) -> None:
        self._resources = resources
        self.version = version

    def copy_to(
        self, engine: Engine, table: str, columns: Sequence[str], filters: Mapping[str, Any]
    ) -> None:
        """Streams the rows into the engine."""
        given = {**filters, **ALL_ROWS.get(table, {})}
        stream = self._resources[table].stream(columns, **given)
        engine.read(table, stream.with_string_views())


class Exports:
    """The tables of Parquet exports, by table."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def version(self) -> int:
        """Returns 0: each report reads the files again, so nothing is ever outdated."""
        return 0

    def copy_to(
        self, engine: Engine, table: str, columns: Sequence[str], filters: Mapping[str, Any]
    ) -> None:
        """Makes the engine scan the files. Raises InvalidRequest if the table has none."""
        if table not in self._paths:
            raise invalid("tables", f"there is no {table}; there are {', '.join(self._paths)}")
        engine.scan(table, self._paths[table])


class _Cached(NamedTuple):
    columns: frozenset[str]
    filters: Mapping[str, Any]


class Tables:
    """An engine with cached tables of a source, which are read again if the source changes.

    A table has the columns and the rows that a report needs. If another report needs more, the
    table is read again.
    """

    def __init__(self, engine: Engine, source: TableSource) -> None:
        self.engine = engine
        self._source = source
        self._cached: dict[str, _Cached] = {}
        self._version: int | None = None
        self._planned: Reads | None = None

    def prepare(
        self, reads: Reads, filters: Mapping[str, Any], *, is_lenient: bool = False
    ) -> None:
        """Reads the missing tables, columns and rows; of claims, those that match the filters.

        With `is_lenient`, tables that the caller may not read are empty. Raises Forbidden if the
        caller may not read a table; with `is_lenient`, only if it may read none of them.
        """
        if self._planned is None:
            self._drop_outdated()
        others = self._planned or (_SHARED if self._version is not None else {})
        refused: list[Forbidden] = []
        for table, columns in reads.items():
            cached = self._cached.get(table, _Cached(frozenset(), {}))
            needed = filters if table == "claims" else {}
            if cached.columns and not cached.filters:
                needed = {}  # the whole table is cached; keep all its rows
            if cached.columns.issuperset(columns) and cached.filters == needed:
                continue
            wanted = cached.columns.union(columns, others.get(table, ()))
            self._cached.pop(table, None)
            try:
                self._source.copy_to(self.engine, table, sorted(wanted), needed)
            except Forbidden as error:
                if not is_lenient:
                    raise
                refused.append(error)
                self.engine.read(table, _empty(table, wanted))
            else:
                self._cached[table] = _Cached(wanted, needed)
        if refused and len(refused) == len(reads):
            details = dict.fromkeys(each.detail for each in refused)
            raise make(refused[0].code, refused[0].status, "; or ".join(details))

    @contextmanager
    def reading_once(self, reads: Reads) -> Iterator[None]:
        """Reads each table once, with all of these columns, until the end of the scope."""
        self._drop_outdated()
        self._planned = reads
        try:
            yield
        finally:
            self._planned = None

    def _drop_outdated(self) -> None:
        version = self._source.version()
        if version is None or version != self._version:
            self._cached.clear()
        self._version = version


_TYPES = {
    "amount": polars.Decimal(38, 18),
    "timestamp": polars.Datetime("us", "UTC"),
    "boolean": polars.Boolean(),
    "string[]": polars.List(polars.String),
}


def _empty(table: str, columns: Collection[str]) -> polars.DataFrame:
    types = {name: member["type"] for name, member in members(table).items()}
    return polars.DataFrame(
        schema={name: _TYPES.get(types[name], polars.String()) for name in sorted(columns)}
    )
