"""Execution of reports over the tables of a source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC
from functools import partial
from threading import Lock
from typing import Any

import polars

from comptroller.analysis import engines, parameters
from comptroller.analysis.assemble import Statement, assemble
from comptroller.analysis.changes import Changes
from comptroller.analysis.engines import Engine
from comptroller.analysis.overview import EVERY, PARTS, Overview, Part, overview
from comptroller.analysis.parameters import COMMON_PARAMETERS, FILTERS, UNBOUNDED
from comptroller.analysis.past import Past
from comptroller.analysis.registry import PERIODS, Definition
from comptroller.analysis.report import Report
from comptroller.analysis.tables import (
    Exports,
    Reads,
    ServiceTables,
    Tables,
    TablesInPlace,
)
from comptroller.arguments import refuse_unknown
from comptroller.display.progress import busy
from comptroller.errors import Error, Forbidden, InvalidRequest, error_for, invalid, unsupported


class ReportRequest:
    """A request for a report, validated and assembled. Raises InvalidRequest."""

    def __init__(self, definition: Definition, given: Mapping[str, Any], tables: Tables) -> None:
        self.definition = definition
        #: The group of which the report is, if its name was given instead of an id.
        self.named_group: str | None = None
        takes = definition.takes
        self.given = {name: given.get(name, each.default) for name, each in takes.items()}
        for name in FILTERS:
            if isinstance(self.given[name], Iterable) and not isinstance(self.given[name], str):
                self.given[name] = tuple(self.given[name])
        self.identity = (definition.name, *self.given.items())
        self._values = parameters.values(takes, self.given, tables.find_groups)
        self._by: tuple[str, ...] = self._values.get("by", ())
        periods = [key for key in self._by if key in PERIODS]
        if len(periods) > 1 and definition.has_one_period:
            raise invalid("by", "several periods; at most one is accepted")
        absent = frozenset(name for name, value in self._values.items() if value is None)
        keys = definition.all_keys(self._by, self._values)
        self._assembled = partial(assemble, definition.name, keys, absent)
        self._statement = self._assembled()
        self._drawing = self._default = None
        if definition.drawing_sql is not None and not periods:
            self._drawing = assemble(definition.drawing_sql, self._by, absent)
        if definition.default_sql is not None:
            self._default = assemble(definition.default_sql, (), absent)
        statements = [each for each in (self._statement, self._drawing, self._default) if each]
        #: The columns that the report reads from each table.
        self.reads = _merge(each.reads for each in statements)
        needed = {table for each in statements for table in each.reads.keys() - each.names}
        #: The tables that it reads only for names, which may be empty.
        self.names = frozenset(self.reads) - needed

    def _filters(self) -> dict[str, Any]:
        """Returns filters of the claims that select at least the rows of the statement.

        A history has none, because its bounds apply to events after the creation of a claim.
        """
        if self.definition.is_empty_if_forbidden:
            return {}
        bounds = {"start_time": self._values["since"], "end_time": self._values["until"]}
        filters = {name: time.replace(tzinfo=UTC) for name, time in bounds.items() if time}
        if self.definition.subject == "group":
            (filters["payout_group_id"],) = self._values["group"]
        return filters

    def answer(self, tables: Tables) -> Report:
        """Runs the report. Raises NotFound if the report has a subject that does not exist."""
        definition, engine = self.definition, tables.engine
        tables.prepare(
            self.reads,
            self._filters(),
            self.names,
            is_empty_if_forbidden=definition.is_empty_if_forbidden,
        )
        statement = self._statement
        has_unknown_sums = False
        try:
            rows = self._rows(engine, statement)
        except OverflowError:
            statement = self._assembled(is_wide=True)
            rows = self._rows(engine, statement)
            amounts = (name for name, each in definition.columns.items() if each.unit == "amount")
            has_unknown_sums = any(rows[name].null_count() for name in amounts)
        if definition.has_changes:
            rows = self._with_changes(rows, tables)
        if not len(rows) and definition.subject is not None:
            unbounded = (*UNBOUNDED, "as_of_recorded")
            whole = {
                name: None if name in unbounded and name != definition.subject else value
                for name, value in self.given.items()
            }
            if whole == self.given:
                self.named_group = self._find_named(tables)
                if self.named_group is None:
                    named = self.given[definition.subject]
                    raise parameters.unknown_subject(definition.subject, named)
            else:
                # The subject exists if it has rows without bounds and filters.
                unbounded_request = ReportRequest(definition, whole, tables)
                unbounded_request.answer(tables)
                self.named_group = unbounded_request.named_group
            if self.named_group is not None:
                of_group = {**self.given, "id": self.named_group}
                report = ReportRequest(definition, of_group, tables).answer(tables)
                report.given = self.given
                return report
        return Report(
            definition,
            self._by if definition.by is not None else definition.keys,
            rows,
            self.given,
            self._rows(engine, self._drawing) if self._drawing else None,
            has_unknown_sums,
            self._rows(engine, self._default).row(0, named=True) if self._default else {},
            partial(engine.sql, statement, self._values),
        )

    def _find_named(self, tables: Tables) -> str | None:
        """Returns the id of the payout group whose name was given as the id of any record."""
        if self.definition.subject != "id":
            return None
        try:
            return parameters.named_group("id", self._values["id"], tables.find_groups)
        except Forbidden:
            return None

    def _with_changes(self, rows: polars.DataFrame, tables: Tables) -> polars.DataFrame:
        """Adds the changes that the journal has, and undoes those recorded after a time."""
        # Bounds select events; the records of the others may have changes within them.
        whole = {**self.given, "since": None, "until": None}
        named = ReportRequest(self.definition, whole, tables)
        subject, as_of = self._values["id"], self._values["as_of_recorded"]
        changes = Changes.of(tables.journal, subject)
        if changes is None or tables.journal is None:
            if as_of is not None:
                raise unsupported("as_of_recorded is for the operator of a store in this process")
            return rows
        if as_of is None:
            tables.prepare(named.reads, {}, named.names, is_empty_if_forbidden=True)
            records = named._rows(tables.engine, named._statement)
        else:
            changes.require_known(as_of)
            reads = _merge([self.reads, named.reads])
            past = Past(tables.journal, tables, reads, subject, as_of)
            with closing(engines.engine("duckdb")) as engine:
                for table in reads:
                    engine.read(table, past.rows(table))
                rows = self._rows(engine, self._statement)
                records = named._rows(engine, named._statement)
        return changes.added_to(rows, records, self._values["since"], self._values["until"], as_of)

    def _rows(self, engine: Engine, statement: Statement) -> polars.DataFrame:
        rows = engine.run(statement, self._values)
        return rows.cast(dict.fromkeys(statement.texts, polars.String))


class Runner:
    """Runs reports over the tables of a source, one at a time. Threads may share an instance.

    `engine` is the default engine. Tables that DuckDB has read stay in memory until `close`.
    """

    def __init__(self, source: ServiceTables | Exports, engine: str | Engine = "duckdb") -> None:
        self._source = source
        self._engine = engine
        self._cached: Tables | None = None
        self._is_closed = False
        self._process = os.getpid()
        self._lock = Lock()  # guards _cached and _is_closed
        self._turn = Lock()  # serializes reports, so that they do not read the tables twice

    def run(self, definition: Definition, given: Mapping[str, Any]) -> Report:
        """Runs a report with these arguments; the others have their defaults."""
        self._source.version()  # raises Closed in a forked child, which may never get its turn
        with self._turn, self._tables(given.get("engine")) as tables:
            tables.drop_outdated()
            request = ReportRequest(definition, given, tables)
            with busy(f"running {definition.name}"):
                return request.answer(tables)

    def _run_each(
        self, parts: Sequence[Part], common: Mapping[str, Any]
    ) -> Iterator[Report | Error]:
        """Runs several reports, reading each table once; yields an Error for a forbidden one.

        Reports that run before this iterator is exhausted use their own copy of the tables.
        """
        done: dict[tuple[Any, ...], Report | Error] = {}
        running = busy("running the reports")
        with self._tables(common.get("engine")) as tables, running:
            tables.drop_outdated()
            requests = [
                ReportRequest(part.definition, {**part.given, **common}, tables) for part in parts
            ]
            reads = _merge(request.reads for request in requests)
            for request in requests:
                request.reads = {table: reads[table] for table in request.reads}
            for request in requests:
                if request.identity not in done:
                    done[request.identity] = _answer(request, tables)
                yield done[request.identity]

    def overview(self, **common: Any) -> Overview:
        """Returns totals, success rates, confirmation times, failures and unusual findings.

        Findings are stuck chains, failing schedules, shared transactions, groups outside the
        tolerance and days outside the band; each names the command that shows its details. Reports
        that the client may not read, and amounts that are too large, are omitted; `left_out` has
        the reasons.

        Args:
            common: the arguments that every report accepts: `status`, `chain`, `asset`,
                `jurisdiction`, `group`, `customer`, `since`, `until`, `tz`, `engine`.

        Raises:
            InvalidRequest: an argument is invalid.
            MissingExtra: a module of the engine is not installed.
        """
        refuse_unknown(common, COMMON_PARAMETERS)
        self._source.version()
        with self._turn:
            return overview(list(self._run_each(PARTS, common)), common)

    def everything(self, **common: Any) -> Iterator[tuple[str, Overview | Report | Error]]:
        """Yields the overview, then every report without required parameters, with their names.

        Yields an Error for a report that the client may not run. `common` are the arguments that
        every report accepts.
        """
        refuse_unknown(common, COMMON_PARAMETERS)
        reports = self._run_each((*PARTS, *EVERY), common)
        yield "overview", overview([next(reports) for _ in PARTS], common)
        for part, report in zip(EVERY, reports, strict=True):
            yield part.definition.name, report

    def close(self) -> None:
        """Drops the cached tables; later reports cache nothing."""
        if os.getpid() != self._process:
            return  # DuckDB crashes in a forked child, which lacks its threads
        with self._lock:
            self._is_closed = True
            cached, self._cached = self._cached, None
        if cached is not None:
            cached.engine.close()

    @contextmanager
    def _tables(self, engine: str | Engine | None) -> Iterator[Tables]:
        """Yields tables for exclusive use: the cached ones, or new ones."""
        chosen = self._engine if engine is None else engine
        tables: Tables | None = None
        if chosen == "duckdb":
            with self._lock:
                tables, self._cached = self._cached, None
        if tables is None and chosen == "postgresql":
            tables = self._tables_in_place()
        if tables is None:
            tables = Tables(engines.engine(chosen), self._source)
        try:
            yield tables
        finally:
            with self._lock:
                is_kept = chosen == "duckdb" and not self._is_closed and self._cached is None
                if is_kept:
                    self._cached = tables
            if not is_kept and tables.engine is not chosen:
                tables.engine.close()

    def _tables_in_place(self) -> Tables:
        """Returns the tables of a database, in an engine that runs there."""
        source = self._source
        if not isinstance(source, ServiceTables) or source.database is None:
            raise invalid("engine", engines.IN_PLACE)
        from comptroller.analysis.engines.postgresql import PostgreSQL

        def streamed() -> Tables:
            return Tables(engines.engine("duckdb"), source)

        return Tables(PostgreSQL(source.database, streamed), TablesInPlace(source))


def _merge(reads: Iterable[Reads]) -> Reads:
    """Merges the columns of each table."""
    joined: dict[str, set[str]] = {}
    for each in reads:
        for table, columns in each.items():
            joined.setdefault(table, set()).update(columns)
    return joined


def _answer(request: ReportRequest, tables: Tables) -> Report | Error:
    try:
        return request.answer(tables)
    except (Forbidden, InvalidRequest) as error:
        return error
    except Error as error:
        detail = f"{request.definition.name}: {error.detail}"
        raise error_for(error.code, error.status, detail, error.errors) from error
