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
WITHOUT_THE_LANE = "comptroller_without_the_lane"
# The goals: the factor of requests/s to a peer, and the share of the limit.
LIST_AIMS = {
    20: {FASTAPI: 50.0, JSON_IN_SQL: 2.5, LIMIT: 0.6},
    100: {FASTAPI: 60.0, JSON_IN_SQL: 2.8, LIMIT: 0.25},
}
CREATE_AIMS = {1: {FASTAPI: 2.0}, 64: {FASTAPI: 25.0, LIMIT: 0.6}}
MOST_INSTRUCTIONS = 280_000
MOST_P99_MS = 10.0
MOST_SWITCHES = 1.0


def rounds(plan: Plan) -> int:
    """Short rounds in turn, so that load of the machine affects all contenders equally."""
    return 2 * plan.runs - 1


def _how() -> str:
    return (
        "Every server is one process on uvicorn (httptools, uvloop, no access log), asked by"
        f" {generator()}, one thread, on the same machine, in rounds of {ROUND_S} s (FastAPI"
        f" {lists.SLOW_ROUND_S} s), the servers in turn, all of them warm; the figures are medians"
        " of the rounds. CPU us is what the scheduler counts for all threads of the server, over"
        " the requests. p99 is the generator's own: it counts a wait as all the answers that the"
        " connection missed meanwhile; in rounds this short much of it is the first answers, since"
        " uvloop accepts one connection in a turn of its loop. comptroller is `comptroller serve`"
        " as it comes: it logs a line for each request into a file, counts it, and takes a signed"
        " token; the peers do none of that and look their token up in a dict. Without the lane is"
        " `serve --no-lane`: every request goes through the ASGI application."
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


def lists_row(plan: Plan) -> Row:
    results = lists.compare(plan.data, rounds(plan))
    header, lines = _table(results, {lists.case(size): FIGURES for size in lists.SIZES})
    aims = [
        aim for size, goals in LIST_AIMS.items() for aim in _aims(results, lists.case(size), goals)
    ]
    counted = instructions.per_list(plan.data)
    aims.append(Aim("20 claims: instructions", counted, MOST_INSTRUCTIONS, unit="", is_upper=True))
    return Row(
        4,
        "The newest claims of a customer over HTTP, with a token",
        [
            f"{lists.CONNECTIONS} kept-alive connections ask one after another for the newest of"
            f" {plan.rows:,} claims, all 15 members. {_how()} The peers make no cursor either."
            " FastAPI and SQLAlchemy: models for rows and answers, a session a request, text"
            " columns, functions in its thread pool. JSON in SQL: json_group_array over text in a"
            " bare ASGI application. Both tables have an index on customer and time. The limit is"
            " an ASGI application that has the bytes ready, on a transport that joins the head and"
            " the body of an answer into one write, whatever uvloop does with two. Before it is"
            " measured, everyone's answer is compared with the store's.",
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
    ours, before = results["comptroller"], results[WITHOUT_THE_LANE]
    p50, p99 = f"{one}: p50 ms", f"{creates.LISTS_MEANWHILE}: p99 ms"
    aims = [
        aim
        for clients, goals in CREATE_AIMS.items()
        for aim in _aims(results, creates.case(clients), goals)
    ]
    aims += [
        Aim(
            f"{one}: p50 / without the lane",
            ratio(ours.median(p50), before.median(p50)),
            1.0,
            is_upper=True,
        ),
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
        "Reward addresses created over HTTP, on disk before they are answered",
        [
            "Each client creates one address after another, in a group of its customer, in a copy"
            f" of row 4's store or table. {_how()} Switches are voluntary context switches of all"
            f" threads of the server, over the creates. Lists meanwhile: {creates.LISTERS}"
            f" connections ask for the newest 20 claims for {creates.LISTS_ROUND_S} s while the"
            " others create. Everyone: WAL, synchronous FULL; afterwards the rows are counted."
            " FastAPI and SQLAlchemy commit in their thread pool, a session a request, with a busy"
            " timeout of 30 s. The limit is group commit in C without HTTP: a thread a client"
            " queues rows, and one commits what is queued, into the store's own schema without"
            " claims; its CPU us and switches are those of its clients' threads too."
        ],
        header,
        lines,
        aims,
    )
