"""The reports of a service: `svc.reports`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Protocol

import narwhals.stable.v2 as nw

from comptroller import arguments
from comptroller._core import microseconds
from comptroller.analysis import engines, reports
from comptroller.analysis.keys import PERIODS, checked, columns_of
from comptroller.analysis.report import Report
from comptroller.analysis.reports.anomalies import ANOMALIES, SERIES_KEYS
from comptroller.analysis.reports.claims import CLAIMS_SUMMARY
from comptroller.analysis.reports.cohorts import COHORT
from comptroller.analysis.reports.confirmation import (
    CONFIRMATION_TIMES,
    STUCK_CLAIMS,
    distribution,
)
from comptroller.analysis.reports.definition import Definition
from comptroller.analysis.reports.failures import FAILURES
from comptroller.analysis.reports.orchestrations import KEYS as FLOW_KEYS
from comptroller.analysis.reports.orchestrations import ORCHESTRATION_FLOW
from comptroller.analysis.reports.reconciliation import RECONCILIATION
from comptroller.analysis.reports.restrictions import KEYS as RESTRICTION_KEYS
from comptroller.analysis.reports.restrictions import RESTRICTIONS
from comptroller.analysis.reports.statement import GROUP_STATEMENT
from comptroller.errors import invalid, make, shorten
from comptroller.progress import waiting
from comptroller.streams import Stream

#: A time: RFC 3339 or a date (its midnight, UTC) as text, an aware datetime, or a date.
Since = str | datetime | date | None


_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Streaming(Protocol):
    """A noun whose records stream."""

    def stream(self, columns: Sequence[str] | None = None, **filters: Any) -> Stream:
        """All records that pass the filters, as columns."""


class Reports:
    """Reports on what a service holds, each run when it is asked for and whole on return.

    In all of them `since` and `until` bound created_at (the first included, the second not);
    `engine` is duckdb, polars or spark, and the answers are equal. What each means and its columns
    are those of the function of its name in :mod:`comptroller.analysis.reports`. Each table is
    read as of one moment, the first of several a little before the last.

    Raises:
        InvalidRequest: an unknown key or engine, a malformed time, `until` before `since`, a sum
            past 38 digits.
        Unavailable: what the engine needs is not installed.
    """

    def __init__(self, nouns: Mapping[str, Streaming]) -> None:
        self._nouns = nouns

    def claims_summary(
        self,
        by: Sequence[str] = ("chain", "day"),
        *,
        since: Since = None,
        until: Since = None,
        engine: str = engines.DEFAULT,
    ) -> Report:
        """How many claims by each key, what they amount to and how many succeeded."""
        keys = checked(by)
        return self._run(
            CLAIMS_SUMMARY, reports.claims_summary, keys, (since, until), engine, by=keys
        )

    def confirmation_times(
        self,
        by: Sequence[str] = ("chain",),
        as_of: Since = None,
        *,
        since: Since = None,
        until: Since = None,
        engine: str = engines.DEFAULT,
    ) -> Report:
        """How long claims take from submission to confirmation, those that wait included."""
        keys = checked(by)
        is_over_time = bool(PERIODS.keys() & set(keys))
        return self._run(
            *(CONFIRMATION_TIMES, reports.confirmation_times, keys, (since, until), engine),
            None if is_over_time else distribution,
            by=keys,
            as_of=as_of,
        )

    def stuck_claims(
        self,
        as_of: Since = None,
        percentile: float = 0.99,
        *,
        since: Since = None,
        until: Since = None,
        engine: str = engines.DEFAULT,
    ) -> Report:
        """The claims that wait longer than nearly all of their chain did, the oldest first."""
        return self._run(
            *(STUCK_CLAIMS, reports.stuck_claims, (), (since, until), engine),
            as_of=as_of,
            percentile=percentile,
        )

    def failures(
        self,
        by: Sequence[str] = ("chain",),
        *,
        since: Since = None,
        until: Since = None,
        engine: str = engines.DEFAULT,
    ) -> Report:
        """Why claims failed, and how many failures a later claim of the group made good."""
        keys = checked(by)
        return self._run(FAILURES, reports.failures, keys, (since, until), engine, by=keys)

    def restrictions(
        self,
        by: Sequence[str] = ("month",),
        *,
        since: Since = None,
        until: Since = None,
        engine: str = engines.DEFAULT,
    ) -> Report:
        """How many controls were made, lifted and in force, and how long they last."""
        keys = checked(by, RESTRICTION_KEYS)
        return self._run(RESTRICTIONS, reports.restrictions, keys, (since, until), engine, by=keys)

    def group_statement(
        self,
        group: str,
        month: str,
        *,
        since: Since = None,
        until: Since = None,
        engine: str = engines.DEFAULT,
    ) -> Report:
        """What a group held and claimed on each day of a month such as 2026-05, and in all.

        Raises NotFound for a group that nothing here names, Forbidden where a client asks.
        """
        # Ids of groups are kept in lower case.
        named = arguments.text("group", group).lower()
        unknown = make("not-found", 404, f"there is no payout group {shorten(named)}")
        if not _UUID.fullmatch(named):
            raise unknown
        statement = self._run(
            *(GROUP_STATEMENT, reports.group_statement, ("day",), (since, until), engine),
            group=named,
            month=month,
        )
        if not len(statement):
            raise unknown
        return statement

    def reconciliation(
        self,
        month: str | None = None,
        tolerance: float = 0.05,
        *,
        since: Since = None,
        until: Since = None,
        engine: str = engines.DEFAULT,
    ) -> Report:
        """Whether what groups claimed in each month, or one, fits what stood on their addresses.

        Raises Forbidden where a client asks.
        """
        return self._run(
            *(RECONCILIATION, reports.reconciliation, ("group", "month"), (since, until), engine),
            month=month,
            tolerance=tolerance,
        )

    def cohort(
        self, *, since: Since = None, until: Since = None, engine: str = engines.DEFAULT
    ) -> Report:
        """How many of the groups that began to claim in a month still claim later."""
        keys = ("month", "age_months")
        return self._run(COHORT, reports.cohort, keys, (since, until), engine)

    def anomalies(
        self,
        by: Sequence[str] = ("chain",),
        band: float = 5.0,
        *,
        since: Since = None,
        until: Since = None,
        engine: str = engines.DEFAULT,
    ) -> Report:
        """The days with far more or fewer claims, or amounts, than there usually are."""
        keys = checked(by, SERIES_KEYS)
        return self._run(
            *(ANOMALIES, reports.anomalies, (*keys, "day", "measure"), (since, until), engine),
            by=keys,
            band=band,
        )

    def orchestration_flow(
        self, *, since: Since = None, until: Since = None, engine: str = engines.DEFAULT
    ) -> Report:
        """How many orchestrations go from each asset to each, and how they fare."""
        return self._run(
            *(ORCHESTRATION_FLOW, reports.orchestration_flow, FLOW_KEYS, (since, until), engine)
        )

    def _run(
        self,
        definition: Definition,
        function: Any,
        keys: tuple[str, ...],
        bounds: tuple[Since, Since],
        engine: str,
        drawn: Any = None,
        **given: Any,
    ) -> Report:
        """Runs the function, and one for the report's picture of the same tables and keys."""
        since, until = _moment("since", bounds[0]), _moment("until", bounds[1])
        if since is not None and until is not None and until < since:
            raise invalid("until", f"must not be before since, which is {bounds[0]}")
        runner = engines.engine(engine)
        # The store leaves out what it can: all but what was created at `until` itself.
        of_claims = {"start_time": _text("since", bounds[0]), "end_time": _text("until", bounds[1])}
        if "group" in given:
            of_claims["payout_group_id"] = given["group"]
        streams = self._streams(definition, keys, of_claims)
        with waiting(f"running {function.__name__}"), runner.open(streams) as tables:
            # Only what is bounded, the records that things happened to, has this column.
            frames = {
                name: _between(tables[name], since, until) if name in tables else None
                for name in definition.reads
            }
            moments = {name: _moment(name, given[name]) for name in given if name == "as_of"}
            rows = runner.collect(function(**frames, **(given | moments)))
            picture = None if drawn is None else runner.collect(drawn(**frames, by=keys))
        asked = {"since": bounds[0], "until": bounds[1], **given}
        told = (definition.title, definition.formula, keys, rows, asked, picture)
        return Report(function.__name__, *told)

    def _streams(
        self, definition: Definition, keys: tuple[str, ...], of_claims: Mapping[str, str | None]
    ) -> Mapping[str, Stream]:
        filters = {"claims": of_claims, "controls": {"include_deleted": True}}
        streams: dict[str, Stream] = {}
        for table, columns in definition.reads.items():
            if "jurisdiction" in columns and "jurisdiction" not in keys:
                continue
            more = ("created_at", *columns_of(keys)) if table in ("claims", "controls") else ()
            wanted = list(dict.fromkeys([*columns, *more]))
            streams[table] = self._nouns[table].stream(wanted, **filters.get(table, {}))
        return streams


def _between(frame: Any, since: int | None, until: int | None) -> Any:
    lazy = nw.from_native(frame)
    if "created_at_us" not in lazy.collect_schema().names():
        return frame
    if since is not None:
        lazy = lazy.filter(nw.col("created_at_us") >= since)
    if until is not None:
        lazy = lazy.filter(nw.col("created_at_us") < until)
    return lazy.to_native()


def _text(name: str, given: Since) -> str | None:
    """A time as RFC 3339 has it, where it is one."""
    if given is None:
        return None
    text = given.isoformat() if type(given) is date else arguments.text(name, given)
    return f"{text}T00:00:00Z" if len(text) == len("2026-01-31") else text


def _moment(name: str, given: Since) -> int | None:
    """Microseconds since 1970."""
    text = _text(name, given)
    if text is None:
        return None
    moment = microseconds(text)
    if moment is None:
        form = "2026-01-31, or a time with its offset from UTC, such as 2026-01-31T12:00:00Z"
        raise invalid(name, f"must be a date such as {form}")
    return moment
