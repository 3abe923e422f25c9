"""Read-only SQL over the records of a service, run by DuckDB."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import polars

from comptroller import _core, arguments
from comptroller.analysis import plain
from comptroller.analysis.formatting import csv_lines
from comptroller.analysis.memory import memory_limit
from comptroller.analysis.registry import ALL_ROWS, TABLES
from comptroller.analysis.table import Table, copy_table
from comptroller.bulk.cell_texts import text_of
from comptroller.bulk.frames import as_arrow, frame_of
from comptroller.bulk.mapping import ColumnMapping
from comptroller.bulk.parquet import quote_name
from comptroller.bulk.streams import ArrowStream, Worker, interruptible, run_interruptibly
from comptroller.errors import Forbidden, InvalidRequest, Unavailable, invalid, unavailable

if TYPE_CHECKING:
    from comptroller._core import TextPiece
    from comptroller.bulk.sources import LoadSource
    from comptroller.service import Service

# DuckDB reports PIVOT as several statements.
_QUERIES = ("SELECT", "MULTI")
_KEYWORDS = ("SELECT", "WITH", "FROM", "VALUES", "DESCRIBE", "SUMMARIZE", "PIVOT")
_BATCH_ROWS = 2_048
_AS_THEY_ARE = ColumnMapping()
# DuckDB's exceptions by the beginning of their text.
_EXCEPTIONS = {
    "Invalid Input Error": duckdb.InvalidInputException,
    "IO Error": duckdb.IOException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
}


class ResultColumn(NamedTuple):
    """A column of the result of a query: its name, its type, and SQL that refers to it."""

    name: str
    type: Any
    value: str

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers."""
        return plain.is_number(self.type)


class Query:
    """A prepared query, which can run several times; also an Arrow stream of its rows."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, sql: str, kind: str) -> None:
        self._connection = connection
        self._sql = sql
        #: The error that prevented an Arrow stream; readers of the stream do not get it.
        self.refusal: InvalidRequest | None = None
        # For several statements, DuckDB would compute all rows here.
        described = f"FROM ({sql}\n) AS answer LIMIT 0" if kind == "MULTI" else sql
        answer = run_interruptibly(lambda: connection.sql(described), self.interrupt)
        columns = zip(answer.columns, answer.types, strict=True)
        self.columns = [
            ResultColumn(str(name), type, f"#{place}")
            for place, (name, type) in enumerate(columns, start=1)
        ]

    def rows(self) -> Iterator[list[tuple[str | None, ...]]]:
        """Yields the rows as text, in batches; NULL is None, nested values are JSON."""
        return self._fetch(", ".join(plain.text(each.value, each.type) for each in self.columns))

    def text(self, *, is_json: bool) -> Iterator[tuple[int, bytes | TextPiece]]:
        """Yields the parts of a JSON or CSV file: the number of rows in the part, and its bytes.

        An apostrophe precedes text that a spreadsheet could run as a formula.

        Raises InvalidRequest if two columns of JSON have the same name.
        """
        names = [column.name for column in self.columns]
        if is_json:
            self._refuse_equal_names()
        header = b"[" if is_json else csv_lines([names], [True] * len(names)).encode()
        before = header
        for part in self._core_text(is_json):
            yield 0, before
            yield part
            before = b"," if is_json else b""
        yield 0, (header if before is header else b"") + (b"\n]\n" if is_json else b"")

    def _core_text(self, is_json: bool) -> Iterator[tuple[int, bytes | TextPiece]]:
        format_in_sql = plain.document if is_json else plain.text
        values = []
        columns = []
        for name, type, value in self.columns:
            expression = plain.core_expression(value, type)
            columns.append((name, plain.may_hold_a_formula(type), expression is None))
            values.append(f"{expression or format_in_sql(value, type)} AS c{len(columns)}")
        query = self._selecting(", ".join(values))
        with _refusing(), Worker(self.interrupt) as worker:
            stream = worker.run(lambda: self._connection.sql(query).__arrow_c_stream__())
            rows = worker.run(lambda: _core.TextRows(stream, columns, is_json))
            try:
                while piece := worker.run(rows.next):
                    yield piece.rows, piece
            except Unavailable as error:  # the stream has the exception of DuckDB only as text
                kind, *_ = error.detail.partition(":")
                raise _EXCEPTIONS.get(kind, duckdb.Error)(error.detail) from None

    def table(self) -> Table:
        """Runs the query; returns all rows. Intervals are durations, which have no months.

        Raises InvalidRequest if two columns have the same name.
        """
        with _refusing():
            return Table(run_interruptibly(self._frame, self.interrupt))

    def _refuse_equal_names(self) -> None:
        names = Counter(column.name for column in self.columns)
        name, count = names.most_common(1)[0]
        if count > 1:
            raise invalid(
                "sql", f"{count} columns have the name {name}; rename all but one with AS"
            )

    def _frame(self) -> polars.DataFrame:
        self._refuse_equal_names()
        if not any(
            plain.lacks_in_polars(each.type)
            or plain.has_wide_integers(each.type)
            or plain.has_seconds(each.type)
            for each in self.columns
        ):
            return polars.DataFrame(self)
        values = []
        for name, type, value in self.columns:
            if type.id == "interval":
                value = plain.duration(value, name)
            elif plain.lacks_in_polars(type):
                value = plain.text(value, type)
            elif plain.has_wide_integers(type):
                value = plain.narrow_integers(value, type, name)
            elif plain.has_seconds(type):
                value = plain.with_microseconds(value, type)
            values.append(f"{value} AS {quote_name(name)}")
        frame = polars.DataFrame(self._connection.sql(self._selecting(", ".join(values))))
        spans = [n for n, each in enumerate(self.columns) if each.type.id == "interval"]
        return frame.with_columns(polars.nth(spans).cast(polars.Duration("us")))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        try:
            with _refusing():
                return self._connection.sql(self._sql).__arrow_c_stream__(requested_schema)
        except InvalidRequest as error:
            self.refusal = error
            raise

    def _fetch(self, selected: str) -> Iterator[list[tuple[Any, ...]]]:
        with _refusing(), Worker(self.interrupt) as worker:
            worker.run(lambda: self._connection.execute(self._selecting(selected)))
            while batch := worker.run(lambda: self._connection.fetchmany(_BATCH_ROWS)):
                yield batch

    def _selecting(self, selected: str) -> str:
        return f"SELECT {selected} FROM ({self._sql}\n) AS answer"

    def interrupt(self) -> None:
        """Interrupts a run in another thread."""
        self._connection.interrupt()


@contextmanager
def open_query(
    svc: Service,
    sql: str,
    tables: Mapping[str, LoadSource] | None = None,
    options: ColumnMapping = _AS_THEY_ARE,
) -> Iterator[Query]:
    """Yields a query over the tables of a service, valid until the end of the scope.

    Enumerations are text, times are in UTC. The query cannot access files, the network or Python
    variables.

    Args:
        svc: the service.
        sql: the query.
        tables: tables of the caller by name, copied before the query runs: anything that `load`
            reads. The columns of CSV and Excel files have the exact type of all of their values.
        options: the sheet, the separator and the decimal separator of files.

    Raises:
        InvalidRequest: the text is not exactly one query, or DuckDB rejects it; or a table of the
            caller has the name of a table of the service, or cannot be read.
        Forbidden: the caller may not read a table that the query uses.
        Unavailable: the query runs out of memory, or the service cannot be read.
    """
    frames = _frames(tables or {}, options)
    empty = cache(partial(_core.Store, ":memory:"))
    service_tables = [_ServiceTable(svc, name, empty) for name in TABLES]
    with (
        duckdb.connect(
            config={"python_enable_replacements": "false", **memory_limit()}
        ) as connection,
        _refusing(sql),
    ):
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET GLOBAL arrow_large_buffer_size = true")  # what _core.TextRows reads
        for table in service_tables:
            connection.from_arrow(table).create_view(table.name)
            table.is_used = False  # until the query reads it
        for name, (frame, lines_before) in frames.items():
            copy_table(connection, name, frame, options.decimal if lines_before else None)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        sql = arguments.text("sql", sql)
        kinds = [each.type.name for each in connection.extract_statements(sql)]
        if len(kinds) != 1 or kinds[0] not in _QUERIES:
            raise invalid("sql", f"must be one query: {', '.join(_KEYWORDS)}")
        yield _prepare(connection, _without_semicolon(sql), kinds[0], service_tables)


class _ServiceTable:
    """A table of a service, which is copied or refused only if a query uses it.

    DuckDB asks for the schema of each table that a query uses, when it binds the query. Until
    `read` such a table has no rows.

    Attributes:
        is_used: whether the schema was asked for.
        is_read: whether it has its rows.
    """

    def __init__(self, svc: Service, name: str, empty: Callable[[], _core.Store]) -> None:
        self.name = name
        self.is_used = False
        filters = ALL_ROWS.get(name, {})
        self._stream = partial(getattr(svc, name).stream, **filters)
        rows: ArrowStream | None = None
        if not svc.host.is_remote:
            with suppress(Forbidden):
                rows = self._stream()
        self.is_read = rows is not None
        if rows is None:
            # Of the operator: whether a remote client is the operator takes a request to find out.
            given = arguments.query(filters)
            rows = empty().stream(_core.Principal(), name.replace("_", "-"), None, given)
        self._rows = rows

    def read(self) -> None:
        """Reads the table. Raises Forbidden."""
        self._rows = self._stream()
        self.is_read = True

    def __arrow_c_schema__(self) -> object:
        self.is_used = True
        return self._rows.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


def _prepare(
    connection: duckdb.DuckDBPyConnection, sql: str, kind: str, tables: list[_ServiceTable]
) -> Query:
    """Returns a query after reading the tables that it uses.

    The columns of a query may depend on the rows of a table, as those of PIVOT do. Such a query
    may fail, or use other tables, until the table was read. The tables of any query that fails are
    read: a client that may not read one gets Forbidden instead of the error of DuckDB. So a remote
    query with a misspelled column copies its tables before it fails.
    """
    while True:
        try:
            query = Query(connection, sql, kind)
        except duckdb.Error:
            if not _read_used(tables):
                raise
        else:
            if not _read_used(tables):
                return query


def _read_used(tables: list[_ServiceTable]) -> bool:
    """Reads the tables that are used and were not read; returns whether there are any."""
    found = [each for each in tables if each.is_used and not each.is_read]
    for each in found:
        each.read()
    return found != []


def _without_semicolon(sql: str) -> str:
    """Removes the semicolon of a statement and the text after it."""
    text = sql.encode()
    ends = [place for place, _ in duckdb.tokenize(sql) if text[place : place + 1] == b";"]
    return text[: min(ends, default=None)].decode()


def _frames(
    tables: Mapping[str, LoadSource], options: ColumnMapping
) -> dict[str, tuple[polars.DataFrame, int]]:
    """Reads the tables of the caller. Raises InvalidRequest, which names the table."""
    frames: dict[str, tuple[polars.DataFrame, int]] = {}
    for name, source in tables.items():
        if name.lower() in TABLES:
            raise invalid(name, "the service has a table of this name; choose another")
        if name.lower() in (each.lower() for each in frames):
            raise invalid(name, "another table has this name; choose another")
        try:
            frame, lines_before = frame_of(source, options)
            if lines_before and options.decimal == ",":
                frame = _with_commas(frame)
            frames[name] = as_arrow(frame), lines_before
        except InvalidRequest as error:
            raise invalid(name, error.errors[0][1] if error.errors else error.detail) from error
        if not frames[name][0].width:
            raise invalid(name, "the table has no columns")
    return frames


def _with_commas(frame: polars.DataFrame) -> polars.DataFrame:
    """Writes the numbers among texts of a sheet as these are written, with a decimal comma."""

    def written(value: object) -> object:
        return text_of(value).replace(".", ",") if isinstance(value, float) else value

    return frame.with_columns(
        polars.Series(column.name, list(map(written, column.to_list())), polars.Object)
        for column in frame
        if column.dtype == polars.Object
    )


_RESERVED = re.compile(r"""(?<!["'\w])(at|group)(?!\w|["']|\s+by\b)""", re.IGNORECASE)


def _hint(sql: object) -> str:
    """Returns how to write a column whose name is reserved, if the text has one."""
    found = _RESERVED.search(sql) if isinstance(sql, str) else None
    if found is None:
        return ""
    return f'\n{found[0]} is a reserved word; write the column as "{found[0]}", in double quotes'


@contextmanager
def _refusing(sql: object = None) -> Iterator[None]:
    try:
        with interruptible(duckdb):
            yield
    except duckdb.OperationalError as error:
        raise unavailable(f"the query failed: {error}") from error
    except duckdb.ParserException as error:
        raise invalid("sql", f"{error}{_hint(sql)}") from error
    except duckdb.Error as error:
        raise invalid("sql", str(error)) from error
