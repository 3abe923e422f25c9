"""The service in this process: a store file behind the nouns' methods."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from comptroller import arguments
from comptroller._core import Principal, Store
from comptroller.errors import invalid
from comptroller.files import refuse_store
from comptroller.loading import LoadOptions, Opened
from comptroller.service import Service
from comptroller.streams import Stream


class CommitCounter:
    """Tells whether a store changed, whichever process wrote to it. May be used from many threads.

    It has a connection of its own, through Python's SQLite, which is the core's.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = Lock()
        self._process = os.getpid()

    def read(self) -> int | None:
        """A number that is another after each commit; None if that is unknown."""
        with self._lock:
            if self._path is None or os.getpid() != self._process:
                return None
            try:
                if self._connection is None:
                    uri = f"{Path(self._path).absolute().as_uri()}?mode=ro"
                    self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
                (number,) = self._connection.execute("PRAGMA data_version").fetchone()
            except sqlite3.Error:
                return None
            return int(number)

    def close(self) -> None:
        """Closes the connection; what is read then is unknown."""
        with self._lock:
            self._path = None
            if self._connection is not None and os.getpid() == self._process:
                self._connection.close()
            self._connection = None


class LocalHost:
    """A store in this process, for one principal; `path` is None where it keeps no file."""

    def __init__(self, store: Store, principal: Principal, path: str | None) -> None:
        self.store = store
        self.principal = principal
        self.path = path
        self._commits = CommitCounter(path)

    def call(
        self,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None,
        idempotency_key: str | None,
    ) -> bytes:
        """The JSON answer of an operation, a first or a replayed one."""
        answer, _replayed = self.store.call(
            self.principal, operation, parameters, body, idempotency_key
        )
        return answer

    def stream(
        self, kind: str, columns: list[str] | None, parameters: list[tuple[str, str]]
    ) -> Stream:
        """All records of a kind that pass the filters, as columns."""
        return Stream(kind, self.store.stream(self.principal, kind, columns, parameters))

    def load(self, kind: str, given: Opened, options: LoadOptions, accounts: list[bytes]) -> None:
        """Loads in this process."""
        self.store.load(
            self.principal,
            kind,
            given.source,
            are_rows=given.faults is not None,
            customer_id=options.customer_id,
            keep_going=options.keep_going,
            dry_run=options.dry_run,
            total_bytes=given.total_bytes,
            progress=given.progress,
            account=accounts.append,
        )

    def export(self, kind: str, path: str, format: str, parameters: list[tuple[str, str]]) -> int:
        """Writes the file in this process."""
        return self.store.export(self.principal, kind, path, format, parameters)

    def require_writable(self, path: str) -> None:
        """Refuses the store's own files, and those of any other."""
        if self.store.owns(path):
            raise invalid("path", f"{path} is a file of the store itself; name another file")
        refuse_store("path", path)

    def backup(self, destination: str) -> None:
        """Copies the store."""
        self.store.backup(self.principal, destination)

    def check(self) -> bytes:
        """What an examination of the whole store found, as JSON."""
        return self.store.check(self.principal)

    def version(self) -> int | None:
        """A number that changes with every commit; None if the store keeps no file."""
        return self._commits.read()

    def close(self) -> None:
        """Closes the store."""
        self._commits.close()
        self.store.close()


def open(
    path: str | os.PathLike[str],
    *,
    customer: str | None = None,
    scopes: Iterable[str] | None = None,
    client_id: str | None = None,
    read_only: bool = False,
) -> Service:
    """Opens a store file, made if missing, as its operator or as a client of one customer.

    Args:
        path: the file, or ``":memory:"`` for a store that is gone when it is closed.
        customer: whose client to be; the operator, who sees all customers, when left out.
        scopes: what is allowed, such as ``["rewards:read_claims"]``; all of its kind when left out.
        client_id: the name that records of a client's work carry as created_by; of the
            operator's they say ``operator``.
        read_only: never writes and never migrates.

    Raises:
        Unavailable: the path cannot be opened, is no store, or one of a newer version.
        InvalidRequest: an unknown scope.
    """
    place = arguments.path("path", path)
    principal = Principal(
        None if customer is None else arguments.text("customer", customer),
        None if client_id is None else arguments.text("client_id", client_id),
        None if scopes is None else _scopes(scopes),
    )
    who = "operator" if customer is None else f"customer {customer!r}"
    mode = ", read only" if arguments.flag("read_only", read_only) else ""
    store = Store(place, read_only)
    host = LocalHost(store, principal, None if place == ":memory:" else place)
    return Service(host, f"{place!r}, {who}{mode}")


def _scopes(given: Iterable[str]) -> list[str]:
    # Unlike a filter they may be none.
    several = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
    return [arguments.text("scopes", scope) for scope in (given if several else [given])]
