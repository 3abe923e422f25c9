"""The engine DuckDB, in this process."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import duckdb
import polars

from comptroller.analysis import plain
from comptroller.analysis.assemble import Statement
from comptroller.bulk.streams import Rows, interruptible
from comptroller.description import described, members
from comptroller.errors import invalid

#: Texts of claims that most reports group by, and the run that converts them to enumerations. The
#: conversion takes as long as one report, and makes the later ones a fifth faster.
_REPEATED = frozenset({"asset_type", "blockchain"})
_CONVERTING_RUN = 3


class DuckDB:
    """Runs reports in a private in-memory DuckDB."""

    def __init__(self) -> None:
        # Takes as long as the assembly of a statement, which can run meanwhile.
        thread = ThreadPoolExecutor(1)
        self._connecting = thread.submit(_connect)
        thread.shutdown(wait=False)
        self._has_files = False  # of the caller, which may be invalid
        self._runs = 0  # since the claims were read
        self._repeated: Collection[str] = ()  # columns to convert

    @property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return self._connecting.result()

    def read(self, table: str, stream: Rows) -> None:
        """Copies a table, replacing an existing one."""
        with interruptible(duckdb):
            self._connection.register("stream", stream)
            try:
                rows = self._connection.table("stream")
                columns = _plain(rows, _enumerations(table))
                self._connection.execute(
                    f"CREATE OR REPLACE TABLE {table} AS SELECT {columns} FROM stream"
                )
            finally:
                self._connection.unregister("stream")
        if table == "claims":
            self._runs, self._repeated = 0, _REPEATED.intersection(rows.columns)

    def scan(self, table: str, path: str) -> None:
        """Defines a table as a Parquet file, or as all Parquet files of a folder."""
        place = f"{path}/**/*.parquet" if Path(path).is_dir() else path
        self._has_files = True
        with _refusing():
            rows = self._connection.read_parquet(place, hive_partitioning=False)
            rows.project(_plain(rows)).create_view(table)

    def run(self, statement: Statement, values: Mapping[str, Any]) -> polars.DataFrame:
        """Runs a statement; returns its rows."""
        bound = {name: values[name] for name in statement.parameters}
        try:
            with interruptible(duckdb), _refusing() if self._has_files else nullcontext():
                self._runs += 1
                if self._runs == _CONVERTING_RUN:
                    self._convert_repeated()
                rows = self._connection.sql(statement.duckdb, params=bound)
                return polars.DataFrame(_Rows(rows))
        except duckdb.OutOfRangeException as error:
            raise OverflowError(str(error)) from error

    def sql(self, statement: Statement, values: Mapping[str, Any]) -> str:
        """Returns the SQL of a statement with its values, which `comptroller query` can run."""
        return statement.with_values(values).sql("duckdb", pretty=True)

    def close(self) -> None:
        """Drops the tables."""
        self._connection.close()

    def _convert_repeated(self) -> None:
        """Converts the repeated texts of claims to enumerations, in the order of the texts."""
        run = self._connection.execute
        for name in self._repeated:
            texts = f"SELECT DISTINCT {name} AS text FROM claims WHERE {name} IS NOT NULL"
            run(f"CREATE OR REPLACE TEMP TABLE texts AS {texts}")
            if len(self._connection.table("texts")):
                run("CREATE OR REPLACE TYPE repeated AS ENUM (FROM texts ORDER BY text)")
                run(f"ALTER TABLE claims ALTER {name} TYPE repeated")


def _connect() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    # GLOBAL, so that the setting also applies to cursors.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    # Threads then append rows in any order, in half the time; the statements sort their rows.
    connection.execute("SET GLOBAL preserve_insertion_order = false")
    return connection


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


def _plain(relation: duckdb.DuckDBPyRelation, enumerations: Mapping[str, str] = {}) -> str:
    """Returns the columns: those that are closed sets as enumerations, times without a zone.

    DuckDB truncates timestamps without a zone ten times as fast.
    """
    casts = []
    for name, type in zip(relation.columns, relation.types, strict=True):
        if name in enumerations:
            casts.append(f"{name}::{enumerations[name]} AS {name}")
        elif type.id == "timestamp with time zone":
            casts.append(f'make_timestamp(epoch_us("{name}")) AS "{name}"')
    return f"* REPLACE ({', '.join(casts)})" if casts else "*"


def _enumerations(table: str) -> Mapping[str, str]:
    """Returns the types of the columns of a table that are closed sets, in the order of texts."""
    enums = {
        type: f"ENUM({', '.join(map(plain.literal, sorted(values)))})"
        for type, values in described()["enums"].items()
    }
    types = {name: member["type"] for name, member in members(table).items()}
    return {name: enums[type] for name, type in types.items() if type in enums}
