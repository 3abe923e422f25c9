"""Row 4: the newest claims of a customer over HTTP, with a token."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import stores
from servers.callers import CUSTOMER, TOKEN
from servers.running import ask, client, measured, ours, peer, running, token

CONTENDERS = ("comptroller", "fastapi_and_sqlalchemy", "json_in_sql", "limit")
SIZES = (20, 100)
CONNECTIONS = 32
SCOPE = "rewards:read_claims"


def comptroller(folder: Path) -> dict[str, float]:
    store = stores.need_store(folder)
    credentials = client(store, SCOPE)
    with running(ours(store)) as address:
        return _measure(folder, address, token(address, credentials))


def fastapi_and_sqlalchemy(folder: Path) -> dict[str, float]:
    with running(peer("fastapi_sqlalchemy", need_owned(folder))) as address:
        return _measure(folder, address, TOKEN)


def json_in_sql(folder: Path) -> dict[str, float]:
    with running(peer("json_in_sql", need_owned(folder))) as address:
        return _measure(folder, address, TOKEN)


def limit(folder: Path) -> dict[str, float]:
    with running(peer("ready_made", stores.need_store(folder))) as address:
        return _measure(folder, address, TOKEN)


def page_of(store: Path, size: int) -> bytes:
    """The page that everyone answers."""
    from comptroller._core import Principal, Store

    principal, opened = Principal(CUSTOMER, "bench", [SCOPE]), Store(str(store), True)
    try:
        return opened.call(principal, "claims.list", [("limit", str(size))])[0]
    finally:
        opened.close()


def need_owned(folder: Path) -> Path:
    """The table of text, of claims that have an owner, with the index that drives the list."""
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


def _measure(folder: Path, address: str, bearer: str) -> dict[str, float]:
    headers = {"Authorization": f"Bearer {bearer}"}
    measurements = {}
    for size in SIZES:
        path = f"/rewards/claims?limit={size}"
        _require_claims(folder, size, ask(address, path, headers))
        for name, value in measured(address, path, CONNECTIONS, headers).items():
            measurements[f"{size} claims: {name}"] = value
    return measurements


def _require_claims(folder: Path, size: int, answer: bytes) -> None:
    expected = json.loads(page_of(stores.need_store(folder), size))["items"]
    items = [
        {name: value for name, value in item.items() if value is not None}
        for item in json.loads(answer)["items"]
    ]
    if len(expected) != size or items != expected:
        raise RuntimeError("it answers with other claims than the store's newest")
