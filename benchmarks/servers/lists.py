"""Row 4: the newest claims of a customer over HTTP, with a token."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import stores
from contest import Outcome
from servers.callers import CUSTOMER, TOKEN
from servers.rounds import Contender, Measure, in_rounds
from servers.running import (
    ROUND_S,
    WARM_UP_S,
    Server,
    ask,
    client,
    measured,
    ours,
    peer,
    started,
    token,
    wrk,
)

SIZES = (20, 100)
CONNECTIONS = 32
SCOPE = "rewards:read_claims"
SLOW_ROUND_S = 3  # so that a round of a slow server has enough requests for a p99


def case(size: int) -> str:
    return f"{size} claims"


def path_of(size: int) -> str:
    return f"/rewards/claims?limit={size}"


def compare(folder: Path, rounds: int) -> dict[str, Outcome]:
    """Lists of each contender."""
    store, owned = stores.need_store(folder), need_owned(folder)
    contenders: dict[str, Contender] = {
        "comptroller": partial(_comptroller, store),
        "comptroller_without_the_lane": partial(_comptroller, store, "--no-lane"),
        "fastapi_and_sqlalchemy": partial(
            _peer, store, "fastapi_sqlalchemy", owned, seconds=SLOW_ROUND_S
        ),
        "json_in_sql": partial(_peer, store, "json_in_sql", owned),
        "limit": partial(_peer, store, "ready_made", store),
    }
    return in_rounds(contenders, [case(size) for size in SIZES], rounds)


@contextmanager
def _comptroller(store: Path, *options: str) -> Iterator[Measure]:
    credentials = client(store, SCOPE)
    with started(ours(store, *options)) as server:
        yield _ready(store, server, token(server.address, credentials), ROUND_S)


@contextmanager
def _peer(store: Path, module: str, database: Path, *, seconds: int = ROUND_S) -> Iterator[Measure]:
    with started(peer(module, database)) as server:
        yield _ready(store, server, TOKEN, seconds)


def _ready(store: Path, server: Server, bearer: str, seconds: int) -> Measure:
    """Measures a warm server, after comparing its responses with the store."""
    headers = {"Authorization": f"Bearer {bearer}"}
    rounds: dict[str, Callable[[], dict[str, float]]] = {}
    for size in SIZES:
        _require_claims(store, size, ask(server.address, path_of(size), headers))
        wrk(WARM_UP_S, server.address + path_of(size), CONNECTIONS, headers)
        rounds[case(size)] = partial(
            measured, server, path_of(size), CONNECTIONS, headers, seconds=seconds
        )
    return lambda name: rounds[name]()


def page_of(store: Path, size: int) -> bytes:
    """Returns the page that all servers must return."""
    from comptroller._core import Principal, Store

    principal, opened = Principal(CUSTOMER, "bench", [SCOPE]), Store(str(store), True)
    try:
        return opened.call(principal, "claims.list", [("limit", str(size))])[0]
    finally:
        opened.close()


def need_owned(folder: Path) -> Path:
    """Creates the table of text, of claims with an owner, with the index of the list."""
    path = folder / "owned.db"
    if not path.exists():
        shutil.copyfile(stores.need_text_database(folder), path)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(
                f"ALTER TABLE claims ADD COLUMN customer_id TEXT NOT NULL DEFAULT '{CUSTOMER}';"
                "CREATE INDEX claims_by_customer ON claims (customer_id, created_at);"
                "PRAGMA wal_checkpoint(TRUNCATE);"
            )
    return path


def _require_claims(store: Path, size: int, answer: bytes) -> None:
    expected = json.loads(page_of(store, size))["items"]
    items = [
        {name: value for name, value in item.items() if value is not None}
        for item in json.loads(answer)["items"]
    ]
    if len(expected) != size or items != expected:
        raise RuntimeError("it answers with other claims than the store's newest")
