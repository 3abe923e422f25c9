"""The service in this process: a store file behind the nouns' methods."""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

import msgspec

from comptroller import arguments, records
from comptroller._core import Principal, Store
from comptroller.arguments import Filter
from comptroller.errors import invalid
from comptroller.loading import LoadResult, LoadSource, Opened, Progress, opened
from comptroller.operations import (
    Balances,
    Claims,
    Controls,
    Identities,
    Orchestrations,
    PayoutGroups,
    RewardAddresses,
)
from comptroller.parquet import write_parquet
from comptroller.streams import Stream

_FORMATS = ("ndjson", "csv", "parquet")
# The columns of a parquet file where they are not all there are: as the other formats, it leaves
# out what follows from the controls.
_EXPORTED = {
    "identities": ["id", "customer_id", "ref_id", "metadata", "created_at", "updated_at"],
}


class LocalTransport:
    """Carries the operations of one principal to a store in this process."""

    def __init__(self, store: Store, principal: Principal) -> None:
        self._store = store
        self._principal = principal

    def call(
        self,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None,
        idempotency_key: str | None,
    ) -> bytes:
        """The JSON answer of an operation, a first or a replayed one."""
        answer, _replayed = self._store.call(
            self._principal, operation, parameters, body, idempotency_key
        )
        return answer

    def stream(
        self, kind: str, columns: list[str] | None, parameters: list[tuple[str, str]]
    ) -> Stream:
        """All records of a kind that pass the filters, as columns."""
        return Stream(kind, self._store.stream(self._principal, kind, columns, parameters))


class Service:
    """The service, for its operator or for one client. Made by :func:`comptroller.open`.

    May be used from many threads. After `close`, and in a forked child, every method raises
    :class:`comptroller.Unavailable`.
    """

    identities: Identities
    controls: Controls
    orchestrations: Orchestrations
    payout_groups: PayoutGroups
    reward_addresses: RewardAddresses
    balances: Balances
    claims: Claims

    def __init__(self, store: Store, principal: Principal, title: str) -> None:
        self._store = store
        self._principal = principal
        self._title = title
        self._transport = transport = LocalTransport(store, principal)
        self.identities = Identities(transport)
        self.controls = Controls(transport)
        self.orchestrations = Orchestrations(transport)
        self.payout_groups = PayoutGroups(transport)
        self.reward_addresses = RewardAddresses(transport)
        self.balances = Balances(transport)
        self.claims = Claims(transport)

    def load(
        self,
        kind: str,
        source: LoadSource,
        *,
        customer_id: str | None = None,
        keep_going: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> LoadResult:
        """Loads records of a kind, accounting for every line. For the operator.

        All or nothing: where a line is rejected nothing is kept, unless `keep_going` says to keep
        the good ones. Bad lines are in the result, never raised.

        Args:
            kind: identities, controls, orchestrations, payout-groups, reward-addresses, claims or
                balances.
            source: a path, a binary file (NDJSON, a JSON array or a saved list answer, also
                gzipped), or an iterable of dicts or records, walked on the calling thread. Times
                are RFC 3339 or aware datetimes, amounts plain decimals as str, Decimal or int. A
                row that JSON cannot hold (a key that is no str, an object of another type) is
                rejected too; what the iterable itself raises is raised.
            customer_id: whose the records are that carry no customer; ``default`` when left out.
            keep_going: keeps the good lines, in batches.
            dry_run: keeps nothing, and counts what would have been.
            progress: called with bytes done, bytes in all (None if unknown) and rows, at most ten
                times a second. What it raises ends the load, as Ctrl-C does.

        Whatever ends a load when something has been committed (batches of `keep_going`; all of it,
        at the very end) carries the LoadResult of that as its ``load_result``.

        Raises:
            InvalidRequest: an unknown kind, a source that cannot be read.
            Forbidden: asked by a client.
            Unavailable: the store cannot be written.
        """
        if progress is not None and not callable(progress):
            raise invalid("progress", "it must be something to call")
        accounts: list[bytes] = []
        given: Opened | None = None
        try:
            with opened(source, progress) as given:
                self._store.load(
                    self._principal,
                    arguments.kind(kind),
                    given.source,
                    are_rows=given.faults is not None,
                    customer_id=None
                    if customer_id is None
                    else arguments.text("customer_id", customer_id),
                    keep_going=arguments.flag("keep_going", keep_going),
                    dry_run=arguments.flag("dry_run", dry_run),
                    total_bytes=given.total_bytes,
                    progress=given.progress,
                    account=accounts.append,
                )
            return given.explained(records.read(accounts[0], LoadResult))
        except BaseException as error:
            # Also a Ctrl-C that came when all was committed.
            if given and accounts:
                vars(error)["load_result"] = given.explained(records.read(accounts[0], LoadResult))
            raise

    def export(
        self,
        kind: str,
        path: str | os.PathLike[str],
        format: str = "ndjson",
        **filters: Filter,
    ) -> int:
        """Writes the records of a kind that pass the filters of its list; returns how many.

        The file appears when it is whole; one of that name is replaced. NDJSON loads back to an
        equal store. CSV cells that a spreadsheet would take for a formula are defused.

        Args:
            kind: as for `load`.
            path: the file; ``-`` is standard output (not for parquet).
            format: ndjson, csv or parquet (amounts decimal(38, 18), times UTC; needs DuckDB).
            filters: those of the kind's `list`; deleted controls are there unless
                ``include_deleted=False``.

        Raises:
            InvalidRequest: an unknown kind, format or filter, or a file of the store itself.
            Unavailable: the file cannot be written, or DuckDB is not installed.
        """
        word = arguments.kind(kind)
        arguments.choice("format", format, _FORMATS)
        if word == "controls":
            filters = {"include_deleted": True} | filters
        parameters = arguments.query(filters)
        place = arguments.path("path", path)
        if not place:
            raise invalid("path", "it must name a file")
        if place != "-" and self._store.owns(place):
            raise invalid("path", f"{place} is a file of the store itself; name another file")
        if format != "parquet":
            return self._store.export(self._principal, word, place, format, parameters)
        if place == "-":
            raise invalid("path", "parquet needs a file, standard output is not one")
        stream = self._transport.stream(word, _EXPORTED.get(word), parameters)
        return write_parquet(stream, place)

    def backup(self, destination: str | os.PathLike[str]) -> None:
        """Copies the store to another file, consistent while others write.

        Raises:
            InvalidRequest: a file of the store itself.
            Unavailable: the file is there already, or cannot be written.
        """
        self._store.backup(self._principal, arguments.path("destination", destination))

    def check(self) -> dict[str, Any]:
        """What an examination of the whole store found. Writes nothing."""
        found: dict[str, Any] = msgspec.json.decode(self._store.check(self._principal))
        return found

    def close(self) -> None:
        """Closes the store; closing again does nothing."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Service {self._title}>"


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
    return Service(Store(place, read_only), principal, f"{place!r}, {who}{mode}")


def _scopes(given: Iterable[str]) -> list[str]:
    # Unlike a filter they may be none.
    several = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
    return [arguments.text("scopes", scope) for scope in (given if several else [given])]
