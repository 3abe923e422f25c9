"""Contenders, each run in turn in a separate process, and the medians of their measurements.

A contender is a public function of a row's module. It takes the folder of the data and returns its
measurements by name. `python contest.py MODULE FUNCTION FOLDER` runs one and prints them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
# Seconds of a first run, and the maximum number of further runs.
SLOW = ((90.0, 1), (30.0, 2))


@dataclass
class Outcome:
    """The measurements of one contender in all runs."""

    contender: str
    runs: list[dict[str, float]] = field(default_factory=list)
    failure: str = ""

    def median(self, name: str = "seconds") -> float | None:
        """Returns the median; None if the contender failed or does not measure it."""
        values = [run[name] for run in self.runs if name in run]
        return median(values) if values else None

    def least(self, name: str) -> float:
        """Returns the minimum, because other load of the machine only adds time."""
        return min(run[name] for run in self.runs)

    @property
    def most_runs(self) -> int:
        """Returns the number of runs, given the duration of the first run."""
        first = self.runs[0].get("seconds", 0.0) if self.runs else 0.0
        return next((runs for seconds, runs in SLOW if first > seconds), sys.maxsize)


def run_once(
    module: str, contender: str, folder: Path, python: str | Path = sys.executable
) -> dict[str, float]:
    command = [str(python), str(HERE / "contest.py"), module, contender, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"ended with {done.returncode}")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def run_in_turn(
    module: str, contenders: Sequence[str], folder: Path, runs: int
) -> dict[str, Outcome]:
    """Runs each contender `runs` times in turn; fewer if it is slow, and stops after a failure."""
    outcomes = {contender: Outcome(contender) for contender in contenders}
    for _ in range(runs):
        for outcome in outcomes.values():
            if outcome.failure or len(outcome.runs) >= outcome.most_runs:
                continue
            os.sync()  # so that the disk does not write for the contender before
            try:
                outcome.runs.append(run_once(module, outcome.contender, folder))
            except RuntimeError as error:
                outcome.failure = str(error)
                print(f"  {outcome.contender} failed: {error}", file=sys.stderr)
                continue
            shown = ", ".join(f"{name} {value:,.4g}" for name, value in outcome.runs[-1].items())
            print(f"  {outcome.contender}: {shown}", file=sys.stderr)
    return outcomes


def timed(read: Callable[[], Any]) -> dict[str, float]:
    """Returns the seconds that reading a frame takes, and its rows.

    The clock starts when the process is at rest, because the threads of OpenBLAS, which numpy
    imports, stay busy for a moment.
    """
    import polars  # noqa: F401
    import pyarrow  # noqa: F401  (both are imported before the clock starts)

    for _ in range(100):
        busy = time.process_time()
        time.sleep(0.05)
        if time.process_time() - busy < 0.005:
            break
    else:
        raise RuntimeError("the process is busy before its work begins")
    started = time.perf_counter()
    frame = read()
    return {"seconds": time.perf_counter() - started, "rows": len(frame)}


if __name__ == "__main__":
    name, function, place = sys.argv[1:]
    print(json.dumps(getattr(import_module(name), function)(Path(place))))
