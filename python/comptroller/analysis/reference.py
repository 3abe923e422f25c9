"""Signatures, docstrings, the type stub and documentation tables, generated from the registry."""

from __future__ import annotations

from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from textwrap import fill, indent

from comptroller.analysis.parameters import SHARED, Parameter
from comptroller.analysis.registry import REPORTS, Definition

_WIDTH = 92


def signature(definition: Definition) -> Signature:
    """Returns the signature of a report's method: its own parameters, then the shared ones."""
    arguments = [Argument("self", Argument.POSITIONAL_OR_KEYWORD)]
    for name, each in definition.takes.items():
        kind = Argument.KEYWORD_ONLY if name in SHARED else Argument.POSITIONAL_OR_KEYWORD
        default = Argument.empty if each.is_required else each.default
        arguments.append(Argument(name, kind, default=default, annotation=each.annotation))
    return Signature(arguments, return_annotation="Report")


def docstring(definition: Definition) -> str:
    """Returns the docstring of a report's method: the question, the arguments, the columns."""
    lines = [definition.question, "", fill(definition.formula, _WIDTH), "", "Args:"]
    lines += [_listed(name, described(each)) for name, each in definition.takes.items()]
    lines += ["", "Columns:"]
    if definition.by is not None:
        more = ("asset",) if definition.has_amounts else definition.keys
        lines.append(_listed("keys", ", ".join([_KEYS, *more])))
    for name, column in definition.columns.items():
        lines.append(_listed(name, f"{column.meaning} ({column.unit})"))
    return "\n".join(lines) + "\n"


_KEYS = "the keys of `by`; a period is its start in UTC"


def described(parameter: Parameter) -> str:
    """Returns the meaning of a parameter, and its choices."""
    choices = f": {' or '.join(parameter.choices)}" if parameter.kind == "choice" else ""
    return parameter.meaning + choices


def _listed(name: str, text: str) -> str:
    return indent(fill(f"{name}: {text}", _WIDTH - 4, subsequent_indent="    "), "    ")


def stub() -> str:
    """Returns the stub of :mod:`.reports`, for type checkers and editors."""
    methods = []
    for definition in REPORTS.values():
        arguments = signature(definition).parameters.values()
        own = [_written(each) for each in arguments if each.name not in SHARED]
        taken = "".join(f"        {each},\n" for each in [*own, "**bounds: Unpack[Bounds]"])
        methods.append(
            f"    def {definition.name}(\n{taken}    ) -> Report:\n"
            f'        """{definition.question}"""\n'
        )
    return _STUB + "\n".join(methods)


def _written(argument: Argument) -> str:
    if argument.annotation is Argument.empty:
        return argument.name
    default = "" if argument.default is Argument.empty else f" = {argument.default!r}"
    return f"{argument.name}: {argument.annotation}" + default.replace("'", '"')


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


def table() -> str:
    """Returns the reports as a Markdown table for the documentation."""
    rows = []
    for definition in REPORTS.values():
        names = ", ".join(name for name in definition.takes if name not in SHARED)
        rows.append(f"| `{definition.name}({names})` | {definition.question} |\n")
    return "| Report | Answers |\n|---|---|\n" + "".join(rows)


if __name__ == "__main__":
    Path(__file__).with_name("reports.pyi").write_text(stub(), encoding="utf-8")
