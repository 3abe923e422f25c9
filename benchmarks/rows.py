"""The rows of the results: their contenders, and the goals for the medians."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError

import databases
import frames
import growth
import journaling
import loading
import pages
import postgresql_server
import reconciling
import reporting
import starting
import stores
from contest import Outcome, run_in_turn, run_once
from results import Aim, Row, ratio

MIB = 2**20
SECONDS = ["", "seconds", "rows/s", "time / comptroller's", "runs"]


@dataclass
class Plan:
    """The rows to run, and the folder of the data."""

    folder: Path
    rows: int
    runs: int
    growth_sizes: tuple[int, ...]

    def sample(self, rows: int) -> Path:
        place = self.folder / str(rows)
        stores.make_sample(place, rows)
        return place

    @property
    def data(self) -> Path:
        return self.sample(self.rows)


NAMES = {"fastapi_and_sqlalchemy": "FastAPI and SQLAlchemy", "json_in_sql": "JSON in SQL"}


def named(contender: str) -> str:
    return NAMES.get(contender, contender.replace("_", " "))


def compared(outcomes: dict[str, Outcome], rows: int) -> list[list[str]]:
    """Returns a table line for each contender."""
    ours = outcomes["comptroller"].median()
    lines = []
    for outcome in outcomes.values():
        seconds, name = outcome.median(), named(outcome.contender)
        if seconds is None or ours is None:
            lines.append([name, f"failed: {outcome.failure}", "", "", "0"])
            continue
        figures = [f"{seconds:.2f}", f"{rows / seconds:,.0f}", f"{seconds / ours:.2f} x"]
        lines.append([name, *figures, str(len(outcome.runs))])
    return lines


def load_row(plan: Plan) -> Row:
    stores.need_rows(plan.data)
    results = run_in_turn("loading", loading.CONTENDERS, plan.data, plan.runs)
    seconds = {name: outcome.median() for name, outcome in results.items()}
    ours = seconds["comptroller"]
    ndjson = (plan.data / "claims.ndjson").stat().st_size
    sizes = [ratio(outcome.median("bytes"), ndjson) for outcome in results.values()]
    lines = compared(results, plan.rows)
    for line, size in zip(lines, sizes, strict=True):
        line.append("-" if size is None else f"{size:.2f}")
    return Row(
        1,
        f"Load {plan.rows:,} claims into an indexed, durable store",
        [
            "At the end every contender has its data on disk, with indexes for the id, time, group,"
            " status and chain (SQLite: synchronous FULL, WAL, checkpoint). stdlib and msgspec fill"
            " a table of text through executemany, with comptroller's cache and sorter settings,"
            " and create the indexes after the rows. The limit inserts rows that are already"
            " parsed into comptroller's compact table, with all of its indexes (also the one by"
            " jurisdiction)."
        ],
        [*SECONDS, "file / NDJSON"],
        lines,
        [
            Aim("speed against stdlib", ratio(seconds["stdlib"], ours), 4),
            Aim("speed against msgspec", ratio(seconds["msgspec_structs"], ours), 2.3),
            Aim("speed against DuckDB", ratio(seconds["duckdb_json"], ours), 1),
            Aim("speed against the limit", ratio(seconds["limit"], ours), 0.9),
            Aim("file / NDJSON", sizes[0], 0.55, is_upper=True),
        ],
    )


def tables_row(plan: Plan) -> Row:
    for suffix in ("csv", "parquet"):
        stores.need_table(plan.data, suffix)
    results = run_in_turn("loading", loading.TABLES, plan.data, plan.runs)
    lines, aims = [], []
    for form in ("csv", "parquet"):
        ours = results[f"comptroller_{form}"].median()
        for name in (f"comptroller_{form}", f"duckdb_{form}"):
            seconds = results[name].median()
            if seconds is None or ours is None:
                lines.append([named(name), f"failed: {results[name].failure}", "", "", "0"])
                continue
            figures = [f"{seconds:.2f}", f"{plan.rows / seconds:,.0f}", f"{seconds / ours:.2f} x"]
            lines.append([named(name), *figures, str(len(results[name].runs))])
        theirs = results[f"duckdb_{form}"].median()
        aims.append(Aim(f"speed against DuckDB, {form}", ratio(theirs, ours), 0.8))
    return Row(
        10,
        f"Load {plan.rows:,} claims from CSV and Parquet",
        [
            "The files are those that comptroller exports. DuckDB reads them with read_csv and"
            " read_parquet into a table of its own file, with the indexes of row 1; from CSV it"
            " keeps the addresses as text."
        ],
        SECONDS,
        lines,
        aims,
    )


def reconcile_row(plan: Plan) -> Row:
    stores.need_store(plan.data)
    reconciling.need_theirs(plan.data)
    results = run_in_turn("reconciling", reconciling.CONTENDERS, plan.data, plan.runs)
    seconds = {name: outcome.median() for name, outcome in results.items()}
    ours = seconds["comptroller"]
    lines = []
    for name, outcome in results.items():
        took = seconds[name]
        if took is None or ours is None:
            lines.append([named(name), f"failed: {outcome.failure}", "", "", "0"])
            continue
        figures = [f"{took:.2f}", f"{plan.rows / took:,.0f}", f"{took / ours:.2f} x"]
        lines.append([named(name), *figures, str(len(outcome.runs))])
    return Row(
        9,
        f"Reconcile {plan.rows:,} claims with another table",
        [
            "The other table is a Parquet file (in the second line a CSV file) of the claims with a"
            " hash of a transaction: one in 1,000 has another amount, one in 1,000 is unknown to"
            " the store. The key is the hash. All contenders read both sides and find the rows that"
            " differ, and those that one side lacks. datacompy runs in an environment of its own,"
            " with the older polars that it needs."
        ],
        SECONDS,
        lines,
        [
            Aim("speed against pandas", ratio(seconds["pandas_merge"], ours), 1),
            Aim("speed against datacompy", ratio(seconds["datacompy"], ours), 1),
        ],
    )


def frames_row(plan: Plan) -> Row:
    for need in (stores.need_store, stores.need_text_database, stores.need_duckdb):
        need(plan.data)
    results = run_in_turn("frames", frames.CONTENDERS, plan.data, plan.runs)
    weighed = run_in_turn("frames", frames.WEIGHED, plan.data, 1).values()
    memory = [ratio(each.median("grown"), each.median("arrow")) for each in weighed]
    seconds = {name: outcome.median() for name, outcome in results.items()}
    ours, one_core = seconds["comptroller"], seconds["comptroller_one_core"]
    return Row(
        2,
        f"Read {plan.rows:,} claims, all columns typed, into a frame",
        [
            "The result is a polars frame (for pandas a pandas frame) with times in UTC"
            " microseconds, decimal(38, 18) and lists. The peers that read a table of text cast it"
            " after reading. From two chunks of 65,536 claims on, comptroller uses one thread per"
            " core. The contender with one core is pinned to it. The limit steps the same SELECT on"
            " one core and reads every column without converting it."
        ],
        SECONDS,
        compared(results, plan.rows),
        [
            Aim("speed against ADBC", ratio(seconds["adbc"], ours), 8),
            Aim("speed against DuckDB's own file", ratio(seconds["duckdb_own_file"], ours), 1.5),
            Aim("speed on one core against the limit", ratio(seconds["limit"], one_core), 0.75),
            Aim("two cores against one", ratio(one_core, ours), 1.6),
            Aim("memory at most / Arrow, to pyarrow", memory[0], 1.3, is_upper=True),
            Aim("memory at most / Arrow, to polars", memory[1], 1.3, is_upper=True),
        ],
    )


def pages_row(plan: Plan) -> Row:
    for need in (stores.need_store, stores.need_text_database):
        need(plan.data)
    results = run_in_turn("pages", pages.CONTENDERS, plan.data, plan.runs)
    ours = results["comptroller"]
    cases = [f"{size} {place}" for size in pages.SIZES for place in pages.PLACES]
    lines = []
    for outcome in results.values():
        times = [outcome.median(case) for case in cases]
        cells = ["failed" if time is None else f"{time:,.0f}" for time in times]
        lines.append([named(outcome.contender), *cells])
    aims = []
    for case in cases:
        time = ours.median(case)
        against = {name: outcome.median(case) for name, outcome in results.items()}
        of_views = ratio(against["json_in_sql_of_views"], time)
        of_limit = ratio(time, against["limit"])
        aims += [
            Aim(f"{case}: speed against JSON in SQL", ratio(against["json_in_sql"], time), 1.5),
            Aim(f"{case}: the same over the compact table", of_views, 6),
            Aim(f"{case}: time / limit", of_limit, 1.15, is_upper=True),
        ]
    return Row(
        3,
        "Read one page of claims as JSON bytes, in process",
        [
            "The figures are microseconds for the newest page (first) and for a page in the middle,"
            " by cursor (middle). stdlib is sqlite3 and json.dumps. JSON in SQL is"
            " json_group_array(json_object(...)), over a table of text (its best case) and over"
            " comptroller's readable view. The limit steps a statement that selects the rows from"
            " comptroller's table, and copies the bytes of every column."
        ],
        ["", *cases],
        lines,
        aims,
    )


def growth_row(plan: Plan) -> Row:
    return _growth(plan, 6, "comptroller", "")


def growth_in_postgresql_row(plan: Plan) -> Row:
    with databases.server_of_copies([plan.sample(rows) for rows in plan.growth_sizes]):
        return _growth(plan, 13, "in_postgresql", " from PostgreSQL")


def _growth(plan: Plan, number: int, contender: str, place: str) -> Row:
    results = {rows: Outcome(contender) for rows in plan.growth_sizes}
    for _ in range(growth.ROUNDS):
        for rows, outcome in results.items():
            outcome.runs.append(run_once("growth", contender, plan.sample(rows)))
    growths, depths, lines = {}, {}, []
    smallest, largest = plan.growth_sizes[0], plan.growth_sizes[-1]
    plain = results[smallest].least("none: first")
    for name in growth.names(results[largest].runs[0]):
        counts = {rows: outcome.least(f"{name}: rows") for rows, outcome in results.items()}
        full = [rows for rows, count in counts.items() if count >= growth.ENOUGH_ROWS]
        first = {rows: outcome.least(f"{name}: first") for rows, outcome in results.items()}
        deep = {rows: outcome.least(f"{name}: deep") for rows, outcome in results.items()}
        cells = [f"{first[rows]:,.0f} / {deep[rows]:,.0f}" for rows in plan.growth_sizes]
        was_full = bool(full) and full[0] != largest
        before = (first[full[0]], deep[full[0]]) if was_full else (plain, plain)
        growths[name] = max(first[largest] / before[0], deep[largest] / before[1])
        if largest in full:
            depths[name] = deep[largest] / first[largest]
        shown = [f"{of[name]:.2f}" if name in of else "-" for of in (growths, depths)]
        lines.append([name, *cells, *shown])
    aims = []
    for what, of, goal in (("growth", growths, 1.5), ("depth", depths, 1.3)):
        worst = max(of, key=lambda name: of[name], default="none")
        aims.append(Aim(f"worst {what} ({worst})", of.get(worst), goal, is_upper=True))
    return Row(
        number,
        f"Read a page of {growth.SIZE}{place} as the store grows to {largest:,} claims",
        [
            "Each cell has the microseconds of the first page / of the page at"
            f" {growth.DEPTH:.0%} depth: the lowest of {growth.ROUNDS} rounds, in which the sizes"
            " take turns. Growth compares the largest store with the smallest store in which the"
            f" filter matches {growth.ENOUGH_ROWS:,} claims, because pages are not full with"
            " fewer. If no smaller store has that many matches, growth compares with the first page"
            " without a filter in the smallest store. It is the larger of the ratios of the two"
            " pages. Depth compares the deep page with the first page in the largest store. Each"
            " filter uses the most frequent value. The window is the middle half of the time."
        ],
        ["", *(f"{rows:,}" for rows in plan.growth_sizes), "growth", "depth"],
        lines,
        aims,
    )


def report_row(plan: Plan) -> Row:
    for need in (stores.need_store, stores.need_text_database, stores.need_duckdb):
        need(plan.data)
    contenders = reporting.CONTENDERS + reporting.COMMANDS
    results = run_in_turn("reporting", contenders, plan.data, plan.runs)
    seconds = {name: outcome.median() for name, outcome in results.items()}
    ours = seconds["comptroller"]
    return Row(
        7,
        f"Report of {plan.rows:,} claims by status, chain, jurisdiction and day",
        [
            "The report has, for each key and asset, the number of claims, the exact sum, the"
            " success rate, and p50, p90 and p99 of the confirmation time. The time is measured"
            " from the store to a frame. comptroller includes waiting claims in the times; the"
            " others do not. The contender comptroller again repeats the report on an unchanged"
            " store, which is not read a second time. pandas reads the table of text. DuckDB's own"
            " file has typed columns, of which it reads eight; comptroller first reads every row"
            " and copies nine columns into DuckDB, in about half of its time. The limit is"
            " DuckDB over the same columns in memory as Arrow. DuckDB's SQLite scanner is not a"
            " contender, because DuckDB downloads it when it is used. The last two aims measure"
            " whole commands: the page of all reports, and every claim as CSV."
        ],
        SECONDS,
        compared({name: results[name] for name in reporting.CONTENDERS}, plan.rows),
        [
            Aim("speed against pandas", ratio(seconds["pandas_read_sql"], ours), 6),
            Aim("speed against DuckDB's own file", ratio(seconds["duckdb_own_file"], ours), 0.8),
            Aim(
                "asked again, against DuckDB's own file",
                ratio(seconds["duckdb_own_file"], seconds["comptroller_again"]),
                1.15,
            ),
            Aim("report --html", seconds["report_html"], 4, "s", True),
            Aim("query of all claims as CSV", seconds["query_csv"], 3, "s", True),
        ],
    )


def start_row(plan: Plan) -> Row:
    results = run_in_turn("starting", starting.CONTENDERS, plan.data, max(4 * plan.runs, 10))
    alone = results["python_alone"].median()
    imported = results["import_comptroller"].median()
    more = None if imported is None or alone is None else (imported - alone) * 1000
    lines = [
        [named(name), "failed" if time is None else f"{time * 1000:.0f}"]
        for name, time in ((name, outcome.median()) for name, outcome in results.items())
    ]
    try:
        wheel: float | None = starting.wheel_bytes() / MIB
    except CalledProcessError:
        wheel = None
    return Row(
        8,
        "Start-up and size",
        [
            "The aim for the import is its time in addition to `python -c pass`. The trivial"
            " command is `comptroller --version`."
        ],
        ["", "ms"],
        lines,
        [
            Aim("import", more, 50, "ms", True),
            Aim("wheel", wheel, 3, "MiB", True),
            Aim("trivial command", results["trivial_command"].median(), 0.15, "s", True),
            Aim("first answer of serve", results["first_answer_of_serve"].median(), 1, "s", True),
        ],
    )


def journal_row(plan: Plan) -> Row:
    stores.need_store(plan.data)
    results = run_in_turn("journaling", journaling.CONTENDERS, plan.data, plan.runs)
    life = results["life_of_a_control"]
    figures = {
        f"verify {plan.rows:,} claims": (results["verify"].median(), "{:.2f} s"),
        "change feed": (results["feed"].median("rate"), "{:,.0f} changes/s"),
        "history of a claim": (results["history"].median(), "{:.2f} s"),
        "webhooks": (results["deliveries"].median("rate"), "{:,.0f} deliveries/s"),
        "creates": (results["creates"].median("rate"), "{:,.0f} creates/s"),
        "an entry": (life.median("bytes"), "{:.0f} bytes"),
        "an entry with an idempotency key": (life.median("bytes with key"), "{:.0f} bytes"),
    }
    return Row(
        11,
        f"The journal of {plan.rows:,} claims",
        [
            "The change feed is read in process from its beginning, as pages of 1,000 changes in"
            " JSON: one change for each claim of the load. The history is the report of one claim"
            " in a service that has made it before. The webhook gets an event for each of"
            f" {journaling.EVENTS:,} claims of a load; its receiver is a process on the same"
            f" machine that answers with 204. The creates are {journaling.CREATES:,} controls by"
            f" {journaling.CLIENTS} threads of one process, each on disk before it returns. An"
            f" entry is the mean of those of {journaling.LIVES:,} controls that are created and"
            " deleted: the pages that the journal's table and indexes grow by."
        ],
        ["", "median"],
        [
            [name, "failed" if value is None else form.format(value)]
            for name, (value, form) in figures.items()
        ],
        [
            Aim("verify", results["verify"].median(), 3, "s", True),
            Aim("change feed", results["feed"].median("rate"), 200_000, "changes/s"),
            Aim("webhooks", results["deliveries"].median("rate"), 2_000, "deliveries/s"),
            Aim("an entry", life.median("bytes"), 300, "bytes", True),
        ],
    )


def database_row(plan: Plan) -> Row:
    stores.need_store(plan.data)
    groups = (databases.LOADS, databases.PAGES, databases.FRAMES, databases.CREATES)
    results: dict[str, Outcome] = {}
    with databases.server(plan.data):
        for contenders in groups:
            results |= run_in_turn("databases", contenders, plan.data, plan.runs)
    measures = [
        (databases.LOADS, f"load {plan.rows:,} claims", "seconds", "s"),
        *(
            (databases.PAGES, f"a page of {databases.SIZE}, {place}", place, "us")
            for place in databases.PLACES
        ),
        (databases.FRAMES, f"{plan.rows:,} claims to polars", "seconds", "s"),
        (databases.CREATES, f"creates of {databases.CLIENTS} threads", "rate", "/s"),
    ]
    lines = []
    for contenders, work, name, unit in measures:
        ours = results[contenders[0]].median(name)
        for contender in contenders:
            found = results[contender].median(name)
            if found is None and not results[contender].failure:
                continue  # it does not measure this
            if found is None or ours is None:
                lines.append([work, named(contender), f"failed: {results[contender].failure}", ""])
                continue
            slower = ours / found if unit == "/s" else found / ours
            shown = f"{found:,.2f} {unit}" if unit == "s" else f"{found:,.0f} {unit}"
            lines.append([work, named(contender), shown, f"{slower:.2f} x"])

    def times(name: str, peer: str, measure: str = "seconds") -> float | None:
        return ratio(results[peer].median(measure), results[name].median(measure))

    return Row(
        12,
        f"A store of {plan.rows:,} claims in PostgreSQL {postgresql_server.major_version()}",
        [
            "One server of the machine, by its socket, with fsync. The peers use a table of"
            " natural types (uuid, numeric, timestamptz, text[]), with the indexes of row 1; loads"
            " also with those of comptroller's table, but for the customer. The indexes exist"
            " before the rows, which psycopg copies after msgspec parsed them. Pages are the"
            " newest claims and those from the middle, as JSON bytes. A create is a control, on"
            " disk before it returns; SQLAlchemy selects the identity and inserts the control,"
            " over 16 connections. The limits (`limits/postgresql.c`) use libpq and comptroller's"
            " tables: loads look up 20,000 ids, then use COPY, of values; pages and frames touch"
            " the bytes of all values; creates run the statements of a create, without the"
            " journal's sequence numbers."
        ],
        ["work", "", "median", "time / comptroller's"],
        lines,
        [
            Aim("load against psycopg", times("load", "load_with_psycopg"), 1.5),
            Aim("load against the limit", times("load", "limit_of_loads"), 0.8),
            *(
                Aim(f"page against {named(peer)}, {place}", times("pages", peer, place), least)
                for peer, least in (
                    ("row_to_json", 3),
                    ("psycopg_dicts", 7),
                    ("sqlalchemy_rows", 11),
                )
                for place in databases.PLACES
            ),
            *(
                Aim(
                    f"page / page of a file, {place}",
                    times("pages_of_a_file", "pages", place),
                    1.6,
                    is_upper=True,
                )
                for place in databases.PLACES
            ),
            Aim("frame against ADBC", times("frame", "frame_by_adbc"), 2),
            Aim(
                "creates against SQLAlchemy", times("creates_with_sqlalchemy", "creates", "rate"), 4
            ),
            Aim("creates against the limit", times("limit_of_creates", "creates", "rate"), 0.6),
        ],
    )


ROWS = {
    1: load_row,
    10: tables_row,
    11: journal_row,
    12: database_row,
    13: growth_in_postgresql_row,
    2: frames_row,
    3: pages_row,
    6: growth_row,
    7: report_row,
    8: start_row,
    9: reconcile_row,
}
