"""Contenders, each run in a process of its own and in turn, and the medians of what they took.

A contender is a public function of a row's module that takes the folder of the data and returns what
it measured: names with numbers. `python contest.py MODULE FUNCTION FOLDER` runs one and prints that.
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
SLOW_SECONDS = 30.0
RUNS_OF_SLOW = 2


@dataclass
class Outcome:
    """What one contender measured, run after run."""

    contender: str
    runs: list[dict[str, float]] = field(default_factory=list)
    failure: str = ""

    def median(self, name: str = "seconds") -> float:
        return median(run[name] for run in self.runs)

    def best(self, name: str = "seconds") -> float:
        return min(run[name] for run in self.runs)


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
    """Each contender `runs` times, alternating; one that takes over 30 s twice, one that fails once."""
    outcomes = {contender: Outcome(contender) for contender in contenders}
    for _ in range(runs):
        for outcome in outcomes.values():
            is_slow = bool(outcome.runs) and outcome.runs[0].get("seconds", 0) > SLOW_SECONDS
            if outcome.failure or (is_slow and len(outcome.runs) >= RUNS_OF_SLOW):
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
