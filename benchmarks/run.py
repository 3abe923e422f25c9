"""The benchmarks: the same work by comptroller, its peers and a limit, in one run.

python benchmarks/run.py                the full run
python benchmarks/run.py --quick        50,000 claims, 3 runs
python benchmarks/run.py --only 3,1     some of the rows, into a file of their own
"""

from __future__ import annotations

import argparse
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import picture
import rows
import serving
import stores
from results import write

HERE = Path(__file__).parent
SMALLEST_GROWTH = 10_000
LARGEST_GROWTH = 10_000_000
INTRODUCTION = """\
`make bench` wrote this page on {date} in {minutes:.0f} minutes. The data is {rows:,} claims of the
sample generator (seed {seed}, {size:,.0f} MB as NDJSON). Each contender runs {runs} times (2 times
if a run takes over 30 s, once if it takes over 90 s). The contenders take turns, and each run is a
new process. In rows 4 and 5 all servers stay up for {rounds} rounds; rows 6 and 13 have 5
rounds of 200 calls each. The figures are medians. Compare only ratios within one run. A limit does
the minimal work: a C program over SQLite (`limits/`), in row 4 prepared bytes on the same server,
in row 7 DuckDB over columns in memory."""

ROWS = rows.ROWS | {4: serving.lists_row, 5: serving.creates_row}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="how many claims")
    parser.add_argument("--runs", type=int, default=5, help="of each contender")
    parser.add_argument("--quick", action="store_true", help="50,000 claims, 3 runs")
    parser.add_argument("--only", default="1,2,3,4,5,6,7,8,9,10,11,12,13", help="rows, such as 1,3")
    parser.add_argument(
        "--ten-million", action="store_true", help="let rows 6 and 13 grow to 10,000,000 claims"
    )
    parser.add_argument("--folder", type=Path, default=HERE.parent / "build" / "bench")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument("--keep", action="store_true", help="keep the data for the next run")
    return parser.parse_args()


def main() -> None:
    given = options()
    claims, runs = (50_000, 3) if given.quick else (given.rows, given.runs)
    sizes = {size for size in (SMALLEST_GROWTH, 100_000) if size < claims} | {claims}
    if given.ten_million:
        sizes.add(LARGEST_GROWTH)
    started = time.monotonic()
    if not given.keep:
        shutil.rmtree(given.folder, ignore_errors=True)
    plan = rows.Plan(given.folder, claims, runs, tuple(sorted(sizes)))
    done = []
    for number in map(int, given.only.split(",")):
        print(f"== row {number}", flush=True)
        done.append(ROWS[number](plan))
    done.sort(key=lambda row: row.number)
    introduction = INTRODUCTION.format(
        date=datetime.now(UTC).date(),
        minutes=(time.monotonic() - started) / 60,
        rows=claims,
        seed=stores.SEED,
        size=(plan.data / "claims.ndjson").stat().st_size / 1e6,
        runs=runs,
        rounds=serving.rounds(plan),
    )
    if given.out == picture.RESULTS:
        introduction += f"\n\n{picture.MARKDOWN}"
    write(given.out, introduction, done)
    if given.out == picture.RESULTS:
        picture.save()
    if not given.keep:
        shutil.rmtree(given.folder, ignore_errors=True)
    print(f"see {given.out}")


if __name__ == "__main__":
    main()
