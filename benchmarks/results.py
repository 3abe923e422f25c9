"""RESULTS.md: tables of the measurements, and whether the goals are met."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

PACKAGES = (
    "polars",
    "pandas",
    "pyarrow",
    "duckdb",
    "adbc-driver-sqlite",
    "connectorx",
    "sqlite-utils",
    "msgspec",
    "fastapi",
    "sqlalchemy",
    "uvicorn",
)


@dataclass
class Aim:
    """A goal for a figure: at least or at most `goal`."""

    what: str
    value: float | None
    goal: float
    unit: str = "x"
    is_upper: bool = False

    @property
    def is_met(self) -> bool:
        if self.value is None:
            return False
        return self.value <= self.goal if self.is_upper else self.value >= self.goal

    def cells(self) -> list[str]:
        unit = f" {self.unit}" if self.unit else ""
        value = "not measured" if self.value is None else f"{self.value:,.2f}{unit}"
        goal = f"{'<=' if self.is_upper else '>='} {self.goal:,g}{unit}"
        verdict = "met" if self.is_met else "**not met**"
        return [self.what, value, goal, "-" if self.value is None else verdict]


@dataclass
class Row:
    """One row of the benchmarks: its description, tables of measurements, and goals."""

    number: int
    title: str
    notes: list[str] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    lines: list[list[str]] = field(default_factory=list)
    aims: list[Aim] = field(default_factory=list)

    def markdown(self) -> str:
        parts = [f"## {self.number}. {self.title}", *self.notes]
        if self.lines:
            parts.append(table(self.header, self.lines))
        if self.aims:
            parts.append(table(["Aim", "Measured", "Goal", ""], [aim.cells() for aim in self.aims]))
        return "\n\n".join(parts)


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *lines))


def ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _compiler() -> str:
    done = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return "\n".join(
        [
            f"- Machine: {_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB,"
            f" {platform.system()} {platform.release()}; load before the run"
            f" {os.getloadavg()[0]:.1f}",
            f"- Python {sys.version.partition(' ')[0]}, SQLite {sqlite3.sqlite_version},"
            f" {_compiler()} -O2 for the limits",
            f"- {packages}",
        ]
    )


def write(path: Path, introduction: str, rows: Sequence[Row]) -> None:
    aims = [aim for row in rows for aim in row.aims]
    met = sum(aim.is_met for aim in aims)
    not_measured = sum(aim.value is None for aim in aims)
    unknown = f", {not_measured} not measured" if not_measured else ""
    summary = f"**{met} of {len(aims)} aims met{unknown}.**"
    head = f"# Benchmarks\n\n{introduction}\n\n{machine()}\n\n{summary}"
    path.write_text("\n\n".join([head, *(row.markdown() for row in rows)]) + "\n")
