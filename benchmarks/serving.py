"""Rows 4 and 5: over HTTP, lists with a token, and durable creates."""

from __future__ import annotations

from contest import Outcome
from results import Aim, Row, ratio
from rows import Plan, named
from servers import creates, instructions, lists
from servers.running import ROUND_S, generator

FIGURES = {"requests/s": ",.0f", "CPU us": ",.0f", "p50 ms": ",.2f", "p99 ms": ",.2f"}
WRITE_FIGURES = FIGURES | {"switches": ",.2f"}
MEANWHILE_FIGURES = {
    "requests/s": ",.0f",
    "p50 ms": ",.2f",
    "p99 ms": ",.2f",
    "creates/s": ",.0f",
}
FASTAPI, JSON_IN_SQL, LIMIT = "fastapi_and_sqlalchemy", "json_in_sql", "limit"
SHAPE_AIMS = {FASTAPI: 50.0, JSON_IN_SQL: 2.5}
SLOWEST_SHAPE = 0.77  # of the fastest
# The goals: the factor of requests/s to a peer.
LIST_AIMS = {
    20: {FASTAPI: 50.0, JSON_IN_SQL: 2.5},
    100: {FASTAPI: 60.0, JSON_IN_SQL: 2.8},
}
MOST_BESIDE_PAGE = 1.5  # CPU time of a list without its page, of that of the limit
CREATE_AIMS = {1: {FASTAPI: 2.0}, 64: {FASTAPI: 25.0, LIMIT: 0.6}}
MOST_INSTRUCTIONS = 220_000
MOST_OF_SHAPE = 1.1  # of the instructions of the plain request
PLAIN = "plain"
MOST_P99_MS = 10.0
MOST_SWITCHES = 1.0


def rounds(plan: Plan) -> int:
    """Short rounds in turn, so that load of the machine affects all contenders equally."""
    return 2 * plan.runs - 1


def _how() -> str:
    return (
        "Every server is one process on uvloop and httptools; the peers use uvicorn without an"
        f" access log. The load generator is {generator()} with one thread on the same machine. The"
        " servers are warm and"
        f" take turns in rounds of {ROUND_S} s (FastAPI {lists.SLOW_ROUND_S} s). The figures are"
        " medians of the rounds. CPU us is the CPU time of all threads of the server, as the"
        " scheduler counts it, per request. The generator computes p99: it counts a wait as all"
        " the responses that the connection missed meanwhile. In rounds this short, much of p99"
        " comes from the first responses, because uvloop accepts one connection per turn of its"
        " loop. The contender comptroller is `comptroller serve` with default options. It writes a"
        " log line for each request to a file, counts the request, and accepts a signed token. The"
        " peers do not log or count, and look up their token in a dict."
    )


def _table(
    results: dict[str, Outcome], cases: dict[str, dict[str, str]]
) -> tuple[list[str], list[list[str]]]:
    """Returns a table with a column for each contender, and a line for each figure of a case."""
    header = ["", *(named(contender) for contender in results)]
    lines = [
        [f"{case}: {figure}", *(_cell(of, f"{case}: {figure}", form) for of in results.values())]
        for case, figures in cases.items()
        for figure, form in figures.items()
    ]
    return header, [*lines, ["rounds", *(str(len(of.runs)) for of in results.values())]]


def _cell(outcome: Outcome, name: str, form: str) -> str:
    if outcome.failure:
        return "failed"
    value = outcome.median(name)
    return "-" if value is None else format(value, form)


def _aims(results: dict[str, Outcome], case: str, goals: dict[str, float]) -> list[Aim]:
    name = f"{case}: requests/s"
    ours = results["comptroller"].median(name)
    return [
        Aim(f"{name} against {named(peer)}", ratio(ours, results[peer].median(name)), goal)
        for peer, goal in goals.items()
    ]


def _beside_page(results: dict[str, Outcome], case: str) -> Aim:
    """Compares what the server does beside the page with the limit, which computes no page."""
    ours, limit = results["comptroller"], results[LIMIT]
    whole, page = (ours.median(f"{case}: {each}") for each in ("CPU us", lists.PAGE))
    beside = None if whole is None or page is None else whole - page
    measured = ratio(beside, limit.median(f"{case}: CPU us"))
    return Aim(
        f"{case}: CPU us without the page against limit", measured, MOST_BESIDE_PAGE, is_upper=True
    )


def lists_row(plan: Plan) -> Row:
    results = lists.compare(plan.data, rounds(plan))
    shapes = list(map(lists.shape, lists.SHAPES))
    cases = [*map(lists.case, lists.SIZES), *shapes, *lists.FRONTS]
    figures = dict.fromkeys(cases, FIGURES)
    figures |= {lists.case(size): FIGURES | {lists.PAGE: ",.0f"} for size in lists.SIZES}
    header, lines = _table(results, figures)
    aims = [
        aim for size, goals in LIST_AIMS.items() for aim in _aims(results, lists.case(size), goals)
    ]
    aims += [_beside_page(results, lists.case(size)) for size in lists.SIZES]
    by_shape = [results["comptroller"].median(f"{each}: requests/s") for each in shapes]
    known = [each for each in by_shape if each is not None]
    slowest = min(known, default=None)
    aims += [
        Aim(
            f"20 claims as the slowest of {len(shapes)} shapes: requests/s against {named(peer)}",
            ratio(slowest, results[peer].median("20 claims: requests/s")),
            goal,
        )
        for peer, goal in SHAPE_AIMS.items()
    ]
    aims.append(
        Aim(
            "the slowest shape against the fastest",
            ratio(slowest, max(known, default=None)),
            SLOWEST_SHAPE,
        )
    )
    counted = instructions.per_list(plan.data)
    plain = counted.get(PLAIN)
    largest = max(counted.values(), default=None)
    aims += [
        Aim("20 claims: instructions", plain, MOST_INSTRUCTIONS, unit="", is_upper=True),
        Aim(
            "the shape with most instructions against plain",
            ratio(largest, plain),
            MOST_OF_SHAPE,
            is_upper=True,
        ),
    ]
    lines += [
        [f"20 claims as {name}: instructions", f"{count:,.0f}", *["-"] * (len(results) - 1)]
        for name, count in counted.items()
    ]
    return Row(
        4,
        "List the newest claims of a customer over HTTP, with a token",
        [
            f"Each of {lists.CONNECTIONS} kept-alive connections requests the newest of"
            f" {plan.rows:,} claims with all 15 members, again and again. {_how()} The peers also"
            " compute no cursor. FastAPI and SQLAlchemy uses models for rows and responses, one"
            " session per request, text columns, and functions in its thread pool. JSON in SQL is"
            " json_group_array over text in a bare ASGI application. Both tables have an index on"
            " customer and time. The limit is an ASGI application that returns prepared bytes, on a"
            " transport that joins the head and the body of a response into one write. It computes"
            " no page, so its requests/s are out of reach. Page us is the CPU time of the page in"
            " process; the aim compares the rest of the server's CPU time with that of the limit."
            " Before the measurement, the response of each server is compared with the store's. A"
            " round fails if a response has an error status or lacks bytes. The shapes are the"
            " request as clients and proxies send it: with a timestamp in the query, an empty"
            " cursor, Content-Type, X-Request-Id, and the headers of requests, axios and Envoy."
            " Over TLS, the server has a P-256 certificate; nginx is one process on the same"
            " machine, which keeps its connections to the server. Its CPU time is not counted."
            " Behind nginx the server may answer more requests/s than without. It needs less CPU"
            " time for each if the other core is busy: the response then wakes no idle core, and"
            " requests arrive in larger batches, which share a snapshot and a write of the log.",
            f"{instructions.HOW} {'' if counted else instructions.NOT_MEASURED}".strip(),
        ],
        header,
        lines,
        aims,
    )


def creates_row(plan: Plan) -> Row:
    results = creates.compare(plan.data, rounds(plan))
    one, many = map(creates.case, creates.CLIENTS)
    cases = {one: FIGURES, many: WRITE_FIGURES, creates.LISTS_MEANWHILE: MEANWHILE_FIGURES}
    header, lines = _table(results, cases)
    ours = results["comptroller"]
    p99 = f"{creates.LISTS_MEANWHILE}: p99 ms"
    aims = [
        aim
        for clients, goals in CREATE_AIMS.items()
        for aim in _aims(results, creates.case(clients), goals)
    ]
    aims += [
        Aim(
            f"{many}: switches per create",
            ours.median(f"{many}: switches"),
            MOST_SWITCHES,
            unit="",
            is_upper=True,
        ),
        Aim(
            f"{creates.LISTS_MEANWHILE}: p99",
            ours.median(p99),
            MOST_P99_MS,
            unit="ms",
            is_upper=True,
        ),
    ]
    return Row(
        5,
        "Create reward addresses over HTTP, on disk before the response",
        [
            "Each client creates one address after another, in a group of its customer, in a copy"
            f" of row 4's store or table. {_how()} The switches are voluntary context switches of"
            f" all threads of the server, per create. For the lists, {creates.LISTERS} connections"
            f" request the newest 20 claims for {creates.LISTS_ROUND_S} s while the others create."
            " Every contender uses WAL and synchronous FULL; the rows are counted afterwards."
            " FastAPI and SQLAlchemy commits in its thread pool, with one session per request and a"
            " busy timeout of 30 s. The limit is group commit in C without HTTP: one thread per"
            " client queues rows, and one thread commits the queued rows into the store's schema"
            " without claims. Its CPU us and switches include the threads of its clients."
        ],
        header,
        lines,
        aims,
    )
