"""The service in this process: a store file behind the nouns' methods."""

from __future__ import annotations

import os
from collections.abc import Iterable

from comptroller import arguments
from comptroller._core import Principal, Store
from comptroller.bulk.files import refuse_store
from comptroller.bulk.loading import LoadOptions, Opened
from comptroller.bulk.streams import Stream
from comptroller.errors import invalid
from comptroller.service import Service


class LocalHost:
    """A store in this process, for one principal; `path` is None where it keeps no file."""

    def __init__(self, store: Store, principal: Principal, path: str | None) -> None:
        self.store = store
        self.principal = principal
        self.path = path

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

    def customer(self) -> str | None:
        """Whose client the caller is; None for the operator."""
        return self.principal.customer

    def version(self) -> int:
        """Another number after each commit, by whichever process."""
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
        Unusable: the path cannot be opened, is no store, or one of a newer version.
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
