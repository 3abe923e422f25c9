"""The definitions of all reports: title, question, keys, parameters and columns.

The methods of `svc.reports`, the commands, the stub and the tables of the documentation are
generated from these entries; the SQL of each is `sql/<name>.sql`. To add a report, add that file,
an entry, a function in `plots/drawings.py` and a test. This module must stay cheap to import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from comptroller.values import KINDS

#: The keys that are periods; their value is the start of the hour, day, week (Monday) or month.
PERIODS = ("hour", "day", "week", "month")
CLAIM_KEYS = (
    *("status", "chain", "asset", "jurisdiction", "group", "address", "customer", "schedule"),
    *("claim_type", *PERIODS),
)


def period_of(keys: Sequence[str]) -> str | None:
    """Returns the shortest period among the keys, or None."""
    return next((period for period in PERIODS if period in keys), None)


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
}


class Column(NamedTuple):
    """A column of the result: its unit, one of UNITS, and its meaning."""

    unit: str
    meaning: str


class Types(NamedTuple):
    """The types of a kind of parameter, in Python and in SQL."""

    python: str
    sql: str


_TYPES = {
    "time": Types("Since", "TIMESTAMP"),
    "month": Types("str | None", "TIMESTAMP"),
    "number": Types("float", "DOUBLE"),
    "share": Types("float", "DECIMAL(7, 6)"),
    "count": Types("int", "BIGINT"),
    "engine": Types("str | Engine | None", ""),
}


class Parameter(NamedTuple):
    """A parameter of a report besides its keys.

    `kind` selects the validation in :mod:`.parameters`; `choices` are the values of the kind
    ``choice``.
    """

    kind: str
    meaning: str
    default: Any = None
    choices: tuple[str, ...] = ()
    is_required: bool = False

    @property
    def types(self) -> Types:
        """The types of the argument."""
        types = _TYPES.get(self.kind, Types("str", "VARCHAR"))
        return types._replace(python="str") if self.is_required else types

    @property
    def is_optional(self) -> bool:
        """Whether the argument may be None."""
        return self.default is None and not self.is_required


class Definition(NamedTuple):
    """The definition of a report.

    Attributes:
        name: the name of the method and of the SQL file.
        title: the title.
        question: the question that the report answers.
        formula: how the values are computed.
        columns: the columns of the result besides the keys.
        empty: the message for a result without rows.
        by: the default keys to group by; None for a report with fixed `keys`.
        among: the keys that `by` may name.
        keys: the fixed keys, which are among the columns.
        own: further grouping columns, after the keys of `by`.
        parameters: the parameters of this report only.
        also: another SQL file, whose rows the drawing needs.
        has_one_period: whether `by` may name only one period.
        subject: the parameter that names a record; if the result has no rows, it does not exist.
        is_lenient: treats tables that the client may not read as empty.
    """

    name: str
    title: str
    question: str
    formula: str
    columns: Mapping[str, Column]
    empty: str
    by: tuple[str, ...] | None = None
    among: tuple[str, ...] = CLAIM_KEYS
    keys: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    parameters: Mapping[str, Parameter] = {}
    also: str | None = None
    has_one_period: bool = False
    subject: str | None = None
    is_lenient: bool = False

    @property
    def takes(self) -> Mapping[str, Parameter]:
        """All parameters, including the bounds and the engine of every report."""
        return {**self.parameters, **BOUNDS, "engine": ENGINE}

    @property
    def defaults(self) -> dict[str, Any]:
        """The arguments of a report that is run without any."""
        return {"by": self.by, **{name: each.default for name, each in self.takes.items()}}

    @property
    def has_amounts(self) -> bool:
        """Whether the rows have amounts, which adds the key ``asset`` to those of `by`."""
        return any(column.unit == "amount" for column in self.columns.values())

    def all_keys(self, by: tuple[str, ...], given: Mapping[str, Any]) -> tuple[str, ...]:
        """Returns the keys of the rows: those of `by`, then the asset if amounts are summed."""
        if self.by is None:
            return self.keys
        adds = self.has_amounts and given.get("measure", "amount") == "amount"
        return (*by, *(("asset",) if adds and "asset" not in by else ()), *self.own)


ENGINES = ("duckdb", "spark")
BOUNDS = {
    "since": Parameter("time", "only records created at this time or later"),
    "until": Parameter("time", "only records created before this time"),
}
ENGINE = Parameter(
    "engine",
    "the engine that runs the SQL: duckdb (the default), spark, or an Engine",
    None,
    ENGINES,
)
AS_OF = {"as_of": Parameter("time", "the end of the waiting times; if None, the newest updated_at")}

CLAIMS_SUMMARY = Definition(
    name="claims_summary",
    title="Claims and their amounts",
    question="How many claims are there, what do they amount to, and how many succeeded?",
    formula=(
        "success_rate = confirmed / (confirmed + failed). claims_share is the share of all claims, "
        "amount_share the share of the asset's sum. By address, a claim counts once for each of "
        "its addresses, also in the totals of the shares."
    ),
    by=("chain", "day"),
    columns={
        "claims": Column("count", "the number of claims"),
        "amount": Column("amount", "the exact sum of their amounts"),
        "claims_share": Column("share", "the share of all claims"),
        "amount_share": Column("share", "the share of the asset's sum; null if 0 or unknown"),
        "confirmed": Column("count", "the number of CONFIRMED claims"),
        "failed": Column("count", "the number of FAILED claims"),
        "success_rate": Column("share", "confirmed / (confirmed + failed); null if both are 0"),
    },
    empty="there are no claims.",
)

CONFIRMATION_TIMES = Definition(
    name="confirmation_times",
    title="Time from submission to confirmation",
    question="How long do claims take to be confirmed, including claims that still wait?",
    formula=(
        "Kaplan-Meier: percentile p is the smallest t with S(t) <= 1 - p + 1e-12. Claims that are "
        "still SUBMITTED wait until as_of, by default the newest updated_at. A claim confirmed "
        "after as_of counts as confirmed. Without waiting claims, a percentile is the nearest rank."
    ),
    by=("chain",),
    parameters=AS_OF,
    columns={
        "confirmed": Column("count", "the number of CONFIRMED claims that have both times"),
        "waiting": Column("count", "the number of SUBMITTED claims that have a submitted_at"),
        "p50_seconds": Column("seconds", "the median; null if never reached"),
        "p90_seconds": Column("seconds", "the 90th percentile; null if never reached"),
        "p99_seconds": Column("seconds", "the 99th percentile; null if never reached"),
    },
    also="confirmation_distribution",
    empty="no claim is SUBMITTED or CONFIRMED.",
)
STUCK_CLAIMS = Definition(
    name="stuck_claims",
    title="Claims that wait longer than their chain's claims do",
    question="Which claims have waited longer than nearly all confirmed claims of their chain?",
    formula=(
        "age = as_of - submitted_at; for a claim that is PENDING or has no submitted_at, as_of - "
        "created_at. threshold = the percentile, by nearest rank, of confirmed_at - submitted_at "
        "of the chain's CONFIRMED claims. By default, as_of is the newest updated_at."
    ),
    parameters={
        **AS_OF,
        "percentile": Parameter("share", "of the chain's confirmed claims, above 0 to 1", 0.99),
    },
    columns={
        "id": Column("text", "the claim"),
        "group": Column("text", "its payout group"),
        "chain": Column("text", "its chain; claims without one are compared with each other"),
        "status": Column("text", "PENDING or SUBMITTED"),
        "asset": Column("text", "its asset"),
        "amount": Column("amount", "its amount"),
        "age_seconds": Column("seconds", "its waiting time"),
        "threshold_seconds": Column("seconds", "the threshold of its chain"),
    },
    empty="no claim waits longer than its chain's claims do.",
)

FAILURES = Definition(
    name="failures",
    title="Why claims failed, and what was made good",
    question="Why did claims fail, and how many failures did a later claim make good?",
    formula=(
        "FAILED claims by their message. A failure was made good if a claim of the same group that "
        "was created later is CONFIRMED."
    ),
    by=("chain",),
    columns={
        "error_message": Column("text", "the message; null if there is none"),
        "failures": Column("count", "the number of FAILED claims with this message"),
        "amount": Column("amount", "the exact sum of their amounts"),
        "groups": Column("count", "the number of their payout groups"),
        "made_good": Column("count", "the number of failures that a later claim made good"),
        "made_good_amount": Column("amount", "the exact sum of the amounts of these failures"),
        "first_at": Column("time", "when the first failure was created"),
        "last_at": Column("time", "when the last failure was created"),
    },
    empty="no claim has FAILED.",
)

FAILING_SCHEDULES = Definition(
    name="failing_schedules",
    title="Schedules whose claims fail",
    question="On which schedules have claims failed since the last confirmed claim?",
    formula=(
        "The FAILED claims of a schedule that were created after its last CONFIRMED claim. A "
        "schedule is listed if it has at least `least` of them."
    ),
    parameters={"least": Parameter("count", "the minimum number of failures of a schedule", 3)},
    columns={
        "schedule": Column("text", "the schedule"),
        "failures": Column("count", "the number of FAILED claims since its last CONFIRMED claim"),
        "groups": Column("count", "the number of their payout groups"),
        "last_message": Column("text", "the message of the last failure"),
        "first_at": Column("time", "when the first failure was created"),
        "last_at": Column("time", "when the last failure was created"),
        "confirmed_at": Column("time", "when the last CONFIRMED claim was created; null if none"),
    },
    empty="no schedule fails.",
)

RESTRICTIONS = Definition(
    name="restrictions",
    title="Controls created, lifted and active",
    question="How many controls were created, deleted and active, and how long do they last?",
    formula=(
        "active = all created - all lifted until the end of the period. median_days is the "
        "Kaplan-Meier median of the controls created in the period; active controls last until the "
        "newest time of all controls. Controls created outside since and until do not count, also "
        "not as active. A control lifted before it was created counts as lifted when it was "
        "created."
    ),
    by=("month",),
    among=("customer", *PERIODS),
    has_one_period=True,
    own=("type", "set_by", "reason_code"),
    columns={
        "created": Column("count", "the number of controls created in the period"),
        "lifted": Column("count", "the number of controls lifted in the period"),
        "active": Column("count", "the number of controls active at its end"),
        "median_days": Column(
            "days", "the median duration of controls created in it; null if never reached"
        ),
    },
    empty="no control was created.",
)

_MONTH = "a month such as 2026-05"
GROUP_STATEMENT = Definition(
    name="group_statement",
    title="Statement of a group",
    question="What did a group hold and claim on each day of a month?",
    formula=(
        "opening_holdings is the sum of the newest snapshots of the group's addresses before the "
        "day, closing_holdings before the next day. Claims are CONFIRMED claims by confirmed_at. "
        "The last row, without a day, covers the whole month. since and until leave out claims "
        "created outside them, but no holdings."
    ),
    keys=("day",),
    subject="group",
    parameters={
        "group": Parameter("group", "the payout group", is_required=True),
        "month": Parameter("month", _MONTH, is_required=True),
    },
    columns={
        "day": Column("time", "the day; null in the last row, which covers the month"),
        "asset": Column("text", "the asset: the group's, and others that it claimed"),
        "opening_holdings": Column("amount", "the balance of its addresses when the day began"),
        "claims": Column("count", "the number of its claims confirmed on the day"),
        "claimed": Column("amount", "the exact sum of their amounts"),
        "closing_holdings": Column("amount", "the balance of its addresses when the day ended"),
        "last_claim": Column("text", "the last of these claims; the greatest id of several"),
        "last_claim_at": Column("time", "when it was confirmed"),
    },
    empty="nothing is known of this group.",
)

RECONCILIATION = Definition(
    name="reconciliation",
    title="What was claimed against what was held",
    question="Do the amounts that groups claimed match the balances of their addresses?",
    formula=(
        "annual_rate = claimed / average_holdings x 365 / days; deviation = annual_rate / "
        "median_rate - 1, where the median is that of the groups of the same asset and ledger in "
        "the same month. Claims are CONFIRMED claims by confirmed_at. Holdings are weighted by "
        "time. since and until leave out claims created outside them, but no holdings."
    ),
    keys=("group", "month"),
    parameters={
        "month": Parameter("month", f"{_MONTH}; by default each month with claims or holdings"),
        "tolerance": Parameter("number", "the tolerated deviation from the median rate", 0.05),
    },
    columns={
        "group": Column("text", "the payout group, in each month from its first month on"),
        "month": Column("time", "the month"),
        "asset": Column("text", "the asset: the group's, and others that it claimed"),
        "ledger": Column("text", "its ledger; null if the group is unknown"),
        "claimed": Column("amount", "the exact sum of its CONFIRMED claims"),
        "average_holdings": Column("holdings", "the mean of its holdings; null without a snapshot"),
        "days": Column(
            "count", "from the group's first claim or snapshot to the last of any group"
        ),
        "annual_rate": Column("ratio", "claimed / average_holdings x 365 / days"),
        "median_rate": Column("ratio", "the lower median of groups of the same asset and ledger"),
        "deviation": Column("ratio", "annual_rate / median_rate - 1"),
        "within_tolerance": Column(
            "flag", "whether the deviation is tolerated; false for claims on holdings of 0"
        ),
    },
    empty="nothing was claimed and nothing held.",
)

COHORT = Definition(
    name="cohort",
    title="Groups by the month of their first claim",
    question="How many of the groups that first claimed in a month still claim in later months?",
    formula=(
        "A group's month is the month in which it created its first claim of the asset. Its age in "
        "a later month is the number of months between. It is active in a month if it created a "
        "claim in it."
    ),
    keys=("month", "age_months"),
    columns={
        "month": Column("time", "the month of the first claim"),
        "age_months": Column("count", "the number of months since then; 0 in that month"),
        "asset": Column("text", "the asset that they claim"),
        "groups": Column("count", "the number of groups that created a claim at that age"),
        "amount": Column("amount", "the exact sum of these claims, whatever their status"),
    },
    empty="there are no claims.",
)

ANOMALIES = Definition(
    name="anomalies",
    title="Days with unusually many or few claims, or amounts",
    question="On which days was the number or amount of claims far from usual?",
    formula=(
        "score = (value - median) / MAD, over the days from the series' first claim to the last "
        "day of any series. A day without claims counts as 0. A day is listed if its score is "
        "beyond the band, or if MAD is 0 and its value is not the median. Medians are the lower "
        "middle value."
    ),
    by=("chain",),
    among=tuple(key for key in CLAIM_KEYS if key not in PERIODS),
    parameters={
        "band": Parameter("number", "the usual distance from the median, in MADs", 5.0),
        "measure": Parameter("choice", "the measured value", "claims", ("claims", "amount")),
    },
    columns={
        "day": Column("time", "the day; the last day may be incomplete"),
        "value": Column("amount", "the claims created on it, or the exact sum of their amounts"),
        "median": Column("amount", "the median of the series"),
        "mad": Column("amount", "the median distance from the median"),
        "score": Column("ratio", "(value - median) / mad; null if mad is 0"),
    },
    empty="no day lies outside the band.",
)

ORCHESTRATION_FLOW = Definition(
    name="orchestration_flow",
    title="Orchestrations from asset to asset",
    question="Between which assets does value move, and how do the orchestrations end?",
    formula=(
        "The duration of a COMPLETED, FAILED or REJECTED orchestration is updated_at - created_at. "
        "Percentiles are by nearest rank."
    ),
    keys=("source_asset", "destination_asset", "status"),
    columns={
        "source_asset": Column("text", "the asset that goes in"),
        "destination_asset": Column("text", "the asset that comes out"),
        "status": Column("text", "the status"),
        "orchestrations": Column("count", "the number of orchestrations"),
        "source_amount": Column("amount", "the exact sum in units of the source asset"),
        "p50_seconds": Column("seconds", "the median duration; null unless the status is final"),
        "p90_seconds": Column("seconds", "the 90th percentile; null unless the status is final"),
    },
    empty="there are no orchestrations.",
)

HISTORY = Definition(
    name="history",
    title="What happened, in order",
    question="Which events happened to a claim, an identity, a payout group or an address?",
    formula=(
        "The time of a failed claim or an ended orchestration is its updated_at. A failed claim is "
        "made good by the next CONFIRMED claim of its group. Overwritten values are not kept. "
        "since and until bound the events."
    ),
    subject="id",
    is_lenient=True,
    parameters={
        "id": Parameter(
            "id",
            "the id of a claim, identity, group or reward address, or an address",
            is_required=True,
        ),
    },
    columns={
        "at": Column("time", "the time of the event"),
        "record": Column("text", "claim, control, orchestration, identity, group or address"),
        "id": Column("text", "the record's id"),
        "event": Column("text", "the event"),
        "asset": Column("text", "the asset of the amount"),
        "amount": Column(
            "amount", "the amount of the claim or orchestration, or the observed balance"
        ),
        "actor": Column("text", "the client that created or lifted the control, or ``operator``"),
        "detail": Column("text", "the reason, the message, the transaction, the other record"),
    },
    empty="nothing happened in this time.",
)

#: The definitions by name, in the order of the documentation.
REPORTS: Mapping[str, Definition] = {
    each.name: each
    for each in (
        CLAIMS_SUMMARY,
        CONFIRMATION_TIMES,
        STUCK_CLAIMS,
        FAILURES,
        FAILING_SCHEDULES,
        RESTRICTIONS,
        GROUP_STATEMENT,
        RECONCILIATION,
        COHORT,
        ANOMALIES,
        ORCHESTRATION_FLOW,
        HISTORY,
    )
}
#: The columns of the rows of each SQL file, besides the keys.
COLUMNS: Mapping[str, Mapping[str, Column]] = {
    **{name: definition.columns for name, definition in REPORTS.items()},
    "confirmation_distribution": {
        "step": Column("count", "floor(10 x log10(seconds)); -30 for a millisecond or less"),
        "claims": Column("count", "the number of claims with a time in this step"),
    },
}
#: The SQL type of each parameter of any report.
PARAMETER_TYPES = {
    name: each.types.sql
    for definition in REPORTS.values()
    for name, each in definition.takes.items()
}
