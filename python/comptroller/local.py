"""The host of a service in this process, and `open`, which opens a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from comptroller import arguments
from comptroller._core import Principal, Store
from comptroller.bulk.exported import Copied, Exported, JournalState
from comptroller.bulk.files import refuse_beside_store, refuse_store
from comptroller.bulk.loading import LoadOptions, Opened
from comptroller.bulk.streams import Stream
from comptroller.display.progress import Progress, observer
from comptroller.errors import invalid
from comptroller.service import Service

if TYPE_CHECKING:
    from comptroller import postgresql
    from comptroller.journal import Checkpoint


class Location(NamedTuple):
    """Where a store is: in a file, in memory, or in a database.

    Attributes:
        name: the file or address for people, without passwords.
        path: the file; None for memory and a database.
        secrets_base: the path with which the names of private files begin; None without a place
            for them.
        database: the address of the database.
    """

    name: str
    path: str | None
    secrets_base: str | None
    database: postgresql.Address | None = None


class LocalHost:
    """A store that this process opened, used as one principal.

    Attributes:
        path: see Location.
        secrets_base: see Location.
        is_database: whether the store is a database, so that a call waits for another process.
        is_read_only: whether the store was opened read-only.
    """

    is_remote = False

    def __init__(
        self, store: Store, principal: Principal, location: Location, is_read_only: bool = False
    ) -> None:
        self.store = store
        self.principal = principal
        self.path = location.path
        self.secrets_base = location.secrets_base
        self.is_database = location.database is not None
        self._location = location
        self.is_read_only = is_read_only
        self._origin = location.name if self.is_database else None
        if location.path is not None:
            self._origin = str(Path(location.path).resolve())

    def call(
        self,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None,
        idempotency_key: str | None,
    ) -> bytes:
        """Executes an operation; returns its JSON result, which may be a replay."""
        if operation == "webhooks.secret" and self.is_database and not self.is_read_only:
            from comptroller.journal.shared_keys import share_keys

            share_keys(self)  # because the secret follows from it
        answer, _replayed = self.store.call(
            self.principal, operation, parameters, body, idempotency_key
        )
        return answer

    def stream(
        self, kind: str, columns: list[str] | None, parameters: list[tuple[str, str]]
    ) -> Stream:
        """Returns all records of a kind that match the filters, as columns."""
        return Stream(kind, self.store.stream(self.principal, kind, columns, parameters))

    def load(
        self, kind: str, given: Opened, options: LoadOptions, account: Callable[[bytes], None]
    ) -> None:
        """Loads records into the store."""
        self.store.load(
            self.principal,
            kind,
            given.source,
            are_rows=given.is_of_caller,
            only_lines=given.has_only_lines,
            input_name=options.input_name,
            input_sha256=given.sha256,
            mapping=options.mapping,
            customer_id=options.customer_id,
            keep_going=options.keep_going,
            dry_run=options.dry_run,
            total_bytes=given.total_bytes,
            progress=given.progress,
            account=account,
            rejected=options.rejected,
        )

    def export(
        self, kind: str, path: str, format: str, parameters: list[tuple[str, str]]
    ) -> Exported:
        """Writes records of the store to a file; returns the row count."""
        rows, head = self.store.export(self.principal, kind, path, format, parameters)
        return Exported(rows, None if head is None else JournalState(*head))

    def stream_with_head(
        self, kind: str, columns: list[str] | None, parameters: list[tuple[str, str]]
    ) -> tuple[Stream, Callable[[], JournalState | None]]:
        """Returns records, and a function for the state of the journal that they are of."""
        rows, head = self.store.stream_with_head(self.principal, kind, columns, parameters)

        def state() -> JournalState | None:
            found = head()
            return None if found is None else JournalState(*found)

        return Stream(kind, rows), state

    def require_writable(self, path: str) -> None:
        """Raises InvalidRequest for a file of any store."""
        refuse_store("path", path)

    def backup(self, destination: str) -> JournalState:
        """Copies the store; returns the state of the copy's journal."""
        _require_new_store("destination", destination)
        return JournalState(*self.store.backup(self.principal, destination))

    def copy_to(self, destination: str, progress: Callable[[int], object] | None) -> Copied:
        """Copies the store to an empty database or a new file."""
        libpq = None
        target = _locate(destination, None, "destination")
        if target.database is not None:
            from comptroller.postgresql import carried_libpq

            libpq = carried_libpq()
        else:
            _require_new_store("destination", destination)
        rows, size, root = self.store.copy_to(
            self.principal, destination, libpq=libpq, progress=progress
        )
        return Copied(rows, JournalState(size, root))

    @property
    def name(self) -> str:
        """The path of the file, or the address of the database without its password."""
        return self._location.name

    @property
    def database(self) -> postgresql.Database | None:
        """The database, if the caller may read all of its records."""
        from comptroller.postgresql import Database

        address = self._location.database
        if address is None or self.principal.customer is not None:
            return None
        if "operator:read" not in self.principal.scopes:
            return None
        return Database(address, self.is_read_only)

    def store_with_principal(self) -> tuple[Store, Principal]:
        """Returns the store and the caller."""
        return self.store, self.principal

    def checkpoint(self) -> Checkpoint:
        """Returns a checkpoint of the journal, signed, and the key that verifies it."""
        from comptroller.journal import sign_checkpoint

        return sign_checkpoint(self, self.principal)

    def check(self) -> bytes:
        """Examines the whole store; returns the findings as JSON."""
        return self.store.check(self.principal)

    def customer(self) -> str | None:
        """Returns the caller's customer; None for the operator."""
        return self.principal.customer

    def origin(self) -> str | None:
        """Returns the file, without links, or the address, and the principal; None for memory."""
        origin = self._origin
        return None if origin is None else f"<Service {origin!r}, {_title(self.principal)}>"

    def version(self) -> int:
        """Returns a number that changes with every commit of any process."""
        return self.store.version()

    def close(self) -> None:
        """Closes the store."""
        self.store.close()


def open(
    path: str | os.PathLike[str],
    *,
    customer: str | None = None,
    scopes: Iterable[str] | None = None,
    client_id: str | None = None,
    actor: str | None = None,
    read_only: bool = False,
    progress: Progress | bool | None = None,
    state: str | os.PathLike[str] | None = None,
) -> Service:
    """Opens a store, a file or a database, as its operator or as a client; creates a missing file.

    Args:
        path: the file, or ``":memory:"`` for a store in memory, which `close` discards; or the
            address of a database, such as ``"postgresql://user@host/database"``.
        customer: opens the store as a client of this customer; by default as the operator, who
            sees all customers.
        scopes: the permissions, such as ``["rewards:read_claims"]``; by default all scopes of a
            client or of the operator.
        client_id: the name of the client, stored as ``created_by`` and ``deleted_by`` of controls;
            by default the customer.
        actor: the person or program that acts as the operator, stored as ``created_by`` and
            ``deleted_by`` of controls, which clients can read; 1 to 128 printable characters. By
            default ``operator``.
        read_only: opens the store without writing or migrating it.
        progress: as for `Service.load`, while a store of an earlier version gets its journal, which
            reads all of its records; the numbers of bytes are 0.
        state: for a database, the folder of the private files that are beside a store file: the
            keys of checkpoints and webhooks, and the places of pulls. It is created if missing.

    Raises:
        Unusable: the path cannot be opened, is not a store, or is a store of a newer version; or
            the store was open when this process was forked.
        Unavailable: the database does not answer, or libpq is not installed.
        InvalidRequest: a scope is unknown, or an argument is invalid.
    """
    is_read_only = arguments.flag("read_only", read_only)
    location = _locate(arguments.path("path", path), state)
    if client_id is not None:
        client_id = arguments.text("client_id", client_id)
    principal = Principal(
        None if customer is None else arguments.text("customer", customer),
        None if customer is None else client_id,
        None if scopes is None else _scopes(scopes),
        None if actor is None else _actor(actor),
    )
    mode = ", read only" if is_read_only else ""
    with observer(progress, f"migrating {location.name}") as observed:
        # A lambda of an observer, because the number of bytes is unknown.
        advance = None if observed is None else lambda records: observed(0, None, records)
        store = _store(location, is_read_only, advance)
    host = LocalHost(store, principal, location, is_read_only)
    who = _title(principal) + ("" if actor is None else f" {actor!r}")
    return Service(host, f"{location.name!r}, {who}{mode}")


def _locate(place: str, state: str | os.PathLike[str] | None, argument: str = "path") -> Location:
    folder = None if state is None else arguments.path("state", state)
    # An address, also a misspelled one, has one of these.
    if place != ":memory:" and (":" in place or "=" in place):
        from comptroller import postgresql

        if postgresql.is_address(place):
            address = postgresql.parse(argument, place)
            base = None if folder is None else postgresql.state_base(folder)
            return Location(address.shown, None, base, address)
        postgresql.refuse_similar(argument, place)
    if folder is not None:
        raise invalid("state", "only a database has a state folder; leave it out")
    if place == ":memory:":
        return Location(place, None, None)
    # Absolute, because the program may change its working directory.
    path = str(Path(place).absolute())
    return Location(place, path, path)


def _require_new_store(argument: str, path: str) -> None:
    """Raises InvalidRequest if a copy of the store cannot have this path."""
    if path == "-":
        raise invalid(argument, "a store cannot go to standard output; name a file")
    if path in ("", ":memory:"):
        raise invalid(argument, f"{path!r} is not the name of a file; name a new file")
    refuse_beside_store(argument, path)


def _store(
    location: Location, is_read_only: bool, advance: Callable[[int], object] | None
) -> Store:
    database = location.database
    if database is None:
        return Store(location.name, is_read_only, advance)
    from comptroller.postgresql import carried_libpq

    return Store(
        database.full,
        is_read_only,
        advance,
        libpq=carried_libpq(),
        secrets_base=location.secrets_base,
    )


def _title(principal: Principal) -> str:
    customer = principal.customer
    return "operator" if customer is None else f"customer {customer!r}"


def _actor(given: str) -> str:
    actor = arguments.text("actor", given)
    # People read it in reports, so its characters must be visible.
    if not actor.isprintable():
        raise invalid("actor", "must be 1 to 128 printable characters")
    return actor


def _scopes(given: Iterable[str]) -> list[str]:
    # `arguments.texts` would refuse an empty list, which is valid here.
    several = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
    return [arguments.text("scopes", scope) for scope in (given if several else [given])]
