"""The service: its resources, and what is done in bulk, wherever it runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import msgspec

from comptroller import arguments, decoding
from comptroller.arguments import Filter
from comptroller.bulk.loading import (
    LoadOptions,
    LoadResult,
    LoadSource,
    Opened,
    files_of_kinds,
    opened,
)
from comptroller.bulk.parquet import write_dataset, write_parquet
from comptroller.display.html import html
from comptroller.display.progress import Progress, busy, observer
from comptroller.errors import invalid, require
from comptroller.operations import Resources, Transport

if TYPE_CHECKING:
    from comptroller.analysis.reports import Reports

_FORMATS = ("ndjson", "csv", "parquet")


class Host(Transport, Protocol):
    """Where a service runs: carries operations to it, and what is done in bulk."""

    def load(self, kind: str, given: Opened, options: LoadOptions, accounts: list[bytes]) -> None:
        """Loads; appends the account of what was done, also where an exception ends it."""

    def export(self, kind: str, path: str, format: str, parameters: list[tuple[str, str]]) -> int:
        """Writes an NDJSON or CSV file, or standard output for ``-``; gives the rows."""

    def require_writable(self, path: str) -> None:
        """Refuses a file that an export may not replace."""

    def backup(self, destination: str) -> None:
        """Copies the store."""

    def check(self) -> bytes:
        """What an examination of the whole store found, as JSON."""

    @property
    def path(self) -> str | None:
        """The store's file; None for a remote service and for a store without one."""

    def customer(self) -> str | None:
        """Whose client the caller is; None for an operator, and where that is unknown."""

    def version(self) -> int | None:
        """A number that changes with every commit, by any process; None if that is unknown."""

    def close(self) -> None:
        """Lets go of the service; again does nothing."""


class Service(Resources):
    """The service, for its operator or for one client: a store's by :func:`comptroller.open`.

    May be used from many threads. After `close`, and in a forked child, every method raises
    :class:`comptroller.Closed`.
    """

    def __init__(self, host: Host, title: str) -> None:
        super().__init__(host)
        self._host = host
        self._title = title
        self._reports: Reports | None = None

    @property
    def reports(self) -> Reports:
        """Reports on the records, whose columns they keep in memory until the service is closed.

        Raises MissingExtra if the extra is not installed.
        """
        require("sqlglot", "reports", "analysis")
        from comptroller.analysis.reports import Reports
        from comptroller.analysis.tables import Store

        if self._reports is None:
            self._reports = Reports(Store(self._resources(), self._host.version))
        return self._reports

    @property
    def host(self) -> Host:
        """Where it runs, for adapters."""
        return self._host

    def load(
        self,
        kind: str,
        source: LoadSource,
        *,
        customer_id: str | None = None,
        keep_going: bool = False,
        dry_run: bool = False,
        progress: Progress | bool | None = None,
    ) -> LoadResult:
        """Loads records of a kind, accounting for every line. For the operator.

        All or nothing: where a line is rejected nothing is kept, unless `keep_going` says to keep
        the good ones. Bad lines are in the result, never raised.

        Args:
            kind: one of :data:`comptroller.values.KINDS`, such as ``claims``.
            source: a path, a binary file (NDJSON, a JSON array or a saved list answer, also
                gzipped), a data frame (anything with ``__arrow_c_stream__``: polars, pandas,
                pyarrow, a DuckDB relation, a :class:`comptroller.Stream`), or an iterable of dicts
                or records, walked on the calling thread. Times are RFC 3339 or aware datetimes,
                amounts plain decimals as str, Decimal or int. A row that JSON cannot hold (a key
                that is no str, an object of another type) is rejected too; what the iterable itself
                raises is raised. Of a frame, empty cells are members that are not set, and columns
                that are not known are counted as unknown members.
            customer_id: whose the records are that carry no customer; ``default`` when left out.
            keep_going: keeps the good lines, in batches.
            dry_run: keeps nothing, and counts what would have been.
            progress: called with bytes done, bytes in all (None if unknown) and rows, at most ten
                times a second. What it raises ends the load, as Ctrl-C does. True is a bar (needs
                tqdm), False none; left out there is one in notebooks, where it takes a while.

        Whatever ends a load when something has been committed (batches of `keep_going`; all of it,
        at the very end) carries the LoadResult of that as its ``load_result``.

        Raises:
            InvalidRequest: an unknown kind, a source that cannot be read; a column of floats, or of
                times without a zone, that has values.
            Forbidden: asked by a client.
            ReadOnly: the store was opened read-only.
            Unavailable: the store is busy, or its disk is full.
        """
        accounts: list[bytes] = []
        given: Opened | None = None
        try:
            word = arguments.kind(kind)
            with (
                observer(progress, f"loading {kind}") as observed,
                opened(source, word, observed) as given,
            ):
                options = LoadOptions(
                    None if customer_id is None else arguments.text("customer_id", customer_id),
                    arguments.flag("keep_going", keep_going),
                    arguments.flag("dry_run", dry_run),
                )
                self._host.load(word, given, options, accounts)
            return given.explained(decoding.read(accounts[0], LoadResult))
        except BaseException as error:
            # Also a Ctrl-C that came when all was committed.
            if given and accounts:
                vars(error)["load_result"] = given.explained(decoding.read(accounts[0], LoadResult))
            raise

    def load_all(
        self,
        folder: str | os.PathLike[str],
        *,
        customer_id: str | None = None,
        keep_going: bool = False,
        progress: Progress | bool | None = None,
    ) -> dict[str, LoadResult]:
        """Loads a folder with a file for each kind, such as ``comptroller sample all`` makes.

        A file is named after its kind, ``claims.ndjson``; also ``.jsonl`` or ``.json``, with dashes
        or underscores, and gzipped as ``.gz``. Kinds that have no file are left out. Each file is a
        load of its own, in an order in which what is referred to comes first. After a kind of which
        nothing was kept, because lines were rejected, no other is loaded.

        Args:
            folder: its path.
            customer_id: as for `load`.
            keep_going: as for `load`.
            progress: as for `load`; begins anew with each kind.

        Returns:
            The result of each kind that was loaded, in that order.

        Raises:
            What `load` raises; the kinds before are kept then.
            InvalidRequest: no folder, no file of a kind, two files of one kind, or a file of one of
                these endings that is named after no kind; nothing is loaded then.
        """
        results: dict[str, LoadResult] = {}
        for kind, file in files_of_kinds(arguments.path("folder", folder)).items():
            results[kind] = self.load(
                kind, file, customer_id=customer_id, keep_going=keep_going, progress=progress
            )
            if not results[kind].committed:
                break
        return results

    def export(
        self,
        kind: str,
        path: str | os.PathLike[str],
        format: str = "ndjson",
        *,
        partition: str | Sequence[str] | None = None,
        **filters: Filter,
    ) -> int:
        """Writes the records of a kind that pass the filters of its list; returns how many.

        The file appears when it is whole; one of that name is replaced. NDJSON loads back to an
        equal store. CSV cells that a spreadsheet would take for a formula are defused.

        Args:
            kind: as for `load`.
            path: the file; ``-`` is standard output (not for parquet).
            format: ndjson, csv or parquet (amounts decimal(38, 18), times UTC; needs DuckDB).
            partition: for parquet, keys of reports such as ``["month", "chain"]``: `path` is then
                a new folder of files apart by them, ``month=2026-05-01/chain=POLYGON/...``; they
                have all columns, and the periods are those of created_at (of balances, of `at`).
            filters: those of the kind's `list`; deleted controls are there unless
                ``include_deleted=False``.

        Raises:
            InvalidRequest: an unknown kind, format, filter or key, or a file of the store itself.
            Unusable: the file cannot be written.
            Unavailable: the disk is full.
            MissingExtra: DuckDB is not installed (for parquet).
        """
        word = arguments.kind(kind)
        arguments.choice("format", format, _FORMATS)
        if word == "controls":
            filters = {"include_deleted": True} | filters
        parameters = arguments.query(filters)
        place = arguments.path("path", path)
        if not place:
            raise invalid("path", "it must name a file")
        if place != "-":
            self._host.require_writable(place)
        keys = [] if partition is None else arguments.texts("partition", partition)
        if keys and format != "parquet":
            raise invalid("partition", "it is for the format parquet")
        if place == "-" and format == "parquet":
            raise invalid("path", "parquet needs a file, standard output is not one")
        with busy(f"exporting {word}"):
            if format != "parquet":
                return self._host.export(word, place, format, parameters)
            from comptroller.description import stored

            # As the other formats, it leaves out what follows from the controls.
            columns = stored(word) if word == "identities" else None
            stream = self._host.stream(word, columns, parameters)
            return write_dataset(stream, place, keys) if keys else write_parquet(stream, place)

    def backup(self, destination: str | os.PathLike[str]) -> None:
        """Copies the store to another file, consistent while others write.

        Raises:
            InvalidRequest: a file of the store itself.
            Unusable: the file exists already, or cannot be written.
            Unavailable: the disk is full.
            Unsupported: the store is remote.
        """
        with busy("copying the store"):
            self._host.backup(arguments.path("destination", destination))

    def check(self) -> dict[str, Any]:
        """What an examination of the whole store found. Writes nothing."""
        with busy("checking the store"):
            found: dict[str, Any] = msgspec.json.decode(self._host.check())
        return found

    def close(self) -> None:
        """Closes the service; closing again does nothing."""
        if self._reports is not None:
            self._reports.close()
        self._host.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _resources(self) -> dict[str, Any]:
        return {name: each for name, each in vars(self).items() if not name.startswith("_")}

    def __repr__(self) -> str:
        return f"<Service {self._title}>"

    def _repr_html_(self) -> str:
        names = ", ".join(self._resources())
        each = f"{names}: each has list, iter and stream; load, export, reports: in bulk."
        return html("notebook.html", lines=[f"Service {self._title}", each], columns=[], notes=[])
