"""Row 5: reward addresses created over HTTP, each durable before its response; and lists."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import comptroller as package
import stores
from contest import Outcome
from servers import lists
from servers.callers import CUSTOMER, TOKEN
from servers.fastapi_sqlalchemy import GROUP
from servers.rounds import Contender, Measure, in_rounds
from servers.running import (
    ROUND_S,
    WARM_UP_S,
    Server,
    client,
    measured,
    ours,
    peer,
    started,
    token,
    wrk,
)

CLIENTS = (1, 64)
LISTERS = 8
LISTS_MEANWHILE = f"lists of 20 while {CLIENTS[-1]} clients create"
SCOPES = ("rewards:write_monitoring_address", lists.SCOPE)
PATH = "/rewards/addresses"
LISTS_ROUND_S = 3  # so that the first responses of the connections are less than 1 in 100
ROUNDS_ALONE = 3
HEAD_START_S = 0.5  # of the creates before the lists


def case(clients: int) -> str:
    return "1 client" if clients == 1 else f"{clients} clients"


CASES = {case(clients): clients for clients in CLIENTS}


def compare(folder: Path, rounds: int) -> dict[str, Outcome]:
    """Creates of each contender, each into its own store."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        files = Path(place)
        contenders: dict[str, Contender] = {
            "comptroller": partial(_comptroller, folder, files / "store.db"),
            "fastapi_and_sqlalchemy": partial(_fastapi, folder, files / "peer.db"),
            "limit": partial(_limit, folder, files / "limit.db"),
        }
        return in_rounds(contenders, [*CASES, LISTS_MEANWHILE], rounds)


def comptroller(folder: Path) -> dict[str, float]:
    """Returns the medians of comptroller alone, without the lists."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        alone = {"comptroller": partial(_comptroller, folder, Path(place) / "store.db")}
        outcome = in_rounds(alone, list(CASES), ROUNDS_ALONE)["comptroller"]
    if outcome.failure:
        raise RuntimeError(outcome.failure)
    return {name: median(run[name] for run in outcome.runs) for name in outcome.runs[0]}


@contextmanager
def _comptroller(folder: Path, store: Path) -> Iterator[Measure]:
    shutil.copyfile(stores.need_store(folder), store)
    group, credentials = _new_group(store), client(store, *SCOPES)
    with started(ours(store)) as server:
        creates = _Creates(server, token(server.address, credentials), group, ROUND_S)
        yield creates.measure
    creates.require_rows(store)


@contextmanager
def _fastapi(folder: Path, database: Path) -> Iterator[Measure]:
    shutil.copyfile(lists.need_owned(folder), database)
    with started(peer("fastapi_sqlalchemy", database)) as server:
        creates = _Creates(server, TOKEN, GROUP, lists.SLOW_ROUND_S)
        yield creates.measure
    creates.require_rows(database)


@contextmanager
def _limit(folder: Path, store: Path) -> Iterator[Measure]:
    """Threads that queue rows, and one that commits the queue, into the schema of the store."""
    program = stores.limit(folder, "commit")

    def measure(name: str) -> dict[str, float]:
        if name not in CASES:
            return {}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = stores.last_line(program, store, stores.MIGRATION, CASES[name], ROUND_S)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        speed, p50, p99 = map(float, words)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        switches = after.ru_nvcsw - before.ru_nvcsw
        creates = speed * ROUND_S
        return {
            "requests/s": speed,
            "p50 ms": p50,
            "p99 ms": p99,
            "CPU us": cpu_s * 1e6 / creates,
            "switches": switches / creates,
        }

    yield measure


class _Creates:
    """Sends creates of distinct addresses to one server, after a warm-up."""

    def __init__(self, server: Server, bearer: str, group: str, seconds: int) -> None:
        self._server = server
        self._headers = {"Authorization": f"Bearer {bearer}"}
        self._group = group
        self._seconds = seconds
        self._runs = 0
        self._answered = 0.0
        self._run(WARM_UP_S, CLIENTS[-1])
        wrk(WARM_UP_S, server.address + lists.path_of(20), LISTERS, self._headers)

    def measure(self, name: str) -> dict[str, float]:
        """Runs one round of a case."""
        if name == LISTS_MEANWHILE:
            return self._lists_meanwhile()
        found = measured(
            self._server,
            PATH,
            CASES[name],
            self._headers,
            *self._words(),
            seconds=self._seconds,
        )
        self._answered += found["requests"]
        return found

    def require_rows(self, path: Path) -> None:
        """Raises unless every answered create is stored."""
        with closing(sqlite3.connect(path)) as connection:
            (rows,) = connection.execute("SELECT count(*) FROM reward_addresses").fetchone()
        if rows < self._answered:
            raise RuntimeError(f"{rows} rows are fewer than were answered")

    def _words(self) -> tuple[str, str]:
        self._runs += 1
        return self._group, f"{self._runs:08x}"

    def _run(self, seconds: int, clients: int) -> dict[str, float]:
        address = self._server.address + PATH
        told = wrk(seconds, address, clients, self._headers, *self._words())
        self._answered += told["requests"]
        return told

    def _lists_meanwhile(self) -> dict[str, float]:
        with ThreadPoolExecutor(1) as threads:
            creating = threads.submit(self._run, LISTS_ROUND_S + 1, CLIENTS[-1])
            time.sleep(HEAD_START_S)
            path = self._server.address + lists.path_of(20)
            listed = wrk(LISTS_ROUND_S, path, LISTERS, self._headers)
            created = creating.result()
        return {
            "requests/s": listed["requests"] / listed["seconds"],
            "p50 ms": listed["p50"] / 1000,
            "p99 ms": listed["p99"] / 1000,
            "creates/s": created["requests"] / created["seconds"],
        }


def _new_group(path: Path) -> str:
    """Returns the id of a new payout group of a store."""
    with package.open(path) as service:
        group = service.payout_groups.create(
            ledger="ETHEREUM",
            asset_type="RPL",
            jurisdiction="CH",
            name="Northgate 1",
            claimer_address="0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
            customer_id=CUSTOMER,
        )
    return group.id
