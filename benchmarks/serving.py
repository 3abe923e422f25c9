"""Rows 4 and 5: over HTTP, lists with a token, and creates that are on disk."""

from __future__ import annotations

from collections.abc import Sequence

import stores
from contest import Outcome, run_in_turn
from results import Aim, Row, ratio
from rows import Plan, named
from servers import creates, lists
from servers.running import MEASURED_S, WARM_UP_S, generator

MOST_RUNS = 3  # so that both rows take no more than six minutes
FIGURES = (("requests/s", ",.0f"), ("p50 ms", ",.2f"), ("p99 ms", ",.2f"))
# Times as many requests/s as FastAPI and as JSON in SQL, and the part of the limit's.
LIST_AIMS = {20: (20.0, 2.3, 0.6), 100: (30.0, 3.5, 0.35)}
CREATE_AIMS = {1: 2.0, 64: 8.0}


def _how() -> str:
    return (
        f"Every server is one process on uvicorn (httptools, uvloop, no access log), asked by"
        f" {generator()}, one thread, on the same machine: {MEASURED_S} s after {WARM_UP_S} s to"
        " warm up. comptroller is `comptroller serve` as it comes: it logs a line for each request"
        " into a file, counts it, and takes a signed token; the peers do none of that"
        " and look their token up in a dict."
    )


def _run(module: str, contenders: Sequence[str], plan: Plan) -> dict[str, Outcome]:
    return run_in_turn(module, contenders, plan.data, min(plan.runs, MOST_RUNS))


def _table(results: dict[str, Outcome], cases: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    header = ["", *(f"{case}: {figure}" for case in cases for figure, _ in FIGURES), "runs"]
    lines = []
    for outcome in results.values():
        cells = []
        for case in cases:
            for figure, form in FIGURES:
                value = outcome.median(f"{case}: {figure}")
                cells.append("failed" if value is None else format(value, form))
        lines.append([named(outcome.contender), *cells, str(len(outcome.runs))])
    return header, lines


def lists_row(plan: Plan) -> Row:
    stores.need_store(plan.data)
    lists.need_owned(plan.data)
    results = _run("servers.lists", lists.CONTENDERS, plan)
    header, lines = _table(results, [f"{size} claims" for size in lists.SIZES])
    aims = []
    for size, goals in LIST_AIMS.items():
        speed = {name: of.median(f"{size} claims: requests/s") for name, of in results.items()}
        ours = speed["comptroller"]
        peers = ("fastapi_and_sqlalchemy", "json_in_sql", "limit")
        for peer, goal in zip(peers, goals, strict=True):
            against = f"{size} claims: requests/s against {named(peer)}"
            aims.append(Aim(against, ratio(ours, speed[peer]), goal))
    return Row(
        4,
        "The newest claims of a customer over HTTP, with a token",
        [
            f"{lists.CONNECTIONS} kept-alive connections ask one after another for the newest of"
            f" {plan.rows:,} claims, all 15 members. {_how()} They make no cursor either. FastAPI"
            " and SQLAlchemy: models for rows and answers, a session a request, text columns,"
            " functions in its thread pool. JSON in SQL: json_group_array over text in a bare ASGI"
            " application. Both tables have an index on customer and time. The limit is an ASGI"
            " application that has the bytes ready. Before it is measured, everyone's answer is"
            " compared with the store's."
        ],
        header,
        lines,
        aims,
    )


def creates_row(plan: Plan) -> Row:
    results = _run("servers.creates", creates.CONTENDERS, plan)
    header, lines = _table(results, [creates.case(clients) for clients in creates.CLIENTS])
    aims = []
    for clients, goal in CREATE_AIMS.items():
        case = creates.case(clients)
        speed = {name: of.median(f"{case}: requests/s") for name, of in results.items()}
        ours, peer = speed["comptroller"], speed["fastapi_and_sqlalchemy"]
        aims.append(Aim(f"{case}: requests/s against FastAPI", ratio(ours, peer), goal))
    return Row(
        5,
        "Reward addresses created over HTTP, on disk before they are answered",
        [
            f"Each client creates one address after another, in a group of its customer, in a new"
            f" file each time. {_how()} Everyone: WAL, synchronous FULL; afterwards the rows are"
            " counted. FastAPI and SQLAlchemy commit in their thread pool, a session a request,"
            " with a busy timeout of 30 s. The limit is group commit in C without HTTP: a thread a"
            " client queues rows, and one commits what is queued, into the store's own schema."
        ],
        header,
        lines,
        aims,
    )
