"""The page of the results: of each promise the figures of its checks, by the run of each."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import comptroller
from promises import PROMISES

PAGE = Path(__file__).parents[3] / "docs" / "reliability-results.md"
INTRODUCTION = """\
# Results of the long checks

For readers who decide whether to rely on comptroller: what each long check of its promises found
when it last ran. [Guarantees and their tests](reliability.md) describes the guarantees, and the
tests that run at each change.

`make torture` runs all checks in at most an hour, but for those of promise 17, which measure memory
with up to millions of records, 18, which compile the core three times, and two of promise 3, which
fail each replaced system call, and each allocation of short operations. The check of promise 20
only reads the results of `make torture-planted`, which takes hours. `make torture PROMISE=17` runs
those of one promise. The checks use no network beyond the machine, stop by themselves, and replace
their rows here; each row is below the run that found it."""
_HEAD = "| Check | Figures | Seconds | Outcome |\n|---|---|---:|---|"


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


def _tables(section: str) -> dict[str, dict[str, str]]:
    """Returns the rows of each run, by the circumstances of the run and the name of the check."""
    tables: dict[str, dict[str, str]] = {}
    for table in re.findall(r"^(?!\|)(.+)\n\n((?:\|.*\n?)+)", section, re.MULTILINE):
        circumstances, lines = table
        rows = lines.splitlines()[2:]
        tables[circumstances] = {
            row[2:].partition(" | ")[0].replace(r"\|", "|"): row for row in rows
        }
    return tables


def _table(circumstances: str, rows: Iterable[str]) -> str:
    return "\n".join([f"{circumstances}\n", _HEAD, *rows])


def write(
    checks: Mapping[int, list[Check]],
    command: str,
    known: Mapping[int, list[str]],
    page: Path = PAGE,
) -> None:
    """Replaces the rows of the checks that ran, each with the circumstances of its run.

    Args:
        checks: those that ran, by promise.
        command: that ran them.
        known: the names of all checks, by promise. The rows of others, which no longer exist, are
            removed from the sections of those that ran; checks without a row are named.
        page: the file.
    """
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    found = re.findall(r"^## (\d+)\. .*\n\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    sections = {int(number): _tables(body) for number, body in found}
    circumstances = _circumstances(command)
    parts = [INTRODUCTION]
    for number, title in PROMISES.items():
        names = known.get(number, [])
        done = {each.name: each.row() for each in checks.get(number, [])}
        tables = {
            run: {
                name: row
                for name, row in rows.items()
                if number not in checks or (name in names and name not in done)
            }
            for run, rows in sections.get(number, {}).items()
        }
        tables.setdefault(circumstances, {}).update(done)
        parts.append(f"## {number}. {title}")
        parts += (_table(run, rows.values()) for run, rows in tables.items() if rows)
        have_run = set().union(*tables.values())
        if left := [name for name in names if name not in have_run]:
            parts.append(f"Not run yet: {'; '.join(left)}.")
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
