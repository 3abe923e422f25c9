"""Row 4: the newest claims of a customer over HTTP, with a token."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import stores
from contest import Outcome
from servers.callers import CUSTOMER, TOKEN
from servers.fronts import NGINX, behind_nginx, certificate
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
# How clients and proxies send the request for 20 claims: more of the query, and headers.
SHAPES: dict[str, tuple[str, dict[str, str]]] = {
    "plain": ("", {}),
    "timestamp": ("&end_time=2100-01-01T00%3A00%3A00Z", {}),
    "empty cursor": ("&page_cursor=", {}),
    "Content-Type": ("", {"Content-Type": "application/json"}),
    "X-Request-Id": ("", {"X-Request-Id": "0190163d8694739baea5966c26f8ad91"}),
    "requests": (
        "",
        {
            "User-Agent": "python-requests/2.32.5",
            "Accept-Encoding": "gzip, deflate",
            "Accept": "*/*",
            "Connection": "keep-alive",
        },
    ),
    "axios": (
        "",
        {
            "Accept": "application/json, text/plain, */*",
            "Content-Type": "application/json",
            "User-Agent": "axios/1.13.2",
            "Accept-Encoding": "gzip, compress, deflate, br",
        },
    ),
    "Envoy": (
        "",
        {
            "User-Agent": "curl/8.17.0",
            "Accept": "*/*",
            "X-Forwarded-For": "10.0.0.7",
            "X-Forwarded-Proto": "http",
            "X-Envoy-External-Address": "10.0.0.7",
            "X-Envoy-Expected-Rq-Timeout-Ms": "15000",
            "X-Request-Id": "7f3b1c9a-0190-4000-8000-1234567890ab",
        },
    ),
}
TLS, PROXIED = "20 claims over TLS", "20 claims behind nginx"
#: The cases of our server only, with TLS of its own and with a proxy.
FRONTS = (TLS, PROXIED)
PAGE = "page us"  # the CPU time of the page alone
PAGES = 1_000
SLOW_ROUND_S = 3  # so that a round of a slow server has enough requests for a p99


def case(size: int) -> str:
    return f"{size} claims"


def shape(name: str) -> str:
    return f"20 claims as {name}"


def path_of(size: int) -> str:
    return f"/rewards/claims?limit={size}"


def compare(folder: Path, rounds: int) -> dict[str, Outcome]:
    """Lists of each contender."""
    store, owned = stores.need_store(folder), need_owned(folder)
    contenders: dict[str, Contender] = {
        "comptroller": partial(_comptroller, store),
        "fastapi_and_sqlalchemy": partial(
            _peer, store, "fastapi_sqlalchemy", owned, seconds=SLOW_ROUND_S
        ),
        "json_in_sql": partial(_peer, store, "json_in_sql", owned),
        "limit": partial(_peer, store, "ready_made", store),
    }
    cases = [*map(case, SIZES), *map(shape, SHAPES), *FRONTS]
    return in_rounds(contenders, cases, rounds)


@contextmanager
def _comptroller(store: Path) -> Iterator[Measure]:
    credentials = client(store, SCOPE)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        server = stack.enter_context(started(ours(store)))
        bearer = token(server.address, credentials)
        measure = _ready(store, server, bearer, ROUND_S, SHAPES)
        options = ["--issuer", server.address, *certificate(folder)]
        fronts = {TLS: stack.enter_context(started(ours(store, *options)))}
        if NGINX:
            fronts[PROXIED] = stack.enter_context(behind_nginx(server, folder))
        behind = {name: _ready(store, front, bearer, ROUND_S) for name, front in fronts.items()}
        pages = {case(size): partial(_page_us, store, size) for size in SIZES}

        def measure_all(name: str) -> dict[str, float]:
            if name in behind:
                return behind[name](case(20))
            page = {PAGE: pages[name]()} if name in pages else {}
            return measure(name) | page

        yield measure_all


@contextmanager
def _peer(store: Path, module: str, database: Path, *, seconds: int = ROUND_S) -> Iterator[Measure]:
    with started(peer(module, database)) as server:
        yield _ready(store, server, TOKEN, seconds)


def _ready(
    store: Path,
    server: Server,
    bearer: str,
    seconds: int,
    shapes: Mapping[str, tuple[str, dict[str, str]]] = MappingProxyType({}),
) -> Measure:
    """Measures a warm server, after comparing its responses with the store."""
    headers = {"Authorization": f"Bearer {bearer}"}
    rounds: dict[str, Callable[[], dict[str, float]]] = {}
    for size in SIZES:
        answer = ask(server.address, path_of(size), headers)
        _require_claims(store, size, answer)
        wrk(WARM_UP_S, server.address + path_of(size), CONNECTIONS, headers)
        rounds[case(size)] = partial(
            measured,
            server,
            path_of(size),
            CONNECTIONS,
            headers,
            seconds=seconds,
            least_bytes=len(answer),
        )
    for name, (query, more) in shapes.items():
        path, sent = path_of(20) + query, {**headers, **more}
        plain = {key: value for key, value in sent.items() if key != "Accept-Encoding"}
        answer = ask(server.address, path, plain)
        _require_claims(store, 20, answer)
        rounds[shape(name)] = partial(
            measured,
            server,
            path,
            CONNECTIONS,
            sent,
            seconds=seconds,
            least_bytes=len(answer),
        )
    return lambda name: rounds[name]() if name in rounds else {}


@contextmanager
def _page_reader(store: Path, size: int) -> Iterator[Callable[[], bytes]]:
    from comptroller._core import Principal, Store

    principal, opened = Principal(CUSTOMER, "bench", [SCOPE]), Store(str(store), True)
    try:
        yield lambda: opened.call(principal, "claims.list", [("limit", str(size))])[0]
    finally:
        opened.close()


def page_of(store: Path, size: int) -> bytes:
    """Returns the page that all servers must return."""
    with _page_reader(store, size) as read:
        return read()


def _page_us(store: Path, size: int) -> float:
    """Returns the CPU time of the page in this process, without HTTP."""
    with _page_reader(store, size) as read:
        for _ in range(PAGES // 10):
            read()
        began = time.thread_time()
        for _ in range(PAGES):
            read()
        return (time.thread_time() - began) / PAGES * 1e6


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
