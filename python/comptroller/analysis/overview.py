"""Everything at a glance: totals, success, times, what waits, what failed, what is unusual."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import polars as pl

from comptroller.analysis import registry, sections
from comptroller.analysis.registry import Definition
from comptroller.analysis.report import Report
from comptroller.display import numbers
from comptroller.errors import Error

_SHOWN_FAILURES = 5
_TITLES = ("Claims", "Amounts", "Times", "Failures")


class Finding(NamedTuple):
    """Something unusual, and the report that shows more of it, with what it was asked for."""

    text: str
    report: str
    given: Mapping[str, Any]

    @property
    def command(self) -> str:
        """The command that shows more."""
        words = ["comptroller", "report", self.report.replace("_", "-")]
        for name, value in self.given.items():
            shown = f"{value:%Y-%m-%dT%H:%M:%S.%fZ}" if isinstance(value, datetime) else str(value)
            words += [f"--{name.replace('_', '-')}", shown]
        return shlex.join(words)


class Overview:
    """A screen of what a service holds: tables by title, and findings."""

    title = "Overview"

    def __init__(
        self,
        tables: Mapping[str, pl.DataFrame],
        findings: Sequence[Finding],
        left_out: Mapping[str, str],
    ) -> None:
        self.tables = tables
        self.findings = findings
        self.left_out = left_out

    def to_dict(self) -> dict[str, Any]:
        """The rows of each table, findings with their commands, and why reports are left out."""
        findings = [{"finding": each.text, "command": each.command} for each in self.findings]
        tables = {name: self.tables.get(name, pl.DataFrame()) for name in _TITLES}
        rows = {name.lower(): frame.to_dicts() for name, frame in tables.items()}
        return {**rows, "findings": findings, "left_out": dict(self.left_out)}

    def _repr_html_(self) -> str:
        return sections.overview_in_notebook(self)

    def __repr__(self) -> str:
        findings = [f"{each.text}: {each.command}" for each in self.findings]
        refused = [f"without {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join([f"<Overview, {len(findings)} findings>", *findings, *refused])


def overview(ran: Sequence[Report | Error], bounds: Mapping[str, Any]) -> Overview:
    """The overview of the reports of PARTS, without those that were refused."""
    frames = [each.to_polars() if isinstance(each, Report) else None for each in ran]
    statuses, assets, times, failures, *_ = frames
    tables: dict[str, pl.DataFrame] = {}
    if statuses is not None and assets is not None and len(assets):
        columns = ("asset", "claims", "amount", "confirmed", "failed", "success_rate")
        tables |= {"Claims": _claims(statuses), "Amounts": assets.select(columns)}
    if times is not None and len(times):
        tables["Times"] = times
    if failures is not None and len(failures):
        tables["Failures"] = _failures(failures)
    asked = {name: value for name, value in bounds.items() if value is not None}
    findings = []
    left_out = {}
    for part, report, frame in zip(PARTS, ran, frames, strict=True):
        name = part.definition.name
        if isinstance(report, Error):
            left_out[name] = report.detail
            continue
        if report.has_gaps:
            left_out[f"amounts of {name}"] = "they have more than 20 digits before the point"
        if part.find is not None and frame is not None and len(frame):
            for text, more in part.find(frame):
                findings.append(Finding(text, name, {**asked, **part.given, **more}))
    return Overview(tables, findings, left_out)


_Found = list[tuple[str, dict[str, Any]]]


def _claims(statuses: pl.DataFrame) -> pl.DataFrame:
    """One row of all claims."""
    waiting = {
        name: pl.col("claims").filter(pl.col("status") == status).sum()
        for name, status in (("submitted", "SUBMITTED"), ("pending", "PENDING"))
    }
    counted = statuses.select(pl.col("claims", "confirmed", "failed").sum(), **waiting)
    ended = pl.col("confirmed") + pl.col("failed")
    return counted.with_columns(success_rate=pl.when(ended > 0).then(pl.col("confirmed") / ended))


def _failures(failures: pl.DataFrame) -> pl.DataFrame:
    counted = failures.group_by("error_message").agg(pl.col("failures", "made_good").sum())
    ordered = counted.sort("failures", "error_message", descending=[True, False], nulls_last=True)
    return ordered.head(_SHOWN_FAILURES)


def _stuck(frame: pl.DataFrame) -> _Found:
    chains = frame.group_by("chain").agg(pl.len(), pl.col("age_seconds", "threshold_seconds").max())
    return [
        (
            f"{_named(chain)}: {_many(count, 'claim')} {'waits' if count == 1 else 'wait'} longer"
            f" than {_duration(threshold)}, the oldest for {_duration(age)}",
            {},
        )
        for chain, count, age, threshold in chains.sort("len", "chain", descending=True).rows()
    ]


def _schedules(frame: pl.DataFrame) -> _Found:
    return [
        (
            f"{row['schedule']}: {_many(row['failures'], 'claim')} failed since "
            f"{row['first_at']:%Y-%m-%d}, none confirmed: {_named(row['last_message'])}",
            {},
        )
        for row in frame.iter_rows(named=True)
    ]


def _outside(frame: pl.DataFrame) -> _Found:
    beyond = frame.filter(~pl.col("within_tolerance"))
    newest = beyond.filter(pl.col("month") == pl.col("month").max())
    if not len(newest):
        return []
    furthest = newest.sort(pl.col("deviation").abs(), descending=True, nulls_last=True)
    row = furthest.row(0, named=True)
    month = f"{row['month']:%Y-%m}"
    how = "claims on no holdings" if row["deviation"] is None else f"{row['deviation']:+.1%}"
    groups = _many(newest["group"].n_unique(), "group")
    text = f"{month}: {groups} outside the tolerance, furthest {row['group']} ({how})"
    return [(text, {"month": month})]


def _days(frame: pl.DataFrame) -> _Found:
    furthest = frame.sort(pl.col("score").abs(), descending=True, nulls_last=True)
    row = furthest.row(0, named=True)
    series = " ".join(_named(row[key]) for key in frame.columns[: frame.columns.index("day")])
    shown = "more than 20 digits"  # such days have no median either
    if row["value"] is not None:
        shown = f"{numbers.plain(row['value'])}, usually {numbers.plain(row['median'])}"
    days = _many(frame["day"].n_unique(), "day")
    text = f"{days} outside the band, furthest {row['day']:%Y-%m-%d}"
    return [(f"{text} ({series}: {shown})", {})]


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _duration(seconds: float) -> str:
    return numbers.duration(round(seconds * 1_000_000))


def _named(word: str | None) -> str:
    return "(none)" if word is None else word


class Part(NamedTuple):
    """A report that is run with others, and what finds the unusual in its rows."""

    definition: Definition
    given: Mapping[str, Any]
    find: Callable[[pl.DataFrame], _Found] | None = None


#: What an overview is made from: first its tables, in their order.
PARTS: Sequence[Part] = (
    Part(registry.CLAIMS_SUMMARY, {"by": ("status",)}),
    Part(registry.CLAIMS_SUMMARY, {"by": ("asset",)}),
    Part(registry.CONFIRMATION_TIMES, {"by": ()}),
    Part(registry.FAILURES, {"by": ()}),
    Part(registry.STUCK_CLAIMS, {}, _stuck),
    Part(registry.FAILING_SCHEDULES, {}, _schedules),
    Part(registry.RECONCILIATION, {}, _outside),
    Part(registry.ANOMALIES, {}, _days),
    Part(registry.ANOMALIES, {"measure": "amount"}, _days),
)
#: Every report that needs nothing else to be asked for, the claims also by status.
EVERY: Sequence[Part] = (
    Part(registry.CLAIMS_SUMMARY, {}),
    Part(registry.CLAIMS_SUMMARY, {"by": ("status", "day")}),
    *(
        Part(definition, {})
        for definition in registry.REPORTS.values()
        if definition is not registry.CLAIMS_SUMMARY
        and not any(each.is_required for each in definition.parameters.values())
    ),
)
