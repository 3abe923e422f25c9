"""The engine PostgreSQL: reports that run in the database of a service, on its own tables.

The tables of a statement become SELECTs of the stored columns with SQL types, which the core
writes. `_translate` turns the rest into SQL of PostgreSQL with the results of DuckDB: the same
order of texts (by their bytes) and of nulls, divisions of floats, the same limit of sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import polars
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.postgres import Postgres
from sqlglot.optimizer.scope import traverse_scope

from comptroller._core import postgresql_select
from comptroller.analysis.assemble import STORE, Statement, with_values
from comptroller.analysis.folding import fold_address, fold_hash
from comptroller.bulk.streams import Rows
from comptroller.errors import Error, require, unavailable, unusable

if TYPE_CHECKING:
    from comptroller.analysis.tables import Tables
    from comptroller.postgresql import Database

require("psycopg", "the engine postgresql", "postgres")
import psycopg  # noqa: E402
from psycopg.adapt import Buffer, Loader  # noqa: E402
from psycopg.conninfo import conninfo_to_dict  # noqa: E402
from psycopg.pq import Format  # noqa: E402

#: The oldest version whose `extract` is exact.
_OLDEST = 140_000

# The planner has no statistics of computed columns, such as the texts of codes. A nested loop that
# it takes for short could visit all pairs of rows, and it would seldom choose parallel workers.
_SETTINGS = """
SET LOCAL TimeZone = 'UTC';
SET LOCAL enable_nestloop = off;
SET LOCAL jit = off;
SET LOCAL parallel_tuple_cost = 0.001;
SET LOCAL parallel_setup_cost = 100;
SELECT set_config('work_mem', '64MB', true)
WHERE pg_size_bytes(current_setting('work_mem')) < 64 * 1024 * 1024
"""
_SCHEMA = """
SELECT quote_ident(nspname) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE pg_class.oid = to_regclass('claims')
"""


class PostgreSQL:
    """Runs reports in the database of a service, all in one transaction that reads one snapshot.

    Args:
        database: the database.
        streamed: returns tables in DuckDB, for statements that the database cannot run: on a server
            older than 14, with a time zone that the server does not know or takes for an
            abbreviation, or with a text that PostgreSQL refuses.
    """

    def __init__(self, database: Database, streamed: Callable[[], Tables]) -> None:
        self._database = database
        self._streamed = cache(streamed)
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._schema = STORE
        self._not_inside: set[Statement] = set()

    def read(self, table: str, stream: Rows) -> None:
        """Reads nothing: the tables are in the database."""

    def scan(self, table: str, path: str) -> None:
        """Refuses a file, which is not in the database."""
        raise NotImplementedError("the engine postgresql reads no files")

    def run(self, statement: Statement, values: Mapping[str, Any]) -> polars.DataFrame:
        """Runs a statement; returns its rows."""
        with _failing():
            connection = self._connected()
            zone = values.get("tz") if "tz" in statement.parameters else None
            if connection.info.server_version >= _OLDEST and not _is_abbreviation(connection, zone):
                query = _query(statement, self._schema)
                try:
                    return _run(connection, query, values)
                except psycopg.errors.NumericValueOutOfRange as error:
                    raise OverflowError(_message(error)) from error
                except (psycopg.errors.InvalidParameterValue, _Unstorable):
                    pass
        self._not_inside.add(statement)
        tables = self._streamed()
        tables.prepare(statement.reads, {})
        return tables.engine.run(statement, values)

    def sql(self, statement: Statement, values: Mapping[str, Any]) -> str:
        """Returns the SQL of a statement with its values, which psql can run."""
        if statement in self._not_inside:
            return statement.with_values(values).sql(DuckDB, pretty=True)
        tree = with_values(_translate(statement, self._schema), values)
        return tree.sql(Postgres, pretty=True, identify=True)

    def close(self) -> None:
        """Ends the transaction and the connection."""
        if self._connection is not None:
            self._connection.close()
        if self._not_inside:
            self._streamed().engine.close()

    def _connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is None:
            connection = self._connection = _connect(self._database)
            with connection.cursor() as cursor:
                cursor.execute(_SETTINGS)
                found = cursor.execute(_SCHEMA).fetchone()
            if found is None:
                raise unusable("the database has no table of claims")
            (self._schema,) = found
        return self._connection


def _connect(database: Database) -> psycopg.Connection[tuple[Any, ...]]:
    """Connects as the core does; the address overrides the parameters before it."""
    parameters: dict[str, Any] = {
        "fallback_application_name": "comptroller",
        # The server with the newest writes.
        "target_session_attrs": "any" if database.is_read_only else "read-write",
        "keepalives_idle": 30,
        "tcp_user_timeout": 30_000,
        "connect_timeout": 10,
        **conninfo_to_dict(database.address.full),
        "client_encoding": "UTF8",
    }
    connection = psycopg.connect(**parameters)
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    connection.adapters.register_loader("timestamptz", _Microseconds)
    connection.adapters.register_loader("date", _Days)
    return connection


def _is_abbreviation(connection: psycopg.Connection[tuple[Any, ...]], zone: str | None) -> bool:
    """Whether PostgreSQL reads a name such as CET as an offset, which has no summer time."""
    if zone is None or "/" in zone:
        return False
    query = "SELECT true FROM pg_timezone_abbrevs WHERE abbrev = upper(%s) LIMIT 1"
    return connection.execute(query, [zone]).fetchone() is not None


class _Unstorable(Exception):
    """A text of the caller that no text of the database equals, and PostgreSQL refuses."""


def _run(
    connection: psycopg.Connection[tuple[Any, ...]], query: _Query, values: Mapping[str, Any]
) -> polars.DataFrame:
    bound = [values[name] for name in query.parameters]
    if any("\0" in text for value in bound for text in _texts(value)):
        raise _Unstorable
    # A savepoint, because the transaction goes on after a sum that does not fit.
    with connection.transaction(), psycopg.RawCursor(connection) as cursor:
        rows = cursor.execute(query.sql, bound, binary=True).fetchall()
    stored = {name: _STORED.get(type, type) for name, type in query.columns.items()}
    return polars.DataFrame(rows, schema=stored, orient="row").cast(polars.Schema(query.columns))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from value


@contextmanager
def _failing() -> Iterator[None]:
    """Raises Unavailable if the database does not answer, and Unusable for a damaged store."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise unavailable(f"the report failed in the database: {_message(error)}") from error
    except psycopg.DataError as error:
        raise _damaged(error) from error
    except psycopg.Error as error:
        raise unusable(f"the report failed in the database: {_message(error)}") from error


def _damaged(error: psycopg.Error) -> Error:
    return unusable(f"the store is damaged: {_message(error)}")


def _message(error: psycopg.Error) -> str:
    """Returns the message of an error in one line."""
    return error.diag.message_primary or " ".join(str(error).split())


# Times and dates beyond the year 9999, which Python lacks, are results too.
class _Microseconds(Loader):
    """Loads a time as its microseconds since 1970."""

    format = Format.BINARY
    _unpack = Struct("!q").unpack

    def load(self, data: Buffer) -> int:
        since_2000: int = self._unpack(data)[0]
        return since_2000 + 946_684_800_000_000


class _Days(Loader):
    """Loads a date as its days since 1970."""

    format = Format.BINARY
    _unpack = Struct("!i").unpack

    def load(self, data: Buffer) -> int:
        since_2000: int = self._unpack(data)[0]
        return since_2000 + 10_957


#: The type of a column by its SQL type; others are texts.
_COLUMNS: dict[exp.DType, polars.DataType] = {
    exp.DType.BIGINT: polars.Int64(),
    exp.DType.DECIMAL: polars.Decimal(38, 18),
    exp.DType.DOUBLE: polars.Float64(),
    exp.DType.BOOLEAN: polars.Boolean(),
    exp.DType.TIMESTAMPTZ: polars.Datetime("us", "UTC"),
    exp.DType.DATE: polars.Date(),
}
_STORED: dict[polars.DataType, polars.DataType] = {
    polars.Datetime("us", "UTC"): polars.Int64(),
    polars.Date(): polars.Int32(),
}


class _Query(NamedTuple):
    """SQL with parameters $1, $2, ...; their names in order, and the columns of the rows."""

    sql: str
    parameters: Sequence[str]
    columns: Mapping[str, polars.DataType]


@lru_cache(maxsize=256)
def _query(statement: Statement, schema: str) -> _Query:
    tree = _translate(statement, schema)
    columns = {each.alias_or_name: _type(each.unalias()) for each in statement.tree.selects}
    parameters: dict[str, int] = {}
    for place in list(tree.find_all(exp.Placeholder)):
        number = parameters.setdefault(place.name, len(parameters) + 1)
        place.replace(exp.Parameter(this=exp.Literal.number(number)))
    return _Query(tree.sql(Postgres, identify=True), list(parameters), columns)


def _type(column: exp.Expr) -> polars.DataType:
    """Returns the type of a column of the result, which is a cast unless it is a text."""
    type = column.to.this if isinstance(column, exp.Cast) else exp.DType.TEXT
    return _COLUMNS.get(type, polars.String())


#: The functions of statements whose SQL differs from that for DuckDB.
_FUNCTIONS = {
    # Regular expressions take most of the time; few spellings have an upper-case letter.
    name: f"CASE WHEN lower({{x}}) = {{x}} THEN {{x}} ELSE {folded} END"
    for name, folded in (
        ("fold_address", fold_address("{x}").replace("{40}", "{{40}}")),
        ("fold_hash", fold_hash("{x}").replace("{64}", "{{64}}")),
    )
}
# A sum has any number of digits in PostgreSQL, so each is cast: one that does not fit fails.
_NARROW = {
    **_FUNCTIONS,
    "total": "sum({x})::DECIMAL(38, 18)",
    "approximate_total": "sum({x})::DECIMAL(38, 18)",
}
_WIDE = {
    **_FUNCTIONS,
    "total": """
        CASE
          WHEN count({x}) = count(*) AND abs(sum({x})) < 100000000000000000000
          THEN sum({x})::DECIMAL(38, 18)
        END
    """,
}
_MICROSECONDS = 1_000_000


def _translate(statement: Statement, schema: str) -> exp.Query:
    """Returns a statement as a tree for PostgreSQL, whose tables are in a schema."""
    tree = statement.tree_with(_WIDE if statement.is_wide else _NARROW)
    for node in reversed(list(tree.find_all(*_TRANSLATIONS))):  # the innermost first
        _TRANSLATIONS[type(node)](node)
    for scope in traverse_scope(tree):
        for name, source in scope.sources.items():
            if isinstance(source, exp.Table) and source.db == STORE:
                columns = sorted({column.name for column in scope.source_columns(name)})
                select = exp.Var(this=postgresql_select(source.name, columns, schema))
                source.replace(exp.Subquery(this=select, alias=source.args["alias"]))
    return tree


def _translate_quotient(quotient: exp.Expr) -> None:
    """Makes a division one of floats, as in DuckDB; PostgreSQL divides integers as integers."""
    for side in ("this", "expression"):
        quotient.set(side, exp.cast(quotient.args[side], "DOUBLE"))
    quotient.set("typed", True)  # sqlglot need not cast them again


def _translate_literal(literal: exp.Expr) -> None:
    """Makes a number such as 1e6 a float, as in DuckDB."""
    if not literal.is_string and "e" in literal.name.lower():
        literal.replace(exp.cast(literal.copy(), "DOUBLE"))


def _translate_comparison(comparison: exp.Expr) -> None:
    """Compares nulls as equal by arrays, which PostgreSQL can hash."""
    if isinstance(comparison.find_ancestor(exp.Join, exp.Select), exp.Join):
        one, other = (
            exp.Array(expressions=[comparison.args[each]]) for each in ("this", "expression")
        )
        comparison.replace(exp.EQ(this=one, expression=other))


def _translate_difference(difference: exp.Expr) -> None:
    """Counts the boundaries of a unit between two times."""
    end, start = difference.this, difference.expression
    unit = difference.args["unit"].name.lower()
    if unit == "microsecond":
        elapsed = exp.Sub(this=_grouped(end), expression=_grouped(start))
        seconds = exp.Extract(this=exp.var("epoch"), expression=elapsed)
        count: exp.Expr = exp.Mul(this=seconds, expression=exp.Literal.number(_MICROSECONDS))
    elif unit == "day":
        count = exp.Sub(this=exp.cast(end, "DATE"), expression=exp.cast(start, "DATE"))
    elif unit == "month":
        count = exp.Sub(this=_months(end), expression=_months(start))
    else:
        raise NotImplementedError(f"a difference in {unit}")
    difference.replace(exp.cast(count, "BIGINT"))


def _months(time: exp.Expr) -> exp.Expr:
    years, months = (
        exp.Extract(this=exp.var(part), expression=time.copy()) for part in ("year", "month")
    )
    in_years = exp.Mul(this=years, expression=exp.Literal.number(12))
    return exp.paren(exp.Add(this=in_years, expression=months), copy=False)


def _translate_rows(rows: exp.Expr) -> None:
    """A series is a set of rows in PostgreSQL, not a list."""
    if isinstance(rows.this, exp.GenerateSeries):
        rows.replace(rows.this)


def _translate_membership(membership: exp.Expr) -> None:
    """Compares with the elements of a parameter as a constant."""
    query = membership.args.get("query")
    if query is not None and isinstance(listed := query.this.selects[0].unalias(), exp.Explode):
        member = exp.Any(this=exp.paren(listed.this, copy=False))
        membership.replace(exp.EQ(this=membership.this, expression=member))


def _translate_element(element: exp.Expr) -> None:
    if not isinstance(element.this, exp.Column):
        element.set("this", exp.paren(element.this, copy=False))
    element.this.type = exp.DType.ARRAY  # else sqlglot keeps the number, which begins with 0


def _translate_logarithm(logarithm: exp.Expr) -> None:
    logarithm.replace(_call("log10", exp.cast(logarithm.expression, "DOUBLE")))


def _call(function: str, argument: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=[argument.copy()])


def _grouped(operand: exp.Expr) -> exp.Expr:
    is_simple = isinstance(operand, (exp.Column, exp.Paren, exp.Func))
    return operand.copy() if is_simple else exp.paren(operand)


_TRANSLATIONS: Mapping[type[exp.Expr], Callable[[exp.Expr], None]] = {
    exp.Div: _translate_quotient,
    exp.Literal: _translate_literal,
    exp.NullSafeEQ: _translate_comparison,
    exp.DateDiff: _translate_difference,
    exp.Explode: _translate_rows,
    exp.In: _translate_membership,
    exp.Bracket: _translate_element,
    exp.Log: _translate_logarithm,
}
