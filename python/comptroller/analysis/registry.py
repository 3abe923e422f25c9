"""The definitions of all reports: their keys, and what the comments of their SQL files declare.

The methods of `svc.reports`, the commands and the table of the documentation are generated from
these definitions. To add a report, add `sql/<name>.sql`, an entry, a function in
`plots/drawings.py` and a test, and run `make generate`. The SQL file begins with a comment of this
form::

    -- TITLE
    -- QUESTION?
    -- Without rows: MESSAGE
    --
    -- HOW THE VALUES ARE COMPUTED, in one or more lines
    --
    -- $name (type): MEANING OF A REQUIRED PARAMETER; each in one line
    -- $name (type?): meaning of a parameter that may be None
    -- $name (type = default): meaning
    -- $name (first or second): meaning of a choice; the first is the default
    -- name (unit): MEANING OF A COLUMN

This module must stay cheap to import.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from comptroller.analysis.parameters import COMMON_PARAMETERS, PARAMETER_TYPES, Parameter
from comptroller.values import KINDS

#: The keys that are periods, by their starts: that of an hour is a time, the others are dates. A
#: week begins on Monday.
PERIODS = ("hour", "day", "week", "month", "quarter", "year")
CLAIM_KEYS = (
    *("status", "chain", "asset", "jurisdiction", "group", "address", "customer", "schedule"),
    *("claim_type", *PERIODS),
)
#: The tables of the store.
TABLES = tuple(kind.replace("-", "_") for kind in KINDS)
#: The filters that a stream of all rows needs, by table.
ALL_ROWS = {"controls": {"include_deleted": True}}
#: The SQL type of each unit that a column may have.
UNITS = {
    "count": "BIGINT",
    "amount": "DECIMAL(38, 18)",  # in units of the asset
    "holdings": "DOUBLE",  # in units of the asset, as means are
    "seconds": "DOUBLE",
    "days": "DOUBLE",
    "share": "DOUBLE",  # from 0 to 1
    "ratio": "DOUBLE",
    "text": "VARCHAR",
    "flag": "BOOLEAN",
    "time": "TIMESTAMPTZ",  # in UTC
    "date": "DATE",  # in the time zone of the report
}
#: The columns of names beside those of ids or addresses; `sql/tables` has each as ``<column>s``.
NAMES = {"group": "group_name", "address": "address_name"}
#: The folder of the SQL files.
SQL = Path(__file__).with_name("sql")
_TEXTS = re.compile(r"-- (.+)\n-- (.+)\n-- Without rows: (.+)\n--\n((?:-- .+\n?)+)")
_DECLARATION = re.compile(r"-- (\$?)(\w+) \((.+?)(\??)(?: = (\d+(?:\.\d+)?))?\): (.+)")


def period_of(keys: Sequence[str]) -> str | None:
    """Returns the shortest period among the keys, or None."""
    return next((period for period in PERIODS if period in keys), None)


class Column(NamedTuple):
    """A column of the result: its unit, one of UNITS, and its meaning."""

    unit: str
    meaning: str


class Definition(NamedTuple):
    """The definition of a report.

    Attributes:
        name: the name of the method and of the SQL file.
        title: the title.
        question: the question that the report answers.
        empty: the message for a result without rows.
        formula: how the values are computed.
        parameters: the parameters of this report only, or with a meaning of its own.
        columns: the columns of the result besides the keys of `by`.
        by: the default keys to group by; None for a report with fixed keys.
        allowed_keys: the keys that `by` may name.
        keys: the fixed keys, after those of `by`; without `by`, they are among the columns.
        more_keys: the other columns without which the keys of two rows may be equal.
        drawing_sql: another SQL file, whose rows the drawing needs.
        default_sql: another SQL file, whose row has the default of a parameter that is a time.
        has_one_period: whether `by` may name only one period.
        subject: the parameter that names a record; if the result has no rows, it does not exist.
        is_empty_if_forbidden: treats tables that the client may not read as empty.
        has_changes: adds rows of the journal; see `comptroller.analysis.changes`.
    """

    name: str
    title: str
    question: str
    empty: str
    formula: str
    parameters: Mapping[str, Parameter]
    columns: Mapping[str, Column]
    by: tuple[str, ...] | None = None
    allowed_keys: tuple[str, ...] = CLAIM_KEYS
    keys: tuple[str, ...] = ()
    more_keys: tuple[str, ...] = ()
    drawing_sql: str | None = None
    default_sql: str | None = None
    has_one_period: bool = False
    subject: str | None = None
    is_empty_if_forbidden: bool = False
    has_changes: bool = False

    @property
    def own(self) -> Mapping[str, Parameter]:
        """The parameters of this report before those of every report, including `by`."""
        meaning = f"the keys to group by, from {', '.join(self.allowed_keys)}"
        by = Parameter("keys", meaning, self.by, self.allowed_keys)
        given = self.parameters.items()
        own = {
            name: each for name, each in given if each.is_required or name not in COMMON_PARAMETERS
        }
        return own if self.by is None else {"by": by, **own}

    @property
    def takes(self) -> Mapping[str, Parameter]:
        """All parameters: its own, then the filters, the bounds and the engine of every report."""
        return {**self.own, **COMMON_PARAMETERS, **self.parameters}

    @property
    def has_amounts(self) -> bool:
        """Whether the rows have amounts, which adds the key ``asset`` to those of `by`."""
        return any(column.unit == "amount" for column in self.columns.values())

    def all_keys(self, by: tuple[str, ...], given: Mapping[str, Any]) -> tuple[str, ...]:
        """Returns the keys of rows: those of `by`, the asset of amounts, then the fixed keys."""
        adds = self.by is not None and self.has_amounts and given.get("measure") != "claims"
        return (*by, *(("asset",) if adds and "asset" not in by else ()), *self.keys)


@cache
def text_of(file: str) -> str:
    """Returns the text of an SQL file."""
    return (SQL / f"{file}.sql").read_text(encoding="utf-8")


class Comment(NamedTuple):
    """The comment at the beginning of an SQL file: its text, and what the last lines declare."""

    text: str
    parameters: dict[str, Parameter]
    columns: dict[str, Column]


def comment_in(text: str, file: str) -> Comment:
    """Reads the comment of an SQL file. Raises ValueError with the file and line of a mistake."""
    lines = takewhile(lambda line: line.startswith("--"), text.splitlines())
    words, _, declared = "\n".join(lines).rpartition("\n--\n")
    comment = Comment(words, {}, {})
    for line in declared.splitlines():
        found = _DECLARATION.fullmatch(line)
        sign, name, kind, optional, default, meaning = found.groups("") if found else [""] * 6
        if name in (comment.parameters if sign else comment.columns):
            raise ValueError(f"sql/{file}.sql: {line!r} declares a name again")
        choices = tuple(kind.split(" or "))
        if sign and len(choices) > 1:
            comment.parameters[name] = Parameter("choice", meaning, choices[0], choices)
        elif sign and kind in PARAMETER_TYPES:
            value = json.loads(default or "null")
            is_required = not (optional or default)
            comment.parameters[name] = Parameter(kind, meaning, value, is_required=is_required)
        elif not sign and kind in UNITS and not optional and not default:
            comment.columns[name] = Column(kind, meaning)
        else:
            forms = '"-- name (unit): meaning" nor "-- $name (type = default): meaning"'
            raise ValueError(f"sql/{file}.sql: {line!r} is neither {forms}")
    return comment


@cache
def columns_in(file: str) -> Mapping[str, Column]:
    """Returns the columns of the rows of an SQL file, besides the keys of `by`."""
    return comment_in(text_of(file), file).columns


def _report(name: str, **more: Any) -> Definition:
    """Returns the definition that the comment of an SQL file has, and more members of it."""
    text, parameters, columns = comment_in(text_of(name), name)
    found = _TEXTS.fullmatch(text)
    if found is None:
        raise ValueError(f"sql/{name}.sql: does not begin as the documentation of this module says")
    title, question, empty, formula = found.groups()
    formula = " ".join(line.removeprefix("-- ") for line in formula.splitlines())
    return Definition(name, title, question, empty, formula, parameters, columns, **more)


#: The definitions by name, in the order of the documentation.
REPORTS: Mapping[str, Definition] = {
    each.name: each
    for each in (
        _report("claims_summary", by=("chain", "day")),
        _report(
            "confirmation_times",
            by=("chain",),
            drawing_sql="confirmation_distribution",
            default_sql="end_of_waiting",
        ),
        _report("stuck_claims", more_keys=("id",), default_sql="end_of_waiting"),
        _report("failures", by=("chain",), more_keys=("error_message",)),
        _report("failing_schedules", more_keys=("schedule",)),
        _report("shared_transactions", more_keys=("tx_hash", "chain", "asset")),
        _report(
            "restrictions",
            by=("month",),
            allowed_keys=("customer", *PERIODS),
            keys=("type", "set_by", "reason_code"),
            has_one_period=True,
        ),
        _report("restricted", more_keys=("control",), default_sql="restricted_day"),
        _report("group_statement", keys=("day",), more_keys=("asset",), subject="group"),
        _report("reconciliation", keys=("group", "month"), more_keys=("asset",)),
        _report("cohort", keys=("month", "age_months"), more_keys=("asset",)),
        _report(
            "anomalies", by=("chain",), allowed_keys=CLAIM_KEYS[: -len(PERIODS)], more_keys=("day",)
        ),
        _report("orchestration_flow", keys=("source_asset", "destination_asset", "status")),
        _report(
            "history",
            more_keys=("at", "record", "id", "event", "member"),
            subject="id",
            has_changes=True,
            is_empty_if_forbidden=True,
        ),
    )
}
