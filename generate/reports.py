"""The stub of the reports, and the table of the reports in the documentation."""

from __future__ import annotations

from comptroller.analysis.parameters import COMMON_PARAMETERS, Parameter
from comptroller.analysis.registry import REPORTS

_STUB = """# Written by `make generate` from the registry of reports.
from collections.abc import Sequence
from typing import TypedDict, Unpack

from comptroller.analysis.engines import Engine
from comptroller.analysis.parameters import Since
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner

class Bounds(TypedDict, total=False):
    since: Since
    until: Since
    engine: str | Engine | None

class Reports(Runner):
"""


def stub() -> str:
    """Returns the stub of `analysis.reports`, for type checkers and editors."""
    methods = []
    for definition in REPORTS.values():
        own = [
            _written(*each) for each in definition.takes.items() if each[0] not in COMMON_PARAMETERS
        ]
        taken = "".join(f"        {each},\n" for each in ["self", *own, "**bounds: Unpack[Bounds]"])
        methods.append(
            f"    def {definition.name}(\n{taken}    ) -> Report:\n"
            f'        """{definition.question}"""\n'
        )
    return _STUB + "\n".join(methods)


def _written(name: str, parameter: Parameter) -> str:
    default = "" if parameter.is_required else f" = {parameter.default!r}"
    return f"{name}: {parameter.annotation}" + default.replace("'", '"')


def table() -> str:
    """Returns the reports as a Markdown table."""
    rows = []
    for definition in REPORTS.values():
        names = ", ".join(name for name in definition.takes if name not in COMMON_PARAMETERS)
        rows.append(f"| `{definition.name}({names})` | {definition.question} |\n")
    return "| Report | Answers |\n|---|---|\n" + "".join(rows)
