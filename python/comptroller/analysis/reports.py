"""The class of `svc.reports`, with a method for each report of the registry."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from textwrap import fill, indent
from typing import Any

from comptroller.analysis.parameters import COMMON_PARAMETERS
from comptroller.analysis.registry import REPORTS, Definition
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner

_WIDTH = 92


class Reports(Runner):
    """Reports on the records of a service. A method runs a report and returns its result.

    All methods accept `since` (inclusive) and `until` (exclusive), which bound ``created_at``, and
    `engine`: duckdb, spark, or an engine object. All engines return equal results. Reports on an
    unchanged store share the tables that were read. Each table is a consistent snapshot; the tables
    of one report may be read at slightly different times.

    Raises:
        InvalidRequest: a key or the engine is unknown, a value is invalid, or `until` is before
            `since`.
        MissingExtra: a module of the engine is not installed.
    """


def _method(definition: Definition) -> Callable[..., Report]:
    positional, keyword = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    arguments = [Parameter("self", positional)]
    for name, each in definition.takes.items():
        kind = keyword if name in COMMON_PARAMETERS else positional
        default = Parameter.empty if each.is_required else each.default
        arguments.append(Parameter(name, kind, default=default, annotation=each.annotation))
    signature = Signature(arguments, return_annotation="Report")

    def method(self: Runner, *given: Any, **named: Any) -> Report:
        _, *own = signature.bind(self, *given, **named).arguments.items()
        return self.run(definition, dict(own))

    method.__name__ = definition.name
    method.__qualname__ = f"Reports.{definition.name}"
    method.__doc__ = _docstring(definition)
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def _docstring(definition: Definition) -> str:
    lines = [definition.question, "", fill(definition.formula, _WIDTH), "", "Args:"]
    lines += [_listed(name, each.description) for name, each in definition.takes.items()]
    lines += ["", "Columns:"]
    if definition.by is not None:
        more = ("asset",) if definition.has_amounts else definition.keys
        keys = ("the keys of `by`; a period is its start in UTC", *more)
        lines.append(_listed("keys", ", ".join(keys)))
    for name, column in definition.columns.items():
        lines.append(_listed(name, f"{column.meaning} ({column.unit})"))
    return "\n".join(lines) + "\n"


def _listed(name: str, text: str) -> str:
    return indent(fill(f"{name}: {text}", _WIDTH - 4, subsequent_indent="    "), "    ")


for _definition in REPORTS.values():
    setattr(Reports, _definition.name, _method(_definition))
