"""Row 5: reward addresses created over HTTP, each on disk before it is answered."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import comptroller as package
import stores
from servers.callers import CUSTOMER, TOKEN
from servers.fastapi_sqlalchemy import GROUP
from servers.running import MEASURED_S, client, measured, ours, peer, running, token

CONTENDERS = ("comptroller", "fastapi_and_sqlalchemy", "limit")
CLIENTS = (1, 64)
SCOPE = "rewards:write_monitoring_address"
PATH = "/rewards/addresses"


def case(clients: int) -> str:
    return "1 client" if clients == 1 else f"{clients} clients"


def comptroller(folder: Path) -> dict[str, float]:
    measurements = {}
    for clients in CLIENTS:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            store = Path(place) / "store.db"
            group = _new_store(store)
            credentials = client(store, SCOPE)
            with running(ours(store)) as address:
                bearer = token(address, credentials)
                measurements |= _measure(address, clients, bearer, group)
            _require_rows(store, measurements, clients)
    return measurements


def fastapi_and_sqlalchemy(folder: Path) -> dict[str, float]:
    measurements = {}
    for clients in CLIENTS:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            database = Path(place) / "peer.db"
            with running(peer("fastapi_sqlalchemy", database)) as address:
                measurements |= _measure(address, clients, TOKEN, GROUP)
            _require_rows(database, measurements, clients)
    return measurements


def limit(folder: Path) -> dict[str, float]:
    """Threads that queue rows, and one that commits what is queued, into the store's own schema."""
    program, measurements = stores.limit(folder, "commit"), {}
    for clients in CLIENTS:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            store = Path(place) / "store.db"
            words = stores.last_line(program, store, stores.MIGRATION, clients, MEASURED_S)
            names = ("requests/s", "p50 ms", "p99 ms")
            measurements |= {
                f"{case(clients)}: {name}": float(word)
                for name, word in zip(names, words, strict=True)
            }
    return measurements


def _new_store(path: Path) -> str:
    """A store with one payout group; the group's id."""
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


def _measure(address: str, clients: int, bearer: str, group: str) -> dict[str, float]:
    headers = {"Authorization": f"Bearer {bearer}"}
    found = measured(address, PATH, clients, headers, group)
    return {f"{case(clients)}: {name}": value for name, value in found.items()}


def _require_rows(path: Path, measurements: dict[str, float], clients: int) -> None:
    """What was answered is there."""
    with closing(sqlite3.connect(path)) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM reward_addresses").fetchone()
    if rows < measurements[f"{case(clients)}: requests/s"] * MEASURED_S:
        raise RuntimeError(f"{rows} rows are fewer than were answered")
