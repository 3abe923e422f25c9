"""The tables of a service in an engine, read once for as many reports as possible."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from glob import glob
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars

from comptroller import arguments
from comptroller.analysis.assemble import assemble
from comptroller.analysis.engines import Engine
from comptroller.analysis.registry import ALL_ROWS, TABLES
from comptroller.bulk.files import refuse_open_store
from comptroller.description import members
from comptroller.errors import Forbidden, error_for, invalid

if TYPE_CHECKING:
    from comptroller.journal import Journal
    from comptroller.postgresql import Database

#: Columns by table.
Reads = Mapping[str, Collection[str]]

# Columns that most reports read; the first report that reads a table also reads these.
_SHARED = {
    "claims": (
        *("onchain_status", "blockchain", "asset_type", "payout_group_id", "amount"),
        *("created_at", "submitted_at", "confirmed_at", "updated_at"),
    )
}


class ServiceTables:
    """The tables of a service."""

    def __init__(
        self,
        resources: Mapping[str, Any],
        version: Callable[[], int | None],
        journal: Journal | None = None,
        database: Database | None = None,
    ) -> None:
        self._resources = resources
        self.journal = journal
        #: The database whose tables an engine may read in place.
        self.database = database
        #: Returns a number that changes whenever a table does; None if it is unknown.
        self.version = version

    def has(self, table: str) -> bool:
        """Whether there is such a table: always."""
        return table in TABLES

    def copy_to(
        self, engine: Engine, table: str, columns: Sequence[str], filters: Mapping[str, Any]
    ) -> None:
        """Copies columns of the rows that match the filters."""
        given = {**filters, **ALL_ROWS.get(table, {})}
        engine.read(table, self._resources[table].stream(columns, **given))


class TablesInPlace:
    """The tables of a database, which an engine reads there: nothing is copied."""

    def __init__(self, source: ServiceTables) -> None:
        self.journal = source.journal
        self.version = source.version

    def has(self, table: str) -> bool:
        """Whether there is such a table: always."""
        return table in TABLES

    def copy_to(
        self, engine: Engine, table: str, columns: Sequence[str], filters: Mapping[str, Any]
    ) -> None:
        """Copies nothing."""


class Exports:
    """The tables of Parquet exports in a folder, or by table.

    A folder has files such as ``claims.parquet`` or folders such as ``claims``. Raises
    InvalidRequest if it has none.
    """

    def __init__(self, tables: str | PathLike[str] | Mapping[str, str]) -> None:
        if isinstance(tables, Mapping):
            self._paths = tables
            return
        found = {
            each.stem.replace("-", "_"): str(each)
            for each in sorted(Path(arguments.path("tables", tables)).absolute().glob("*"))
            if each.is_dir() or each.suffix == ".parquet"
        }
        self._paths = {name: path for name, path in found.items() if name in TABLES}
        if not self._paths:
            exports = "export such as claims.parquet or a folder claims"
            raise invalid("folder", f"{tables} has no {exports}")

    def has(self, table: str) -> bool:
        """Whether there are files of the table."""
        return table in self._paths

    def version(self) -> int:
        """Returns 0: each report reads the files again, so nothing is ever outdated."""
        return 0

    def copy_to(
        self, engine: Engine, table: str, columns: Sequence[str], filters: Mapping[str, Any]
    ) -> None:
        """Makes the engine scan all of the files. Raises InvalidRequest if the table has none."""
        if table not in self._paths:
            raise invalid("tables", f"there is no {table}; there are {', '.join(self._paths)}")
        path = self._paths[table]
        pattern = f"{path}/**/*.parquet" if Path(path).is_dir() else path
        for each in (path, *glob(pattern, recursive=True)):  # noqa: PTH207
            refuse_open_store("tables", each)
        engine.scan(table, path)


class Tables:
    """An engine with cached tables of a source.

    A table has the columns and the rows that a report needs. If another report needs more, the
    table is read again.
    """

    def __init__(self, engine: Engine, source: ServiceTables | TablesInPlace | Exports) -> None:
        self.engine = engine
        #: The journal of the source, if it has one.
        self.journal: Journal | None = getattr(source, "journal", None)
        self._source = source
        self._cached: dict[str, tuple[frozenset[str], Mapping[str, Any]]] = {}
        self._version: int | None = None

    def drop_outdated(self) -> None:
        """Drops all tables if the source has changed, or may have."""
        version = self._source.version()
        if version is None or version != self._version:
            self._cached.clear()
        self._version = version

    def find_groups(self, name: str) -> list[str]:
        """Returns the ids of the payout groups that have a name."""
        statement = assemble("named_groups", (), frozenset())
        self.prepare(statement.reads, {})
        groups = self.engine.run(statement, {})
        return groups.filter(polars.col("name") == name)["id"].to_list()

    def prepare(
        self,
        reads: Reads,
        filters: Mapping[str, Any],
        optional: Collection[str] = (),
        *,
        is_empty_if_forbidden: bool = False,
    ) -> None:
        """Reads the missing tables, columns and rows; of claims, those that match the filters.

        Tables that the caller may not read are empty if they are `optional`, or with
        `is_empty_if_forbidden`. Raises Forbidden for another table; with `is_empty_if_forbidden`,
        only if the caller may read none. `optional` tables are also empty if the source lacks them.
        """
        others = {} if self._version is None else _SHARED
        refused: list[Forbidden] = []
        for table, columns in reads.items():
            cached, rows = self._cached.get(table, (frozenset(), {}))
            # If the whole table is cached, keep all its rows.
            needed = filters if table == "claims" and (rows or not cached) else {}
            if cached.issuperset(columns) and rows == needed:
                continue
            wanted = cached.union(columns, others.get(table, ()))
            self._cached.pop(table, None)
            if table in optional and not self._source.has(table):
                self.engine.read(table, _empty(table, wanted))
                continue
            try:
                self._source.copy_to(self.engine, table, sorted(wanted), needed)
            except Forbidden as error:
                if table not in optional and not is_empty_if_forbidden:
                    raise
                refused.append(error)
                self.engine.read(table, _empty(table, wanted))
            else:
                self._cached[table] = wanted, needed
        if refused and len(refused) == len(reads):
            details = dict.fromkeys(each.detail for each in refused)
            raise error_for(refused[0].code, refused[0].status, "; or ".join(details))


_TYPES = {
    "amount": polars.Decimal(38, 18),
    "timestamp": polars.Datetime("us", "UTC"),
    "boolean": polars.Boolean(),
    "string[]": polars.List(polars.String),
}


def _empty(table: str, columns: Collection[str]) -> polars.DataFrame:
    return polars.DataFrame(schema=schema(table, columns))


def schema(table: str, columns: Collection[str]) -> dict[str, polars.DataType]:
    """Returns the types of columns of a table."""
    types = {name: member["type"].removesuffix("?") for name, member in members(table).items()}
    return {name: _TYPES.get(types[name], polars.String()) for name in sorted(columns)}
