"""The class of `svc.reports`, with a method for each report of the registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from comptroller.analysis.reference import docstring, signature
from comptroller.analysis.registry import REPORTS, Definition
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner


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
    signed = signature(definition)

    def method(self: Runner, *given: Any, **named: Any) -> Report:
        bound = signed.bind(self, *given, **named)
        bound.apply_defaults()
        del bound.arguments["self"]
        return self.run(definition, bound.arguments)

    method.__name__ = definition.name
    method.__qualname__ = f"Reports.{definition.name}"
    method.__doc__ = docstring(definition)
    method.__signature__ = signed  # type: ignore[attr-defined]
    return method


for _definition in REPORTS.values():
    setattr(Reports, _definition.name, _method(_definition))
