"""How a report of the registry is run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any

from comptroller import arguments
from comptroller.analysis import engines, parameters
from comptroller.analysis.assemble import Statement, assemble
from comptroller.analysis.engines import Engine
from comptroller.analysis.overview import EVERY, PARTS, Overview, overview
from comptroller.analysis.parameters import Since
from comptroller.analysis.registry import (
    DISTRIBUTION,
    PERIODS,
    UNITS,
    Column,
    Definition,
)
from comptroller.analysis.report import Report
from comptroller.analysis.tables import Reads, Tables, TableSource
from comptroller.display.progress import busy
from comptroller.errors import Error, Forbidden, InvalidRequest, invalid, make


class ReportRequest:
    """A report that was asked for, checked and assembled."""

    def __init__(self, definition: Definition, given: Mapping[str, Any]) -> None:
        self.definition = definition
        self.given = given
        self.asked = (definition.name, *given.items())
        self._values = parameters.values(definition.takes, given)
        self.by: tuple[str, ...] = ()
        if definition.by is not None:
            self.by = arguments.choices("by", given["by"], definition.among)
        periods = [key for key in self.by if key in PERIODS]
        if len(periods) > 1 and definition.has_one_period:
            raise invalid("by", "may name one period only")
        self._keys = definition.all_keys(self.by, self._values)
        self._statement = self._assembled(definition.name, self._keys, definition.columns)
        self._drawn: Statement | None = None
        if definition.also is not None and not periods:
            self._drawn = self._assembled(definition.also, self.by, DISTRIBUTION)
        #: The columns that it needs of each table.
        self.reads = _joined(each.reads for each in (self._statement, self._drawn) if each)

    def _filters(self) -> dict[str, Any]:
        """What the store may leave out of the claims: less than the statement leaves out.

        Nothing of a history, whose bounds are of events: those of a claim come after its creation.
        """
        bounds = {"since": "start_time", "until": "end_time"}
        filters = {
            bounds[name]: parameters.time_text(name, self.given[name])
            for name in bounds
            if self.given[name] is not None and not self.definition.is_lenient
        }
        if "group" in self._values:
            filters["payout_group_id"] = self._values["group"]
        return filters

    def answer(self, tables: Tables) -> Report:
        """The report. Raises NotFound if it is of one subject, and no record names that."""
        filters = {"claims": self._filters()}
        tables.prepare(self.reads, filters, is_lenient=self.definition.is_lenient)
        engine = tables.engine
        statement = self._statement
        try:
            rows = engine.run(statement, self._values)
        except OverflowError:
            columns = self.definition.columns
            statement = self._assembled(self.definition.name, self._keys, columns, is_wide=True)
            rows = engine.run(statement, self._values)
        picture = engine.run(self._drawn, self._values) if self._drawn else None
        sql = partial(engine.sql, statement, self._values)
        keys = self.by if self.definition.by is not None else self.definition.keys
        subject = self.definition.subject
        if not len(rows) and subject is not None:
            whole = {**self.given, "since": None, "until": None}
            if whole == self.given:
                raise parameters.unknown(subject, self._values[subject])
            # It exists if it has rows at any time.
            ReportRequest(self.definition, whole).answer(tables)
        amounts = [name for name, each in self.definition.columns.items() if each.unit == "amount"]
        has_gaps = (
            statement is not self._statement
            and rows.select(amounts).null_count().sum_horizontal().sum() > 0
        )
        return Report(self.definition, keys, rows, self.given, sql, picture, has_gaps)

    def _assembled(
        self,
        file: str,
        keys: tuple[str, ...],
        columns: Mapping[str, Column],
        is_wide: bool = False,
    ) -> Statement:
        key_types = ((key, UNITS["time" if key in PERIODS else "text"]) for key in keys)
        types = ((name, UNITS[column.unit]) for name, column in columns.items())
        absent = frozenset(name for name, value in self._values.items() if value is None)
        return assemble(file, keys, (*key_types, *types), absent, is_wide=is_wide)


class Runner:
    """Runs reports over the tables of a source, one at a time; for many threads.

    `engine` is what runs them by default. What DuckDB has read is kept until `close`.
    """

    def __init__(self, source: TableSource, engine: str | Engine = "duckdb") -> None:
        self._source = source
        self._engine = engine
        self._kept: Tables | None = None
        self._is_closed = False
        self._lock = Lock()  # of what is kept
        self._turn = Lock()  # reports wait for each other rather than read the tables twice

    def run(self, definition: Definition, given: Mapping[str, Any]) -> Report:
        """A report that was asked for with all of its parameters."""
        request = ReportRequest(definition, given)
        asked = given["engine"]
        with self._turn, self._tables(asked) as tables, busy(f"running {definition.name}"):
            return request.answer(tables)

    def run_each(
        self, asked: Sequence[tuple[Definition, Mapping[str, Any]]], engine: str | Engine | None
    ) -> Iterator[Report | Error]:
        """Several reports one by one, over one reading of each table; an Error for one refused.

        Others that are asked for before the last was taken read the tables for themselves.
        """
        requests = [
            ReportRequest(definition, complete(definition, given)) for definition, given in asked
        ]
        reads = _joined(request.reads for request in requests)
        ran: dict[tuple[Any, ...], Report | Error] = {}
        with self._tables(engine) as tables, tables.held(reads), busy("running the reports"):
            for request in requests:
                if request.asked not in ran:
                    ran[request.asked] = _answer(request, tables)
                yield ran[request.asked]

    def overview(
        self, *, since: Since = None, until: Since = None, engine: str | Engine | None = None
    ) -> Overview:
        """Everything at a glance: totals, success, times, what waits, what failed, and findings.

        Findings are what other reports consider unusual: stuck chains, failing schedules, groups
        outside the tolerance, days outside the band; each has the command that shows more. What a
        client may not read is left out, and amounts that are too large: `left_out` says why.
        """
        bounds = {"since": since, "until": until}
        asked = [(part.definition, {**part.given, **bounds}) for part in PARTS]
        with self._turn:
            return overview(list(self.run_each(asked, engine)), bounds)

    def everything(
        self, *, since: Since = None, until: Since = None
    ) -> Iterator[tuple[str, Overview | Report | Error]]:
        """The overview, then every report that needs no more, each by its name as it is ready.

        An Error for a report that the client may not run.
        """
        bounds = {"since": since, "until": until}
        asked = [(part.definition, {**part.given, **bounds}) for part in (*PARTS, *EVERY)]
        ran = self.run_each(asked, None)
        yield "overview", overview([next(ran) for _ in PARTS], bounds)
        for part, report in zip(EVERY, ran, strict=True):
            yield part.definition.name, report

    def close(self) -> None:
        """Drops what is kept of the tables, for good."""
        with self._lock:
            self._is_closed = True
            kept, self._kept = self._kept, None
        if kept is not None:
            kept.engine.close()

    @contextmanager
    def _tables(self, asked: str | Engine | None) -> Iterator[Tables]:
        """Tables that nobody else uses meanwhile: those that are kept, or new ones."""
        chosen = self._engine if asked is None else asked
        tables: Tables | None = None
        if chosen == "duckdb":
            with self._lock:
                tables, self._kept = self._kept, None
        if tables is None:
            tables = Tables(engines.engine(chosen), self._source)
        try:
            yield tables
        finally:
            if not self._keep(tables, chosen) and tables.engine is not chosen:
                tables.engine.close()

    def _keep(self, tables: Tables, chosen: str | Engine) -> bool:
        with self._lock:
            if chosen != "duckdb" or self._is_closed or self._kept is not None:
                return False
            self._kept = tables
            return True


def _joined(reads: Iterable[Reads]) -> Reads:
    """All columns of each table."""
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
        raise make(error.code, error.status, detail, error.errors) from error


def complete(definition: Definition, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a report: those given, and the defaults of the others."""
    defaults = {name: each.default for name, each in definition.takes.items()}
    return {"by": definition.by, **defaults, **given}
