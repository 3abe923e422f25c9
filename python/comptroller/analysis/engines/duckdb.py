"""The engine DuckDB, in this process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from weakref import WeakSet

import duckdb
import polars

from comptroller.analysis import plain
from comptroller.analysis.assemble import Statement
from comptroller.analysis.memory import memory_limit
from comptroller.bulk.streams import Rows, Stream, interruptible
from comptroller.description import core_description, members
from comptroller.errors import invalid, unavailable

#: Columns of few texts, which become enumerations, because reports group and sort by them.
_REPEATED = ["asset_type", "blockchain", "jurisdiction"]
_MAX_ENUMERATED = 1_000  # texts, each a literal in the SQL


class DuckDB:
    """Runs reports in a private in-memory DuckDB."""

    def __init__(self) -> None:
        # Connects in a thread, because that takes as long as the assembly of a statement.
        thread = ThreadPoolExecutor(1)
        self._connecting = thread.submit(_connect)
        thread.shutdown(wait=False)
        _open.add(self)
        self._has_files = False  # of the caller, which may be invalid

    @property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return self._connecting.result()

    def read(self, table: str, stream: Rows) -> None:
        """Copies a table, replacing an existing one."""
        with _failing(), interruptible(duckdb):
            if not isinstance(stream, Stream):
                self._copy(table, stream)
                return
            coded, texts = stream.compact(_REPEATED), None
            while texts != (known := coded.texts()):  # a copy may meet more texts
                if any(len(each) > _MAX_ENUMERATED for each in known.values()):
                    self._copy(table, stream.compact([]))
                    return
                texts = known
                self._copy(table, coded, texts)

    def scan(self, table: str, path: str) -> None:
        """Defines a table as a Parquet file, or as all Parquet files of a folder."""
        place = f"{path}/**/*.parquet" if Path(path).is_dir() else path
        self._has_files = True
        with _refusing():
            # Some programs write texts without saying that they are texts.
            rows = self._connection.read_parquet(
                place, binary_as_string=True, hive_partitioning=False
            )
            rows.project(_plain(rows)).create_view(table)

    def run(self, statement: Statement, values: Mapping[str, Any]) -> polars.DataFrame:
        """Runs a statement; returns its rows."""
        bound = {name: values[name] for name in statement.parameters}
        try:
            refusing = _refusing() if self._has_files else nullcontext()
            with _failing(), interruptible(duckdb), refusing:
                rows = self._connection.sql(statement.duckdb, params=bound)
                return polars.DataFrame(_Rows(rows))
        except duckdb.OutOfRangeException as error:
            raise OverflowError(str(error)) from error
        except duckdb.NotImplementedException as error:
            zone = values.get("tz")
            if zone is None or self._knows_zone(zone):
                raise
            # The system's database may have newer zones than DuckDB's.
            raise invalid("tz", f"DuckDB does not know the time zone {zone}") from error

    def _knows_zone(self, name: str) -> bool:
        zones = self._connection.table_function("pg_timezone_names")
        return bool(zones.filter(f"name = {plain.literal(name)}").fetchall())

    def sql(self, statement: Statement, values: Mapping[str, Any]) -> str:
        """Returns the SQL of a statement with its values, which `comptroller query` can run."""
        return statement.with_values(values).sql("duckdb", pretty=True)

    def close(self) -> None:
        """Drops the tables."""
        self._connection.close()

    def _copy(self, table: str, stream: Rows, texts: Mapping[str, Sequence[str]] = {}) -> None:
        """Copies a table whose columns in `texts` are codes of these texts."""
        self._connection.register("stream", stream)
        try:
            columns = _plain(self._connection.table("stream"), {**_closed_sets(table), **texts})
            self._connection.execute(
                f"CREATE OR REPLACE TABLE {table} AS SELECT {columns} FROM stream"
            )
        finally:
            self._connection.unregister("stream")


#: The engines of this process.
_open: WeakSet[DuckDB] = WeakSet()


def _keep_connections() -> None:
    """Adds a reference to each connection, because closing one crashes in a forked child."""
    for engine in _open:
        if engine._connecting.done():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine._connection))


os.register_at_fork(after_in_child=_keep_connections)


def _connect() -> duckdb.DuckDBPyConnection:
    # Threads may append rows in any order, in half the time; the statements sort their rows.
    connection = duckdb.connect(config={"preserve_insertion_order": "false", **memory_limit()})
    # GLOBAL, so that the setting also applies to cursors.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


@contextmanager
def _failing() -> Iterator[None]:
    """Raises Unavailable if memory, or the disk for what does not fit into it, is used up."""
    try:
        yield
    except duckdb.OperationalError as error:
        raise unavailable(f"the report failed: {error}") from error


@contextmanager
def _refusing() -> Iterator[None]:
    """Raises InvalidRequest for files that are missing, are not Parquet, or lack a column."""
    try:
        yield
    except (duckdb.IOException, duckdb.InvalidInputException, duckdb.BinderException) as error:
        raise invalid("tables", str(error).partition(": ")[2]) from error


class _Rows:
    """Hides the type of a relation, of which polars would keep a reference."""

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._relation.__arrow_c_stream__(requested_schema)


def _plain(relation: duckdb.DuckDBPyRelation, texts: Mapping[str, Sequence[str]] = {}) -> str:
    """Returns the columns: codes of texts as enumerations, times without zone.

    DuckDB truncates timestamps without a zone ten times as fast.
    """
    casts = []
    for name, type in zip(relation.columns, relation.types, strict=True):
        if name in texts and type.id in ("tinyint", "integer"):
            casts.append(f'{_decode(name, texts[name])} AS "{name}"')
        elif type.id == "timestamp with time zone":
            casts.append(f'make_timestamp(epoch_us("{name}")) AS "{name}"')
    return f"* REPLACE ({', '.join(casts)})" if casts else "*"


def _decode(column: str, texts: Sequence[str]) -> str:
    """Returns a column of codes as an enumeration in the order of its texts, or as NULL.

    A code that has no text becomes NULL, too.
    """
    if not texts:
        return "NULL::VARCHAR"
    by_code = ", ".join(map(plain.literal, texts))
    in_order = ", ".join(map(plain.literal, sorted(texts)))
    return f'([{by_code}]::ENUM({in_order})[])["{column}" + 1]'


def _closed_sets(table: str) -> Mapping[str, Sequence[str]]:
    """Returns the values, by code, of the columns of a table that are closed sets."""
    values = core_description()["enums"]
    types = {name: member["type"] for name, member in members(table).items()}
    return {name: list(values[type]) for name, type in types.items() if type in values}
