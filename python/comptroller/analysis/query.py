"""SQL over what a service holds, through DuckDB: it reads the tables, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb

from comptroller.analysis.engines.relations import columns
from comptroller.errors import invalid, unavailable
from comptroller.streams import Stream, awaited, interruptible

if TYPE_CHECKING:
    from comptroller.service import Service

#: The tables there are, each with the filters of its stream.
TABLES: Mapping[str, Mapping[str, Any]] = {
    "identities": {},
    "controls": {"include_deleted": True},
    "orchestrations": {},
    "payout_groups": {},
    "reward_addresses": {},
    "balances": {},
    "claims": {},
}
# PIVOT is several statements to DuckDB.
_QUERIES = ("SELECT", "MULTI")
_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "DESCRIBE", "SUMMARIZE", "PIVOT")
_ROWS_AT_A_TIME = 2_048


class Query:
    """A query that is ready to be run; each run begins anew. An Arrow stream of its rows."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, sql: str) -> None:
        self._connection = connection
        self._sql = sql

    def rows(self) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """The names of the columns, and the rows: amounts as Decimal, times as aware datetimes."""
        with _refusing():
            answer = awaited(lambda: self._connection.execute(self._sql), self.interrupt)
            names = [str(column[0]) for column in answer.description or ()]
        return names, self._fetched()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        with _refusing():
            return self._connection.sql(self._sql).__arrow_c_stream__(requested_schema)

    def _fetched(self) -> Iterator[tuple[Any, ...]]:
        with _refusing():
            more = partial(self._connection.fetchmany, _ROWS_AT_A_TIME)
            while some := awaited(more, self.interrupt):
                yield from some

    def interrupt(self) -> None:
        """Ends what another thread runs here."""
        self._connection.interrupt()


@contextmanager
def open_query(svc: Service, sql: str) -> Iterator[Query]:
    """One query over the tables of a service, good until the end of the scope.

    Closed sets are text, times are in UTC. Neither files nor the network nor Python's own names are
    within its reach.

    Raises:
        InvalidRequest: what is no query, or more than one, or one that DuckDB refuses.
        Unavailable: it does not fit into memory, or the service cannot be read.
    """
    with duckdb.connect(config={"python_enable_replacements": "false"}) as connection, _refusing():
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        for name, filters in TABLES.items():
            _register(connection, name, getattr(svc, name).stream(**filters))
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        kinds = [each.type.name for each in connection.extract_statements(sql)]
        if len(kinds) != 1 or kinds[0] not in _QUERIES:
            raise invalid("sql", f"must be one query: {', '.join(_WORDS)}")
        yield Query(connection, sql)


def _register(connection: duckdb.DuckDBPyConnection, name: str, stream: Stream) -> None:
    source = f"stream_of_{name}"
    connection.register(source, stream)
    told = columns(connection.table(source))
    connection.execute(f"CREATE VIEW {name} AS SELECT {told} FROM {source}")


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        with interruptible(duckdb):
            yield
    except duckdb.OperationalError as error:
        raise unavailable(f"the query cannot be answered: {error}") from error
    except duckdb.Error as error:
        raise invalid("sql", str(error)) from error
