"""What executes the operations and the bulk work of a service: `local`, or `remote`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from comptroller.operations import Transport

if TYPE_CHECKING:
    from comptroller._core import Principal, Store
    from comptroller.bulk.exported import Copied, Exported, JournalState
    from comptroller.bulk.loading import LoadOptions, Opened
    from comptroller.bulk.streams import Stream
    from comptroller.journal import Checkpoint
    from comptroller.postgresql import Database


class Host(Transport, Protocol):
    """Executes the operations and bulk work of a `Service`, in this process or remotely."""

    def load(
        self, kind: str, given: Opened, options: LoadOptions, account: Callable[[bytes], None]
    ) -> None:
        """Loads records; `account` gets the LoadResult as JSON, even if an exception follows."""

    def export(
        self, kind: str, path: str, format: str, parameters: list[tuple[str, str]]
    ) -> Exported:
        """Writes an NDJSON or CSV file, or standard output for ``-``; returns the row count."""

    def stream_with_head(
        self, kind: str, columns: list[str] | None, parameters: list[tuple[str, str]]
    ) -> tuple[Stream, Callable[[], JournalState | None]]:
        """Returns records, and a function for the state of the journal that they are of."""

    def require_writable(self, path: str) -> None:
        """Raises InvalidRequest for a file that an export may not replace."""

    def backup(self, destination: str) -> JournalState:
        """Copies the store; returns the state of the copy's journal."""

    def copy_to(self, destination: str, progress: Callable[[int], object] | None) -> Copied:
        """Copies the store to an empty database or a new file."""

    def check(self) -> bytes:
        """Examines the whole store; returns the findings as JSON."""

    def store_with_principal(self) -> tuple[Store, Principal]:
        """Returns the store in this process and the caller; raises Unsupported for a remote one."""

    def checkpoint(self) -> Checkpoint:
        """Returns a checkpoint of the journal, signed, and the key that verifies it."""

    @property
    def path(self) -> str | None:
        """The store's file; None for a remote service, a database and a store in memory."""

    @property
    def is_remote(self) -> bool:
        """Whether a server has the store, so that making a stream copies its records."""

    @property
    def database(self) -> Database | None:
        """The database, if this process opened it and the caller may read all of its records."""

    @property
    def secrets_base(self) -> str | None:
        """The path with which the names of the store's private files begin, if they have a place.

        It is the store's file, or a name in the state folder of a database.
        """

    def customer(self) -> str | None:
        """The caller's customer; None for an operator, or if it is unknown."""

    def origin(self) -> str | None:
        """The store and the caller, as a text that is the same in each process.

        None if the store is in memory.
        """

    def version(self) -> int | None:
        """A number that changes with every commit of any process; None if it is unknown."""

    def close(self) -> None:
        """Closes the connection or store; closing again does nothing."""
