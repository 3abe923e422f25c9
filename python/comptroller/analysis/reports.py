"""The reports of a service: `svc.reports`, a method for each entry of the registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from comptroller.analysis.reference import docstring, signature
from comptroller.analysis.registry import REPORTS, Definition
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner


class Reports(Runner):
    """Reports on what a service holds, each run when it is asked for and whole on return.

    In all of them `since` (included) and `until` (excluded) bound created_at; `engine` is duckdb or
    spark, or an engine, and the answers are equal. Several reports of a store that did not change
    share what was read of it. Each table is read as of one time, the first of several a little
    before the last.

    Raises:
        InvalidRequest: an unknown key or engine, a malformed value, `until` before `since`.
        MissingExtra: what the engine needs is not installed.
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
