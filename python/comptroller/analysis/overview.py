"""The overview: totals, success rates, confirmation times, failures and unusual findings."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from comptroller import arguments
from comptroller.analysis.parameters import COMMON_PARAMETERS
from comptroller.analysis.registry import NAMES, REPORTS, Definition
from comptroller.analysis.report import Report
from comptroller.display import numbers
from comptroller.errors import Error

_SHOWN_FAILURES = 5


class Finding(NamedTuple):
    """An unusual finding, and the report and arguments that show its details."""

    text: str
    report: str
    given: Mapping[str, Any]
    #: The arguments of the command line that name the store and the caller.
    store: Sequence[str] = ()

    @property
    def command(self) -> str:
        """The command that shows the details."""
        words = ["comptroller", "report", self.report.replace("_", "-")]
        for name, value in self.given.items():
            for each in value if isinstance(value, (list, tuple, set, frozenset)) else [value]:
                shown = arguments.text(name, each) if isinstance(each, datetime) else str(each)
                words += [f"--{name.replace('_', '-')}", shown]
        return shlex.join([*words, *self.store])


@dataclass(frozen=True, eq=False, repr=False)
class Overview:
    """An overview of the records of a service: tables by title, findings, omitted reports."""

    tables: Mapping[str, pl.DataFrame]
    findings: Sequence[Finding]
    left_out: Mapping[str, str]
    title = "Overview"

    def with_store(self, store: Sequence[str]) -> Overview:
        """Returns the overview with arguments that name the store in the command of a finding."""
        return replace(self, findings=[each._replace(store=store) for each in self.findings])

    def to_dict(self) -> dict[str, Any]:
        """Returns the rows of each table, the findings, and the reasons of omitted reports."""
        findings = [{"finding": each.text, "command": each.command} for each in self.findings]
        titles = [part.title for part in PARTS if part.title is not None]
        tables = {title: self.tables.get(title, pl.DataFrame()) for title in titles}
        rows = {title.lower(): frame.to_dicts() for title, frame in tables.items()}
        return {**rows, "findings": findings, "left_out": dict(self.left_out)}

    def _repr_html_(self) -> str:
        from comptroller.analysis import presentation

        return presentation.notebook_html(self)

    def __repr__(self) -> str:
        findings = [f"{each.text}: {each.command}" for each in self.findings]
        refused = [f"without {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join([f"<Overview, {len(findings)} findings>", *findings, *refused])


def overview(reports: Sequence[Report | Error], common: Mapping[str, Any]) -> Overview:
    """Returns the overview of the reports of PARTS; an Error becomes an entry of `left_out`."""
    defaults = {name: each.default for name, each in COMMON_PARAMETERS.items()}
    shown = {name: each for name, each in common.items() if each not in (None, defaults[name])}
    shown.pop("engine", None)
    tables, findings, left_out = {}, [], {}
    for part, report in zip(PARTS, reports, strict=True):
        name = part.definition.name
        if isinstance(report, Error):
            left_out[name] = report.detail
            continue
        if report.has_unknown_sums:
            left_out[f"amounts of {name}"] = "they have more than 20 digits before the point"
        frame = report.to_polars()
        if part.title is not None and len(frame):
            tables[part.title] = part.show(frame) if part.show else frame
        found = part.find(frame) if part.find and len(frame) else ()
        for text, more in found:
            findings.append(Finding(text, name, {**shown, **part.given, **more}))
    return Overview(tables, findings, left_out)


# The texts of findings, and arguments that narrow the report to each.
_Found = Iterator[tuple[str, dict[str, Any]]]


def _claims(statuses: pl.DataFrame) -> pl.DataFrame:
    """Returns the totals of all claims as one row."""
    waiting = {
        status.lower(): pl.col("claims").filter(pl.col("status") == status).sum()
        for status in ("SUBMITTED", "PENDING")
    }
    counted = statuses.select(pl.col("claims", "confirmed", "failed").sum(), **waiting)
    ended = pl.col("confirmed") + pl.col("failed")
    return counted.with_columns(success_rate=pl.when(ended > 0).then(pl.col("confirmed") / ended))


def _amounts(assets: pl.DataFrame) -> pl.DataFrame:
    amounts = ("confirmed_amount", "waiting_amount", "failed_amount")
    return assets.select("asset", *amounts)


def _failures(failures: pl.DataFrame) -> pl.DataFrame:
    counted = failures.group_by("error_message").agg(pl.col("failures", "made_good").sum())
    ordered = counted.sort("failures", "error_message", descending=[True, False], nulls_last=True)
    return ordered.head(_SHOWN_FAILURES)


def _stuck(frame: pl.DataFrame) -> _Found:
    chains = frame.group_by("chain").agg(pl.len(), pl.col("age_seconds", "threshold_seconds").max())
    for chain, count, age, threshold in chains.sort("len", "chain", descending=True).rows():
        wait = f"{_plural(count, 'claim')} {'waits' if count == 1 else 'wait'} longer than"
        times = f"{numbers.seconds(threshold)}, the oldest for {numbers.seconds(age)}"
        yield f"{_name(chain)}: {wait} {times}", {}


def _schedules(frame: pl.DataFrame) -> _Found:
    for row in frame.iter_rows(named=True):
        failed = f"{_plural(row['failures'], 'claim')} failed since {row['first_at'].date()}"
        yield f"{row['schedule']}: {failed}, none confirmed: {_name(row['last_message'])}", {}


def _shared_transactions(frame: pl.DataFrame) -> _Found:
    transactions = frame.group_by("tx_hash", "chain").agg(pl.col("claims").sum())
    count, claims = len(transactions), int(transactions["claims"].sum())
    what = f"{_plural(count, 'transaction')} {'is' if count == 1 else 'are'} named by"
    yield f"{what} {_plural(claims, 'claim')}, which may count twice", {}


def _outside(frame: pl.DataFrame) -> _Found:
    beyond = frame.filter(~pl.col("within_tolerance"))
    newest = beyond.filter(pl.col("month") == pl.col("month").max())
    if not len(newest):
        return
    unusual = newest.sort(pl.col("deviation").abs(), descending=True, nulls_last=True)
    row = unusual.row(0, named=True)
    month = str(row["month"])[:7]  # strftime pads no years before 1000
    how = (
        "claims without a balance"
        if row["average_holdings"] == 0
        else "most groups claimed nothing"
    )
    if row["deviation"] is not None:
        how = f"{row['deviation']:+.1%} from the median"
    groups = _plural(newest["group"].n_unique(), "group")
    text = f"{month}: {groups} outside the tolerance; most unusual {_with_name(row)} ({how})"
    yield text, {"month": month}


def _days(frame: pl.DataFrame, *, are_amounts: bool = False) -> _Found:
    unusual = frame.sort(pl.col("score").abs(), descending=True, nulls_last=True)
    row = unusual.row(0, named=True)
    keys = frame.columns[: frame.columns.index("day")]
    series = " ".join(_name(row[key]) for key in keys if key not in NAMES.values())
    shown = "more than 20 digits"  # then the median is null too
    if row["value"] is not None:
        value, usual = numbers.plain(row["value"]), numbers.plain(row["median"])
        what = " confirmed" if are_amounts else f" {'claim' if value == '1' else 'claims'}"
        shown = f"{value}{what}, usually {usual}"
    days = _plural(frame["day"].n_unique(), "unusual day")
    yield f"{days}; most unusual {row['day']} ({series}: {shown})", {}


def _with_name(row: Mapping[str, Any]) -> str:
    return row["group"] if row["group_name"] is None else f"{row['group_name']}, {row['group']}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _name(value: str | None) -> str:
    return "(none)" if value is None else value


class Part(NamedTuple):
    """A report of the overview, its table, and the function that finds unusual rows in it."""

    definition: Definition
    given: Mapping[str, Any]
    find: Callable[[pl.DataFrame], _Found] | None = None
    title: str | None = None
    show: Callable[[pl.DataFrame], pl.DataFrame] | None = None


#: The reports of an overview, in the order of its tables, then of its findings.
PARTS: Sequence[Part] = (
    Part(REPORTS["claims_summary"], {"by": ("status",)}, title="Claims", show=_claims),
    Part(REPORTS["claims_summary"], {"by": ("asset",)}, title="Amounts", show=_amounts),
    Part(REPORTS["confirmation_times"], {"by": ()}, title="Times"),
    Part(REPORTS["failures"], {"by": ()}, title="Failures", show=_failures),
    Part(REPORTS["stuck_claims"], {}, _stuck),
    Part(REPORTS["failing_schedules"], {}, _schedules),
    Part(REPORTS["shared_transactions"], {}, _shared_transactions),
    Part(REPORTS["reconciliation"], {}, _outside),
    Part(REPORTS["anomalies"], {}, _days),
    Part(REPORTS["anomalies"], {"measure": "amount"}, partial(_days, are_amounts=True)),
)
#: Every report without required parameters; claims also by status.
EVERY = [
    Part(definition, {})
    for definition in REPORTS.values()
    if not any(each.is_required for each in definition.parameters.values())
]
EVERY.insert(1, Part(REPORTS["claims_summary"], {"by": ("status", "day")}))
