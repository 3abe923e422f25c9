"""Runs operations on a store and marks them in the record of `power_record`.

`python power_operations.py SCENARIO FOLDER INPUTS` needs the preloaded recorder. The store is
`FOLDER/store.db`; other files that must survive are in FOLDER, too. A mark says that an operation
began or was answered, and what it must leave: the journal's size and root, and the digests of
files.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import comptroller
from comptroller import Service
from examples import EVM_ADDRESSES, GROUP, HASH, LATER, group_id, short_line

CLAIMS = 1_200
LARGE_WRITES = 300
ENDPOINT = "https://example.org/hooks"
#: The tables that stores of the last version without a journal did not have.
NEW_TABLES = (
    "journal",
    "journal_batch_keys",
    "journal_archives",
    "webhooks",
    "webhook_deliveries",
    "webhook_lease",
)

_libc = ctypes.CDLL(None)


def mark(**members: Any) -> None:
    _libc.power_mark(json.dumps(members).encode())


class Recording:
    """Operations on one store, each marked."""

    def __init__(self, folder: Path, inputs: Path) -> None:
        self.store = folder / "store.db"
        self.folder = folder
        self.inputs = inputs
        self.svc: Service | None = None
        self._number = 0
        self._size = 0

    @property
    def open(self) -> Service:
        assert self.svc is not None
        return self.svc

    def run(
        self, name: str, act: Callable[[], Any], *, is_whole: bool = True, files: str = ""
    ) -> Any:
        """Runs an operation, and marks its beginning, its answer, and what it must leave.

        Args:
            name: of the operation.
            act: the operation; what it returns is repeatable, if it is not None.
            is_whole: whether it is one transaction.
            files: a file in the folder that it wrote.
        """
        number = self._number = self._number + 1
        mark(begun=number, name=name, is_whole=is_whole)
        answer = act()
        mark(answered=number)
        state = self.open.journal.state()
        sizes = range(self._size, state.size + 1)
        mark(
            state=number,
            size=state.size,
            roots={size: self.open.journal.state(size).root for size in sizes},
            files={name: digest(self.folder / name) for name in files.split()},
        )
        self._size = state.size
        return answer

    def reopen(self) -> None:
        def opened() -> None:
            if self.svc is not None:
                self.svc.close()
            self.svc = comptroller.open(self.store)

        self.run("open", opened, is_whole=False)

    def create_again(self, key: str) -> None:
        """Creates a group with an idempotency key; the record has the answer."""

        def create() -> None:
            mark(key=key, answer=create_with_key(self.open, key))

        self.run("create with a key", create)

    def write_from_threads(self) -> None:
        """Writes from four threads at once, so that a commit has several writes."""

        def write(thread: int) -> None:
            for number in range(6):
                id = f"thread-{thread}-{number}"
                self.open.identities.put(id=id, user_disabled=True)
                mark(acknowledged=id)

        def act() -> None:
            threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        self.run("writes of threads", act, is_whole=False)

    def put(self, id: str) -> None:
        self.run("put", lambda: self.open.identities.put(id=id, metadata={"note": id}))

    def load(self, kind: str, file: str, *, is_whole: bool = True) -> None:
        def act() -> None:
            result = self.open.load(kind, self.inputs / file, keep_going=not is_whole)
            assert result.inserted + result.updated > 0, result.rejections[0]

        self.run(f"load {file}", act, is_whole=is_whole)


def create_with_key(svc: Service, key: str) -> str:
    """Creates a group, whose id the service chooses; the same key must give the same one."""
    group = svc.payout_groups.create(
        ledger="INK",
        asset_type="RPL",
        jurisdiction="CH",
        name=key,
        claimer_address=EVM_ADDRESSES[0],
        idempotency_key=key,
    )
    return group.id


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def writes(to: Recording) -> None:
    """Single writes, from the creation of the store on, and the files that the service makes."""
    to.reopen()
    svc = to.open
    to.put("alice")
    to.run("update", lambda: svc.identities.update("alice", metadata={"tier": "gold"}))
    to.create_again("first")
    control = to.run(
        "create",
        lambda: svc.controls.create(identity_id="alice", type="FROZEN", reason_code="R"),
    )
    to.run("delete", lambda: svc.controls.delete(control_id=control.id))
    to.run("put a claim", lambda: svc.claims.put(short_line("claims", id="claim")))
    to.run("submit", lambda: svc.claims.submit("claim", tx_hash=HASH))
    webhook = to.run("create a webhook", lambda: svc.webhooks.create(url=ENDPOINT))
    to.run(
        "key of the webhooks",
        lambda: svc.webhooks.secret(webhook.id),
        files="store.db.webhook-key",
    )
    to.run("checkpoint of the journal", svc.journal.checkpoint, files="store.db.journal-key")
    to.run("back up", lambda: svc.backup(to.folder / "backup.db"), files="backup.db")
    to.write_from_threads()
    to.run(
        "export",
        lambda: svc.export("identities", to.folder / "identities.csv"),
        files="identities.csv",
    )
    to.create_again("second")
    to.reopen()
    svc = to.open
    to.put("bob")
    to.run("delete a webhook", lambda: svc.webhooks.delete(webhook.id))
    to.run(
        "archive",
        lambda: svc.journal.archive("2100-01-01", to.folder / "old.parquet"),
        files="old.parquet",
    )
    to.put("carol")
    to.run(
        "export again",
        lambda: svc.export("identities", to.folder / "identities.csv"),
        files="identities.csv",
    )
    to.create_again("third")


def loads(to: Recording) -> None:
    """Loads in every way, with writes before and after each."""
    to.reopen()
    to.put("alice")
    to.load("payout-groups", "payout-groups.ndjson")
    to.load("claims", "claims.ndjson")
    to.put("bob")
    to.load("orchestrations", "orchestrations.ndjson")
    to.load("claims", "changed.ndjson")
    to.create_again("first")
    to.load("claims", "rejected.ndjson", is_whole=False)
    to.reopen()
    to.put("carol")
    to.run("move", lambda: to.open.payout_groups.update(GROUP, jurisdiction="FR"))
    wait_for_move(to.store)
    to.put("dave")


def loads_by_sql(to: Recording) -> None:
    """The first loads of two tables with INSERT statements."""
    os.environ["COMPTROLLER_ONLY_SQL"] = "1"
    to.reopen()
    to.put("alice")
    to.load("claims", "claims.ndjson")
    to.load("orchestrations", "orchestrations.ndjson", is_whole=False)
    to.put("bob")


def checkpoints(to: Recording) -> None:
    """Writes enough for the log to be copied into the file between two writes."""
    to.reopen()
    note = {f"note-{number}": "x" * 500 for number in range(50)}

    def write() -> None:
        for number in range(LARGE_WRITES):
            id = f"large-{number}"
            to.open.identities.put(id=id, metadata=note, user_disabled=True)
            mark(acknowledged=id)

    to.run("large writes", write, is_whole=False)
    to.put("alice")


def migration(to: Recording) -> None:
    """The migration of the store of an earlier version, which is in the folder."""
    to.reopen()
    to.put("alice")
    to.load("claims", "changed.ndjson")


def wait_for_move(store: Path) -> None:
    """Waits until a thread of the service has changed all claims of a moved group."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        while connection.execute("SELECT count(*) FROM jurisdiction_changes").fetchone()[0]:
            os.sched_yield()


def write_inputs(folder: Path) -> None:
    """Writes the files to load; those of two tables are large enough for a private copy."""

    def write(name: str, rows: list[dict[str, Any]], padding: int = 0) -> None:
        lines = (json.dumps(row)[:-1] + " " * padding + "}\n" for row in rows)
        (folder / f"{name}.ndjson").write_text("".join(lines))

    claims = [
        short_line("claims", id=f"claim-{number}", payout_group_id=GROUP, amount=f"{number}.5")
        for number in range(CLAIMS)
    ]
    padding = 2 * (1 << 20) // CLAIMS
    write("claims", claims, padding)
    change = {"onchain_status": "SUBMITTED", "tx_hash": HASH, "updated_at": LATER}
    write("changed", [row | change for row in claims[:300]])
    new = [row | {"id": f"new-{number}"} for number, row in enumerate(claims)]
    write(
        "rejected",
        [*new, *new, {"id": "no claim"}, *(row | {"id": row["id"] + "-"} for row in new)],
    )
    write(
        "orchestrations",
        [short_line("orchestrations", id=f"o-{number}") for number in range(CLAIMS)],
        padding,
    )
    groups = [
        short_line("payout-groups", id=group_id(n), jurisdiction="DE", claimer_address=address)
        for n, address in enumerate(EVM_ADDRESSES, start=1)
    ]
    write("payout-groups", groups)


def make_earlier_store(store: Path, inputs: Path) -> None:
    """Makes a store of the last version without a journal."""
    with comptroller.open(store) as svc:
        for kind in ("payout-groups", "claims"):
            assert svc.load(kind, inputs / f"{kind}.ndjson").committed
    with closing(sqlite3.connect(store)) as connection:
        for table in NEW_TABLES:
            connection.execute(f"DROP TABLE {table}")
        connection.executescript("PRAGMA user_version = 6; PRAGMA wal_checkpoint(TRUNCATE)")


SCENARIOS = {each.__name__: each for each in (writes, loads, loads_by_sql, checkpoints, migration)}

if __name__ == "__main__":
    recording = Recording(Path(sys.argv[2]), Path(sys.argv[3]))
    SCENARIOS[sys.argv[1]](recording)
    recording.open.close()
