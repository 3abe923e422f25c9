"""Rows 12 and 13: a store in PostgreSQL, and the usual ways to use a table of that server: loads,
pages, frames and creates.

The table of the peers has natural types and the indexes of row 1; loads are also measured with the
indexes of comptroller's table, without the customer. The server is one of this run, with the
settings of PostgreSQL for durability.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import comptroller as package
import stores
from contest import timed
from pages import microseconds, next_cursor

sys.path.append(str(Path(__file__).parent.parent / "tests/python/support"))

import postgresql_server

LOADS = ("load", "load_with_psycopg", "load_with_psycopg_and_fewer_indexes", "limit_of_loads")
PAGES = (
    "pages",
    "pages_of_a_file",
    "row_to_json",
    "psycopg_dicts",
    "sqlalchemy_rows",
    "limit_of_pages",
)
FRAMES = ("frame", "frame_by_adbc", "limit_of_frames")
CREATES = ("creates", "creates_with_sqlalchemy", "limit_of_creates")
PLACES = ("first", "middle")
SIZE = 100
CALLS = 300
CLIENTS = 64
CONTROLS = 10_000

_TYPES = (
    dict.fromkeys(stores.COLUMNS, "text")
    | {"id": "uuid", "payout_group_id": "uuid", "amount": "numeric(38, 18)", "addresses": "text[]"}
    | dict.fromkeys(stores.TIMES, "timestamptz")
)
TABLE = (
    "CREATE TABLE claims (key bigserial PRIMARY KEY, "
    + ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
    + ")"
)
#: Those of comptroller's table of claims; the type of asset stands for the jurisdiction.
SAME_INDEXES = (
    "CREATE UNIQUE INDEX claims_id ON claims (id)",
    *(
        f"CREATE INDEX claims_{number} ON claims ({columns}created_at, key)"
        for number, columns in enumerate(
            (
                "",
                "payout_group_id, onchain_status, ",
                "onchain_status, ",
                "blockchain, onchain_status, ",
                "asset_type, onchain_status, ",
            )
        )
    ),
)
_NAMES = ", ".join(stores.COLUMNS)
_NEWEST = f"SELECT {_NAMES} FROM claims {{}} ORDER BY created_at DESC, key DESC LIMIT {SIZE}"
_AFTER = "WHERE (created_at, key) < (%s, %s)"
IDENTITIES = "CREATE TABLE identities (id text PRIMARY KEY, customer_id text NOT NULL)"
CONTROLS_TABLE = (
    "CREATE TABLE controls (id uuid PRIMARY KEY, identity_id text NOT NULL REFERENCES identities,"
    " type text NOT NULL, reason_code text NOT NULL, created_at timestamptz NOT NULL,"
    " deleted_at timestamptz, deleted_reason text)"
)
ONE_ACTIVE = (
    "CREATE UNIQUE INDEX one_active ON controls (identity_id, type, reason_code)"
    " WHERE deleted_at IS NULL"
)
_numbers = count()


@contextmanager
def server(folder: Path) -> Iterator[None]:
    """Starts a server with the databases `store` and `peers`, which have the claims."""
    with postgresql_server.run_lock() as lock:
        running = postgresql_server.start(lock, is_durable=True)
        (folder / "server").write_text(str(running.folder))
        with package.open(running.create("store")) as service:
            service.load("payout-groups", folder / "payout-groups.ndjson")
            service.load("claims", folder / "claims.ndjson")
        _fill(running.create("peers"), folder, stores.INDEXES)
        running.execute("VACUUM ANALYZE", "store")
        running.execute("VACUUM ANALYZE", "peers")
        yield


@contextmanager
def server_of_copies(folders: list[Path]) -> Iterator[None]:
    """Starts a server with a copy of the store of each folder."""
    with postgresql_server.run_lock() as lock:
        running = postgresql_server.start(lock, is_durable=True)
        for folder in folders:
            (folder / "server").write_text(str(running.folder))
            with package.open(stores.need_store(folder)) as service:
                running.create(_copy_of(folder))
                service.copy_to(copy_of(folder))
            running.execute("VACUUM ANALYZE", _copy_of(folder))
        yield


def copy_of(folder: Path) -> str:
    """Returns the address of the copy of a folder's store."""
    return _server(folder).address(_copy_of(folder))


def _copy_of(folder: Path) -> str:
    return f"copy_of_{folder.name}"


def _server(folder: Path) -> postgresql_server.Server:
    return postgresql_server.Server(Path((folder / "server").read_text()))


@contextmanager
def _new(folder: Path) -> Iterator[str]:
    """Creates an empty database; yields its address."""
    name = f"new_{time.time_ns()}_{next(_numbers)}"
    running = _server(folder)
    yield running.create(name)
    running.drop(name)


# ---- loads -----------------------------------------------------------------------------------


def load(folder: Path) -> dict[str, float]:
    with _new(folder) as address, package.open(address) as service:
        service.load("payout-groups", folder / "payout-groups.ndjson")
        started = time.perf_counter()
        service.load("claims", folder / "claims.ndjson")
        return {"seconds": time.perf_counter() - started}


def limit_of_loads(folder: Path) -> dict[str, float]:
    rows = folder / "rows.copy"
    if not rows.exists():
        _limit(folder, "dump", _server(folder).address("store"), rows)
    with _new(folder) as address:
        with package.open(address) as service:  # creates the tables
            service.load("payout-groups", folder / "payout-groups.ndjson")
        return {"seconds": _limit(folder, "load", address, rows)}


def _limit(folder: Path, *arguments: object) -> float:
    """Runs the limit in C; returns what it measured."""
    return float((stores.last_line(stores.limit(folder, "postgresql"), *arguments) or ["0"])[0])


def load_with_psycopg(folder: Path) -> dict[str, float]:
    with _new(folder) as address:
        return {"seconds": _fill(address, folder, SAME_INDEXES)}


def load_with_psycopg_and_fewer_indexes(folder: Path) -> dict[str, float]:
    with _new(folder) as address:
        return {"seconds": _fill(address, folder, stores.INDEXES)}


def _fill(address: str, folder: Path, indexes: tuple[str, ...]) -> float:
    """Fills the table of natural types, whose indexes exist; returns the seconds."""
    import msgspec
    import psycopg

    kinds = dict.fromkeys(stores.COLUMNS, str | None) | {"addresses": list[str] | None}
    claim = msgspec.defstruct("Claim", [(name, kind, None) for name, kind in kinds.items()])
    decode = msgspec.json.Decoder(claim).decode
    with psycopg.connect(address) as connection, (folder / "claims.ndjson").open("rb") as lines:
        connection.execute(TABLE)
        for index in indexes:
            connection.execute(index)
        connection.commit()
        started = time.perf_counter()
        with connection.cursor().copy(f"COPY claims ({_NAMES}) FROM STDIN") as copy:
            for line in lines:
                copy.write_row(msgspec.structs.astuple(decode(line)))
        connection.commit()
        return time.perf_counter() - started


# ---- pages -----------------------------------------------------------------------------------


def pages(folder: Path) -> dict[str, float]:
    return _pages_of_a_store(_server(folder).address("store"), folder)


def pages_of_a_file(folder: Path) -> dict[str, float]:
    return _pages_of_a_store(str(stores.need_store(folder)), folder)


def _pages_of_a_store(place: str, folder: Path) -> dict[str, float]:
    from comptroller._core import Principal, Store

    store, operator = Store(place, True), Principal()

    def read(size: int, cursor: str) -> bytes:
        parameters = [("limit", str(size)), ("page_cursor", cursor)]
        return store.call(operator, "claims.list", parameters, None, None)[0]

    cursor = ""
    for _ in range(_rows(folder) // 2 // 1000):
        cursor = next_cursor(read(1000, cursor))
    assert len(json.loads(read(SIZE, cursor))["items"]) == SIZE
    return {
        place: microseconds(lambda at=at: read(SIZE, at), CALLS)  # type: ignore[misc]
        for place, at in zip(PLACES, ("", cursor), strict=True)
    }


def _rows(folder: Path) -> int:
    with (folder / "claims.ndjson").open("rb") as lines:
        return sum(1 for _ in lines)


def _measure(
    folder: Path, reader: Callable[[Any, str, tuple[object, ...]], Callable[[], object]]
) -> dict[str, float]:
    import psycopg

    with psycopg.connect(_server(folder).address("peers"), autocommit=True) as connection:
        middle = connection.execute(
            "SELECT created_at, key FROM claims ORDER BY created_at DESC, key DESC"
            " LIMIT 1 OFFSET %s",
            (_rows(folder) // 2,),
        ).fetchone()
        assert middle is not None
        starts: dict[str, tuple[str, tuple[object, ...]]] = {
            "first": ("", ()),
            "middle": (_AFTER, middle),
        }
        return {
            place: microseconds(reader(connection, _NEWEST.format(where), values), CALLS)
            for place, (where, values) in starts.items()
        }


def limit_of_pages(folder: Path) -> dict[str, float]:
    return {"first": _limit(folder, "page", _server(folder).address("store"), CALLS)}


def row_to_json(folder: Path) -> dict[str, float]:
    def reader(connection: Any, page: str, values: tuple[object, ...]) -> Callable[[], object]:
        sql = (
            f"SELECT json_build_object('items', json_agg(row_to_json(t)))::text FROM ({page}) AS t"
        )
        return lambda: connection.execute(sql, values, prepare=True).fetchone()[0].encode()

    return _measure(folder, reader)


def psycopg_dicts(folder: Path) -> dict[str, float]:
    from psycopg.rows import dict_row

    def reader(connection: Any, page: str, values: tuple[object, ...]) -> Callable[[], object]:
        cursor = connection.cursor(row_factory=dict_row)

        def read() -> bytes:
            rows = cursor.execute(page, values, prepare=True).fetchall()
            return json.dumps({"items": rows}, default=str).encode()

        return read

    return _measure(folder, reader)


def sqlalchemy_rows(folder: Path) -> dict[str, float]:
    import sqlalchemy

    engine = _sqlalchemy(_server(folder).address("peers"))
    claims = sqlalchemy.Table("claims", sqlalchemy.MetaData(), autoload_with=engine)
    own = [claims.c[name] for name in stores.COLUMNS]
    position = (claims.c.created_at, claims.c.key)

    def reader(_: Any, __: str, values: tuple[object, ...]) -> Callable[[], object]:
        query = sqlalchemy.select(*own).order_by(*(each.desc() for each in position)).limit(SIZE)
        if values:
            query = query.where(sqlalchemy.tuple_(*position) < values)

        def read() -> bytes:
            with engine.connect() as connection:
                rows = [dict(row) for row in connection.execute(query).mappings()]
            return json.dumps({"items": rows}, default=str).encode()

        return read

    return _measure(folder, reader)


def _sqlalchemy(address: str, **options: Any) -> Any:
    import sqlalchemy

    return sqlalchemy.create_engine(
        address.replace("postgresql:", "postgresql+psycopg:"), **options
    )


# ---- frames ----------------------------------------------------------------------------------


def frame(folder: Path) -> dict[str, float]:
    with package.open(_server(folder).address("store"), read_only=True) as service:
        return timed(lambda: service.claims.stream(columns=list(stores.COLUMNS)).to_polars())


def frame_by_adbc(folder: Path) -> dict[str, float]:
    import adbc_driver_postgresql.dbapi as adbc
    import polars

    with adbc.connect(_server(folder).address("peers")) as connection:
        sql = f"SELECT {_NAMES} FROM claims"
        return timed(lambda: polars.read_database(sql, connection))


def limit_of_frames(folder: Path) -> dict[str, float]:
    return {"seconds": _limit(folder, "scan", _server(folder).address("store"))}


# ---- creates ---------------------------------------------------------------------------------


def creates(folder: Path) -> dict[str, float]:
    """Creates controls in threads, each create durable before it returns."""
    with _with_identities(folder) as address, package.open(address) as service:

        def create(number: int) -> None:
            body = {"identity_id": f"user-{number}", "type": "SELL_ONLY", "reason_code": "REVIEW"}
            service.host.call("controls.create", [], json.dumps(body).encode(), None)

        return {"rate": _rate(create)}


def limit_of_creates(folder: Path) -> dict[str, float]:
    with _with_identities(folder) as address:
        return {"rate": _limit(folder, "creates", address, CONTROLS)}


@contextmanager
def _with_identities(folder: Path) -> Iterator[str]:
    with _new(folder) as address:
        with package.open(address) as service:
            service.load("identities", [_identity(number) for number in range(CONTROLS)])
        yield address


def creates_with_sqlalchemy(folder: Path) -> dict[str, float]:
    from datetime import UTC, datetime
    from uuid import uuid4

    import sqlalchemy

    with _new(folder) as address:
        engine = _sqlalchemy(address, pool_size=16, max_overflow=0, pool_timeout=300)
        with engine.begin() as connection:
            for sql in (IDENTITIES, CONTROLS_TABLE, ONE_ACTIVE):
                connection.execute(sqlalchemy.text(sql))
        data = sqlalchemy.MetaData()
        identities, controls = (
            sqlalchemy.Table(name, data, autoload_with=engine)
            for name in ("identities", "controls")
        )
        with engine.begin() as connection:
            rows = [{"id": f"user-{number}", "customer_id": "acme"} for number in range(CONTROLS)]
            connection.execute(sqlalchemy.insert(identities), rows)

        def create(number: int) -> None:
            owner = f"user-{number}"
            with engine.begin() as connection:
                query = sqlalchemy.select(identities).where(identities.c.id == owner)
                assert connection.execute(query).one()
                values = {"id": uuid4(), "identity_id": owner, "type": "SELL_ONLY"}
                values |= {"reason_code": "REVIEW", "created_at": datetime.now(UTC)}
                connection.execute(sqlalchemy.insert(controls).values(values))

        try:
            return {"rate": _rate(create)}
        finally:
            engine.dispose()


def _identity(number: int) -> dict[str, str]:
    created_at = "2026-01-01T00:00:00Z"
    return {"id": f"user-{number}", "customer_id": "acme", "created_at": created_at}


def _rate(create: Callable[[int], None]) -> float:
    """Calls a function once for each control, in threads; returns the calls per second."""

    def run(first: int) -> None:
        for number in range(first, CONTROLS, CLIENTS):
            create(number)

    threads = [threading.Thread(target=run, args=(each,)) for each in range(CLIENTS)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return CONTROLS / (time.perf_counter() - started)
