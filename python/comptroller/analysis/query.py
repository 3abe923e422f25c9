"""SQL over what a service holds, through DuckDB: it reads the tables, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

from comptroller import arguments
from comptroller.analysis import plain
from comptroller.analysis.engines.duckdb import columns
from comptroller.errors import InvalidRequest, invalid, unavailable
from comptroller.streams import awaited, interruptible

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


class Column(NamedTuple):
    """A column of a query's rows."""

    name: str
    is_number: bool


class Query:
    """A query that is ready to be run; each run begins anew. An Arrow stream of its rows."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, sql: str, kind: str) -> None:
        self._connection = connection
        self._sql = sql
        #: Why its Arrow stream could not begin, which who reads one is not told.
        self.refusal: InvalidRequest | None = None
        # Of several statements a relation would have the rows at once.
        asked = f"FROM ({sql}\n) AS answer LIMIT 0" if kind == "MULTI" else sql
        answer = awaited(lambda: connection.sql(asked), self.interrupt)
        self._types = answer.types
        self.columns = [
            Column(str(name), plain.is_number(type))
            for name, type in zip(answer.columns, self._types, strict=True)
        ]

    def rows(self, risky: str | None = None) -> Iterator[list[tuple[str | None, ...]]]:
        """The rows as text, some at a time; None where there is no value, JSON of what is nested.

        Text in which the pattern `risky` is found has an apostrophe before it.
        """
        texts = [plain.text(f"#{place}", type) for place, type in enumerate(self._types, start=1)]
        if risky is not None:
            texts = [
                plain.defused(text, risky) if plain.is_free(type) else text
                for type, text in zip(self._types, texts, strict=True)
            ]
        return self._fetched(", ".join(texts))

    def documents(self) -> Iterator[list[str]]:
        """The rows as JSON objects, some at a time.

        Raises InvalidRequest where two columns have one name.
        """
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            raise invalid("sql", "two columns have one name, which JSON cannot tell apart; use AS")
        members = (
            f"{plain.literal(name)}, {plain.plain(f'#{place}', type)}"
            for place, (name, type) in enumerate(zip(names, self._types, strict=True), start=1)
        )
        for rows in self._fetched(f"json_object({', '.join(members)})::VARCHAR"):
            yield [document for (document,) in rows]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        try:
            with _refusing():
                return self._connection.sql(self._sql).__arrow_c_stream__(requested_schema)
        except InvalidRequest as error:
            self.refusal = error
            raise

    def _fetched(self, selected: str) -> Iterator[list[tuple[Any, ...]]]:
        query = f"SELECT {selected} FROM ({self._sql}\n) AS answer"
        more = partial(self._connection.fetchmany, _ROWS_AT_A_TIME)
        with _refusing():
            awaited(lambda: self._connection.execute(query), self.interrupt)
            while some := awaited(more, self.interrupt):
                yield some

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
            rows = connection.from_arrow(getattr(svc, name).stream(**filters))
            rows.project(columns(rows)).create_view(name)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        sql = arguments.text("sql", sql)
        kinds = [each.type.name for each in connection.extract_statements(sql)]
        if len(kinds) != 1 or kinds[0] not in _QUERIES:
            raise invalid("sql", f"must be one query: {', '.join(_WORDS)}")
        yield Query(connection, _unended(sql), kinds[0])


def _unended(sql: str) -> str:
    """One statement without the semicolon at its end and what is behind that."""
    text = sql.encode()
    ends = [place for place, _ in duckdb.tokenize(sql) if text[place : place + 1] == b";"]
    return text[: min(ends, default=None)].decode()


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        with interruptible(duckdb):
            yield
    except duckdb.OperationalError as error:
        raise unavailable(f"the query cannot be answered: {error}") from error
    except duckdb.Error as error:
        raise invalid("sql", str(error)) from error
