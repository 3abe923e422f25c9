"""comptroller's own figures of some rows, in two environments that take turns.

python benchmarks/paired.py OTHER/.venv/bench/bin/python    an older checkout against this one

Both run the contenders of this checkout, each with the package of its environment and its own
store of the same sample. A ratio is this environment's figure divided by the other's in the same
round.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from statistics import median, quantiles

import stores
from contest import run_once

HERE = Path(__file__).parent
CONTENDERS = (
    ("loading", "comptroller"),
    ("pages", "comptroller"),
    ("servers.creates", "comptroller"),
    ("growth", "comptroller"),
    ("starting", "python_alone"),
    ("starting", "import_comptroller"),
    ("starting", "import_and_open"),
    ("starting", "trivial_command"),
    ("starting", "first_answer_of_serve"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("other", type=Path, help="the Python of the other environment")
    parser.add_argument("--rows", type=int, default=1_000_000, help="how many claims")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of both")
    parser.add_argument("--only", default="", help="modules, such as loading,pages")
    parser.add_argument("--folder", type=Path, default=HERE.parent / "build" / "paired")
    given = parser.parse_args()
    shutil.rmtree(given.folder, ignore_errors=True)
    environments = {"other": given.other.absolute(), "this": Path(sys.executable)}
    places = {name: given.folder / name for name in environments}
    for place in places.values():
        stores.make_sample(place, given.rows)
    chosen = set(given.only.split(",")) if given.only else {module for module, _ in CONTENDERS}
    print("| Figure | other | this | this / other | middle half of the rounds |")
    print("|---|---:|---:|---:|---:|")
    for module, contender in CONTENDERS:
        if module not in chosen:
            continue
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in environments}
        for number in range(given.rounds):
            order = list(environments)[:: 1 if number % 2 else -1]
            for name in order:
                runs[name].append(run_once(module, contender, places[name], environments[name]))
        for figure in runs["this"][0]:
            others, ours = ([run[figure] for run in runs[name]] for name in environments)
            ratios = [mine / other for mine, other in zip(ours, others, strict=True) if other]
            if ratios:
                low, _, high = quantiles(ratios, n=4)
                shown = f"{median(others):,.4g} | {median(ours):,.4g} | {median(ratios):.3f}"
                what = contender if module == "starting" else module
                print(f"| {what}: {figure} | {shown} | {low:.3f} to {high:.3f} |", flush=True)


if __name__ == "__main__":
    main()
