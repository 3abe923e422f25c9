"""The page of the results: a section for each promise, which a run of its checks replaces."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import comptroller
from promises import PROMISES

PAGE = Path(__file__).parents[3] / "docs" / "reliability-results.md"
INTRODUCTION = """\
# Results of the long checks

For readers who decide whether to rely on comptroller: what the long checks of its promises found
when they last ran. [Guarantees and their tests](reliability.md) describes the guarantees, and the
tests that run at each change.

`make torture` runs all checks in at most an hour, but for those of promise 17, which load millions
of claims, 18, which compile the core three times, and two of promise 3, with each possible fault.
`make torture PROMISE=17` runs those of one promise. They use no network beyond the machine, stop
by themselves, and replace their sections here."""
NOT_RUN = "These checks have not run yet."


class Check(NamedTuple):
    """The outcome of one test."""

    name: str
    figures: dict[str, Any]
    seconds: float
    outcome: str

    def row(self) -> str:
        figures = "; ".join(f"{name}: {_text(value)}" for name, value in self.figures.items())
        cells = (self.name, figures or "-", f"{self.seconds:,.0f}", self.outcome)
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _circumstances(command: str) -> str:
    with comptroller.open(":memory:") as service:
        engine = service.check()["engine"]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, `{command}`, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"{platform.system()} {platform.release().partition('-')[0]}, "
        f"Python {sys.version.partition(' ')[0]}, {engine}"
    )


def _rows(section: str) -> dict[str, str]:
    """Returns the rows of a section by the names of their checks."""
    rows = re.findall(r"^\| .* \|$", section, re.MULTILINE)[1:]
    return {row[2:].partition(" | ")[0].replace(r"\|", "|"): row for row in rows}


def _section(rows: Iterable[str], command: str) -> str:
    head = "| Check | Figures | Seconds | Outcome |\n|---|---|---:|---|"
    return "\n".join([f"{_circumstances(command)}\n", head, *rows])


def write(
    checks: dict[int, list[Check]], command: str, page: Path = PAGE, *, is_partial: bool = False
) -> None:
    """Replaces the sections of the promises that were checked; of a partial run only its rows."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    found = re.findall(r"^## (\d+)\. .*\n\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    sections = {int(number): body.strip() for number, body in found}
    for number, done in checks.items():
        rows = _rows(sections.get(number, "")) if is_partial else {}
        rows |= {each.name: each.row() for each in done}
        sections[number] = _section(rows.values(), command)
    parts = [
        f"## {number}. {title}\n\n{sections.get(number, NOT_RUN)}"
        for number, title in PROMISES.items()
    ]
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n\n".join([INTRODUCTION, *parts]) + "\n", encoding="utf-8")
