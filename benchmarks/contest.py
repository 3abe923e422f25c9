"""Contenders, each run in a process of its own and in turn, and the medians of what they took.

A contender is a public function of a row's module that takes the folder of the data and returns
what it measured: names with numbers. `python contest.py MODULE FUNCTION FOLDER` runs one and
prints that.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
# Seconds of a first run, and how many runs there are at most beyond them.
SLOW = ((90.0, 1), (30.0, 2))


@dataclass
class Outcome:
    """What one contender measured, run after run."""

    contender: str
    runs: list[dict[str, float]] = field(default_factory=list)
    failure: str = ""

    def median(self, name: str = "seconds") -> float | None:
        """None if it failed, or does not measure that."""
        values = [run[name] for run in self.runs if name in run]
        return median(values) if values else None

    def least(self, name: str) -> float:
        """What is not due to others on the machine, which only add to it."""
        return min(run[name] for run in self.runs)

    @property
    def most_runs(self) -> int:
        """How often it may run, after how long the first one took."""
        first = self.runs[0].get("seconds", 0.0) if self.runs else 0.0
        return next((runs for seconds, runs in SLOW if first > seconds), sys.maxsize)


def run_once(module: str, contender: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, str(HERE / "contest.py"), module, contender, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"ended with {done.returncode}")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def run_in_turn(
    module: str, contenders: Sequence[str], folder: Path, runs: int
) -> dict[str, Outcome]:
    """Each contender `runs` times, in turn; fewer if it is slow, no more once it failed."""
    outcomes = {contender: Outcome(contender) for contender in contenders}
    for _ in range(runs):
        for outcome in outcomes.values():
            if outcome.failure or len(outcome.runs) >= outcome.most_runs:
                continue
            try:
                outcome.runs.append(run_once(module, outcome.contender, folder))
            except RuntimeError as error:
                outcome.failure = str(error)
                print(f"  {outcome.contender} failed: {error}", file=sys.stderr)
                continue
            shown = ", ".join(f"{name} {value:,.4g}" for name, value in outcome.runs[-1].items())
            print(f"  {outcome.contender}: {shown}", file=sys.stderr)
    return outcomes


if __name__ == "__main__":
    name, function, place = sys.argv[1:]
    print(json.dumps(getattr(import_module(name), function)(Path(place))))
