"""The tables of a store in an engine, read once for as many reports as possible."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import polars

from comptroller.analysis.assemble import store_columns
from comptroller.analysis.engines import Engine
from comptroller.analysis.registry import ALL_ROWS
from comptroller.bulk.streams import Stream
from comptroller.errors import Forbidden, invalid, make

#: Columns by table, and filters of streams by table.
Reads = Mapping[str, Collection[str]]
Filters = Mapping[str, Mapping[str, Any]]

# Columns that most reports read: the first that reads the table brings them for those asked next.
_SHARED = {
    "claims": (
        *("onchain_status", "blockchain", "asset_type", "payout_group_id", "amount"),
        *("created_at", "submitted_at", "confirmed_at", "updated_at"),
    )
}


class Streaming(Protocol):
    """A resource whose records stream."""

    def stream(self, columns: Sequence[str] | None = None, **filters: Any) -> Stream:
        """All records that pass the filters, as columns."""


class TableSource(Protocol):
    """Where tables come from."""

    def version(self) -> int | None:
        """A number that changes whenever a table does; None if that is unknown."""

    def bring(
        self, engine: Engine, table: str, columns: Sequence[str], filters: Mapping[str, Any]
    ) -> None:
        """Brings columns of a table, at least those rows that pass the filters."""


class Store:
    """The tables of a service."""

    def __init__(
        self, resources: Mapping[str, Streaming], version: Callable[[], int | None]
    ) -> None:
        self._resources = resources
        self.version = version

    def bring(
        self, engine: Engine, table: str, columns: Sequence[str], filters: Mapping[str, Any]
    ) -> None:
        """Streams the rows into the engine."""
        given = {**filters, **ALL_ROWS.get(table, {})}
        engine.read(table, self._resources[table].stream(columns, **given))


class Exports:
    """The tables of Parquet exports, by table."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def version(self) -> int:
        """Always the same: what is scanned is read anew by each report."""
        return 0

    def bring(
        self, engine: Engine, table: str, columns: Sequence[str], filters: Mapping[str, Any]
    ) -> None:
        """Lets the engine scan the files. Raises InvalidRequest if there are none of the table."""
        if table not in self._paths:
            raise invalid("tables", f"there is no {table}; there are {', '.join(self._paths)}")
        engine.scan(table, self._paths[table])


class _Kept(NamedTuple):
    columns: frozenset[str]
    filters: Mapping[str, Any]


class Tables:
    """An engine with tables of a source; what it has is read again only if the source changed.

    A table is read with the columns and the rows that a report needs; again, with more, if another
    needs more.
    """

    def __init__(self, engine: Engine, source: TableSource) -> None:
        self.engine = engine
        self._source = source
        self._kept: dict[str, _Kept] = {}
        self._version: int | None = None
        self._wanted: Reads | None = None

    def prepare(self, reads: Reads, filters: Filters, *, is_lenient: bool = False) -> None:
        """Brings what is missing of the tables; those not permitted, if it is lenient, empty.

        Raises Forbidden if a table is not permitted, or, if it is lenient, if none is.
        """
        if self._wanted is None:
            self._forget_old()
        others = self._wanted or (_SHARED if self._version is not None else {})
        refused: list[Forbidden] = []
        for table, columns in reads.items():
            kept, asked = self._kept.get(table, _Kept(frozenset(), {})), filters.get(table, {})
            if kept.columns and not kept.filters:
                asked = {}  # the whole table is there, and stays so
            if kept.columns.issuperset(columns) and kept.filters == asked:
                continue
            wanted = kept.columns.union(columns, others.get(table, ()))
            self._kept.pop(table, None)
            try:
                self._source.bring(self.engine, table, sorted(wanted), asked)
            except Forbidden as error:
                if not is_lenient:
                    raise
                refused.append(error)
                self.engine.read(table, _empty(table, wanted))
            else:
                self._kept[table] = _Kept(wanted, asked)
        if refused and len(refused) == len(reads):
            details = dict.fromkeys(each.detail for each in refused)
            raise make(refused[0].code, refused[0].status, "; or ".join(details))

    @contextmanager
    def held(self, reads: Reads) -> Iterator[None]:
        """Reads each table once for all reports until the end of the scope, with these columns."""
        self._forget_old()
        self._wanted = reads
        try:
            yield
        finally:
            self._wanted = None

    def _forget_old(self) -> None:
        version = self._source.version()
        if version is None or version != self._version:
            self._kept.clear()
        self._version = version


_EMPTY = {
    "DECIMAL(38, 18)": polars.Decimal(38, 18),
    "TIMESTAMP": polars.Datetime("us", "UTC"),
    "BOOLEAN": polars.Boolean(),
    "VARCHAR[]": polars.List(polars.String),
    "VARCHAR": polars.String(),
}


def _empty(table: str, columns: Collection[str]) -> polars.DataFrame:
    types = store_columns()[table]
    return polars.DataFrame(schema={name: _EMPTY[types[name]] for name in sorted(columns)})
