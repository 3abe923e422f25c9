"""Generates the classes of the reports, and the table of the reports in the documentation."""

from __future__ import annotations

from collections.abc import Iterable

from comptroller.analysis.parameters import Parameter
from comptroller.analysis.registry import REPORTS, Definition
from writing import docstring, module

_NOTE = "# Generated from the registry of reports by `make generate`; change the files of `sql`."
_IMPORTS = """
from collections.abc import Sequence

from comptroller.analysis.engines import Engine
from comptroller.analysis.parameters import Since
from comptroller.analysis.registry import REPORTS
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner
from comptroller.arguments import Texts
"""
_MEANING = (
    "All methods accept the filters `status`, `chain`, `asset`, `jurisdiction`, `group` and "
    "`customer`, each one value or several; `since` (inclusive) and `until` (exclusive), which "
    "bound ``created_at``; `tz`, the time zone of days, longer periods and bounds; and `engine`: "
    "duckdb, postgresql (in the database of the service), spark, or an engine object. A filter "
    "selects rows: what they are compared with, such as the times of a chain or the median of all "
    "groups, stays that of all records. All engines return equal results. Reports on an unchanged "
    "store share the tables that were read. Each table is a consistent snapshot; the tables of one "
    "report may be read at slightly different times."
)
_ERRORS = (
    (
        "InvalidRequest",
        "a key or the engine is unknown, a value is invalid, or `until` is before `since`",
    ),
    ("MissingExtra", "a module of the engine is not installed"),
)


#: The reports that are not in the module `claims`, by the name of their module.
_TOPICS = {
    "failures": ("stuck_claims", "failures", "failing_schedules", "shared_transactions"),
    "groups": ("group_statement", "reconciliation", "cohort"),
    "records": ("restrictions", "restricted", "orchestration_flow", "history"),
}


def modules() -> dict[str, str]:
    """Returns the modules of `analysis.reports` by their names."""
    elsewhere = {name for names in _TOPICS.values() for name in names}
    topics = {"claims": tuple(name for name in REPORTS if name not in elsewhere), **_TOPICS}
    classes = {topic: f"{topic.capitalize()}Reports" for topic in topics}
    found = {topic: _topic(topic, classes[topic], names) for topic, names in topics.items()}
    imports = "".join(
        f"from comptroller.analysis.reports.{topic} import {name}\n"
        for topic, name in classes.items()
    )
    what = "Reports on the records of a service. A method runs a report and returns its result."
    meaning = docstring(4, what, _MEANING, errors=_ERRORS)
    docs = ("The class of `svc.reports`, with a method for each report of the registry.", "")
    body = f"class Reports({', '.join(classes.values())}):\n{meaning}\n"
    return {"__init__": module(docs, imports, body, note=_NOTE), **found}


def _topic(topic: str, name: str, reports: Iterable[str]) -> str:
    """Returns a module with a class that has the methods of some reports."""
    what = f"The reports on {topic}." if topic != "records" else "The reports on other records."
    lines = [f"class {name}(Runner):", docstring(4, what.replace("The reports", "Reports"))]
    methods = (_method(REPORTS[each]) for each in reports)
    return module((what, ""), _IMPORTS, "\n".join([*lines, *methods]), note=_NOTE)


def _method(definition: Definition) -> str:
    takes = [f"{name}: {_type(each)}" for name, each in definition.takes.items()]
    own = len(definition.own)
    parameters = ", ".join(["self", *takes[:own], "*", *takes[own:]])
    common = _members(list(definition.takes)[own:])
    given = ", ".join([*_members(definition.own), "**common"])
    return (
        f"    def {definition.name}({parameters}) -> Report:\n{_docstring(definition)}\n"
        f"        common = {{{', '.join(common)}}}\n"
        f'        return self.run(REPORTS["{definition.name}"], {{{given}}})\n'
    )


def _type(parameter: Parameter) -> str:
    default = "" if parameter.is_required else f" = {parameter.default!r}"
    return f"{parameter.annotation}{default}"


def _members(names: Iterable[str]) -> list[str]:
    return [f'"{name}": {name}' for name in names]


def _docstring(definition: Definition) -> str:
    arguments = [(name, each.description) for name, each in definition.takes.items()]
    columns = [
        (name, f"{column.meaning} ({column.unit})") for name, column in definition.columns.items()
    ]
    if definition.by is not None:
        more = ("asset",) if definition.has_amounts else definition.keys
        keys = ", ".join(("the keys of `by`", *more))
        columns.insert(
            0, ("keys", f"{keys}; a period is the date of its start in `tz`, an hour a time in UTC")
        )
    return docstring(8, definition.question, definition.formula, arguments, columns=columns)


def table() -> str:
    """Returns the reports as a Markdown table."""
    rows = []
    for definition in REPORTS.values():
        names = ", ".join(definition.own)
        rows.append(f"| `{definition.name}({names})` | {definition.question} |\n")
    return "| Report | Answers |\n|---|---|\n" + "".join(rows)
