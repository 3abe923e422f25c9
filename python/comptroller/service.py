"""The `Service`: the resources and the bulk operations of a local or remote service."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

import msgspec

from comptroller import arguments, decoding
from comptroller.arguments import Filter
from comptroller.bulk.exported import Copied, Exported, JournalState
from comptroller.bulk.exporting import write_export
from comptroller.bulk.files import export_format
from comptroller.bulk.folders import files_of_kinds
from comptroller.bulk.loading import LoadOptions, LoadResult
from comptroller.bulk.mapping import FileOptions, Options
from comptroller.bulk.mapping_files import read_mapping
from comptroller.bulk.rejects import Rejects, SourceRows, rejects_path
from comptroller.bulk.sources import LoadSource, input_name, open_source
from comptroller.display.html import html
from comptroller.display.progress import Progress, busy, observer
from comptroller.errors import import_in_thread, invalid, require
from comptroller.host import Host
from comptroller.operations import Resources

if TYPE_CHECKING:
    from comptroller.analysis.reconciliation import Reconciliation
    from comptroller.analysis.reports import Reports
    from comptroller.analysis.table import Table
    from comptroller.bulk.evidence import Evidence
    from comptroller.journal import Journal
    from comptroller.operations.changes import Changes
    from comptroller.operations.webhooks import WebhookOperations

_FORMATS = ("ndjson", "csv", "parquet", "xlsx")


class Service(Resources):
    """A service, used as its operator or as one client.

    :func:`comptroller.open` makes one for a store file or a database, :func:`comptroller.connect`
    one for a server. All threads may share a Service. After `close`, and in a forked child, every
    method raises :class:`comptroller.Closed`.
    """

    def __init__(self, host: Host, title: str) -> None:
        super().__init__(host)
        self._host = host
        self._title = title
        self._reports: Reports | None = None

    @property
    def reports(self) -> Reports:
        """Reports on the records; their columns stay in memory until the service is closed.

        Raises MissingExtra if the extra `analysis` is not installed.
        """
        require("sqlglot", "reports", "analysis")
        import_in_thread("comptroller.analysis.reports")
        from comptroller.analysis.reports import Reports
        from comptroller.analysis.tables import ServiceTables

        if self._reports is None:
            tables = ServiceTables(
                self._resources(), self._host.version, self.journal, self._host.database
            )
            self._reports = Reports(tables)
        return self._reports

    @property
    def host(self) -> Host:
        """The host that executes the operations; for adapters."""
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
        mapping: str | os.PathLike[str] | None = None,
        rejects: str | os.PathLike[str] | None = None,
        **columns: Unpack[Options],
    ) -> LoadResult:
        """Loads records of one kind and counts the outcome of every line. For the operator.

        If a line is rejected, nothing is stored, unless `keep_going` is set. Rejected lines are
        listed in the result; they raise no exception.

        Args:
            kind: one of :data:`comptroller.values.KINDS`, such as ``claims``.
            source: a path or a binary file (NDJSON, a JSON array, a saved list response, CSV,
                Parquet or Excel, also compressed with gzip, zstd, bzip2, xz or zip), a data frame
                (anything with ``__arrow_c_stream__``: polars, pandas, pyarrow, a DuckDB
                relation, a :class:`comptroller.Stream`), or an iterable of dicts or records,
                which is iterated on the calling thread. Times are RFC 3339 or aware
                datetimes, amounts plain decimals as str, Decimal or int. A row that JSON cannot
                represent (a member with an object of another type, or with infinity) is rejected
                too; an exception of the iterable itself is raised. Unknown members are counted,
                whatever they hold. In a data frame, an empty cell is a member that is not set.
            customer_id: the customer of records without a ``customer_id``; by default ``default``.
            keep_going: stores the valid lines, in batches.
            dry_run: stores nothing; the result counts what a load would do.
            progress: called with the bytes done, the total bytes (None if unknown) and the rows, at
                most ten times a second. An exception that it raises ends the load, as Ctrl-C does.
                True shows a bar (needs tqdm), False none. By default a notebook shows a bar for a
                load of more than a second.
            mapping: a TOML file with the options below, which options of the call override.
            rejects: a CSV file to write, which has every rejected row as it is in the source, and
                why (``rejected_line``, ``rejected_id``, ``rejected_member``, ``rejected_value``,
                ``rejected_code`` and ``rejected_message``). Correct the rows, and load the file
                with the same options. From a remote service it has the first 1,000.
            columns: how columns become members: ``rename``, ``constants``, ``decimal``,
                ``separator``, ``sheet``, ``tz``, ``dayfirst``, ``ids`` and ``floats``, see
                :class:`comptroller.bulk.mapping.ColumnMapping`.

        If an exception ends a load after a commit (of a batch of `keep_going`, or of the whole
        load), the exception has the LoadResult of the committed lines as its ``load_result``.

        Returns:
            The counts of the lines, the rejected lines and the unknown members.

        Raises:
            InvalidRequest: the kind is unknown, or the source cannot be read, or is a file of an
                open store; or a column has floats, or times without a zone.
            Forbidden: the caller is a client.
            ReadOnly: the store was opened read-only.
            Unavailable: the store is busy, or its disk is full.
        """
        # A Ctrl-C takes effect when a call into the core returns, and would lose a returned result.
        accounts: list[bytes] = []
        kind = arguments.kind(kind)
        options = read_mapping(mapping, columns)
        with ExitStack() as closing:
            collected = kept = None
            if rejects is not None:
                collected = Rejects(rejects_path(rejects, source, mapping), kind, options)
                closing.callback(collected.close)
                kept = SourceRows(kind, options)
                closing.callback(kept.close)
            observed = closing.enter_context(observer(progress, f"loading {kind}"))
            given = closing.enter_context(open_source(source, kind, observed, options, kept))
            how = LoadOptions(
                None if customer_id is None else arguments.text("customer_id", customer_id),
                arguments.flag("keep_going", keep_going),
                arguments.flag("dry_run", dry_run),
                None if collected is None else collected.take,
                input_name(source),
                mapping=options.given(),
            )
            try:
                self._host.load(kind, given, how, accounts.append)
                result = decoding.read(accounts[0], LoadResult)
                if collected is not None:
                    given.write_rejects(kind, options, collected, result)
                return given.explain(kind, options, result)
            except BaseException as error:
                # A Ctrl-C may arrive after everything was committed.
                if accounts:
                    result = decoding.read(accounts[0], LoadResult)
                    vars(error)["load_result"] = given.explain(kind, options, result)
                raise

    def load_all(
        self,
        folder: str | os.PathLike[str],
        *,
        customer_id: str | None = None,
        keep_going: bool = False,
        progress: Progress | bool | None = None,
    ) -> dict[str, LoadResult]:
        """Loads a folder that has a file for each kind, such as ``comptroller sample all`` writes.

        A file is named after its kind, ``claims.ndjson``; also ``.jsonl``, ``.json``, ``.csv``,
        ``.tsv``, ``.parquet`` or ``.xlsx``, with dashes or underscores, and compressed as ``.gz``,
        ``.zst``, ``.bz2``, ``.xz`` or ``.zip``. Kinds without a file are skipped. Each file is a
        load of its own. Records are loaded before the records that refer to them. If a load stores
        nothing because lines were rejected, the kinds after it are not loaded.

        Args:
            folder: the path of the folder.
            customer_id: as for `load`.
            keep_going: as for `load`.
            progress: as for `load`; starts again with each kind.

        Returns:
            The result of each loaded kind, in the order of loading.

        Raises:
            Error: as for `load`; the kinds loaded before remain stored.
            InvalidRequest: the folder does not exist, has no file of a kind, has two files of one
                kind, or has a file with one of these suffixes whose name is not a kind. Nothing is
                loaded then.
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
        format: str | None = None,
        *,
        partition: str | Sequence[str] | None = None,
        **filters: Filter,
    ) -> Exported:
        """Writes the records of a kind that match the filters; returns how many.

        The file appears when it is complete, and replaces an existing file. Loading the file
        gives an equal store. A cell that a spreadsheet could run as a formula is escaped.

        Args:
            kind: as for `load`.
            path: the file; ``-`` is standard output (not for parquet).
            format: ndjson, csv, parquet (amounts decimal(38, 18), times UTC; needs DuckDB) or xlsx
                (all cells text; needs polars and XlsxWriter). Default: by the suffix of `path`,
                ndjson without one; with `partition` parquet.
            partition: for parquet, columns such as ``["month", "chain"]``: `path` is then a new
                folder of Hive-partitioned files, ``month=2026-05-01/chain=INK/...``. The files
                have all columns. Periods are those of ``created_at`` (for balances, of ``at``).
            filters: those of the kind's `list`; deleted controls are included unless
                ``include_deleted=False``.

        Returns:
            The number of records, whose ``journal`` is the size and root of the journal in the
            exported state, for the operator of a store in this process.

        Raises:
            InvalidRequest: the kind, format, a filter or a partition key is unknown, or the path
                is a file of a store.
            Unusable: the file cannot be written.
            Unavailable: the disk is full.
            MissingExtra: DuckDB is not installed (for parquet).
        """
        kind = arguments.kind(kind)
        if format is not None:
            arguments.choice("format", format, _FORMATS)
        if kind == "controls" and filters.get("include_deleted") is None:
            filters["include_deleted"] = True
        parameters = arguments.query(filters)
        target = arguments.path("path", path)
        if not target:
            raise invalid("path", "the path is empty; name a file, or - for standard output")
        if target != "-":
            self._host.require_writable(target)
        keys = [] if partition is None else arguments.texts("partition", partition)
        format = format or export_format(target, is_partitioned=bool(keys))
        if keys and format != "parquet":
            raise invalid("partition", f"{format} cannot be partitioned; use the format parquet")
        if target == "-" and format in ("parquet", "xlsx"):
            raise invalid("path", f"{format} cannot go to standard output; name a file")
        with busy(f"exporting {kind}"):
            exported = write_export(self._host, kind, target, format, parameters, keys)
        if exported.journal is None:
            return exported
        return Exported(exported, self.journal.signed(exported.journal))

    def query(self, sql: str, files: FileOptions | None = None, /, **tables: LoadSource) -> Table:
        """Runs a read-only SQL query over the records, with tables of the caller.

        DuckDB runs the query over the tables identities, controls, orchestrations, payout_groups,
        reward_addresses, balances and claims. Amounts are decimal(38, 18), times are UTC
        microseconds. The query cannot access files, the network or Python variables. The columns
        ``at`` and ``group`` are reserved words; write ``"at"``.

        Args:
            sql: one query.
            files: how files are read: ``sheet``, ``separator`` and ``decimal``, as for `load`.
            tables: tables of the caller by name, ``owners=frame``: anything that `load` reads. They
                are copied before the query runs, with the types of the frame. Columns of a CSV or
                Excel file whose values are all integers, decimals, days, times with an offset,
                ``true`` or ``false`` have that type; others are text. Numbers of a sheet are
                decimals, each the shortest that Excel shows for it.

        Raises:
            InvalidRequest: the query is invalid, or is not only one; or a table of the caller has
                the name of a table of the service, or cannot be read.
            Forbidden: the caller may not read a table that the query uses.
            Unavailable: the query runs out of memory.
            MissingExtra: the extra `analysis` is not installed.
        """
        for module in ("duckdb", "polars"):
            require(module, "a query", "analysis")
        import_in_thread("comptroller.analysis.query")
        from comptroller.analysis.query import open_query

        options = read_mapping(None, files or {}, FileOptions.__annotations__)
        with busy("running the query"), open_query(self, sql, tables, options) as ready:
            return ready.table()

    def reconcile(
        self,
        kind: str,
        source: LoadSource,
        *,
        on: str | Sequence[str],
        compare: str | Sequence[str] | None = None,
        where: Mapping[str, Filter] | None = None,
        mapping: str | os.PathLike[str] | None = None,
        **columns: Unpack[Options],
    ) -> Reconciliation:
        """Compares the records of a kind with a table of someone else.

        Rows with equal keys are compared member by member, exactly: amounts as numbers, times as
        instants, EVM addresses and hashes of transactions in any case, lists in any order. An empty
        cell equals a member that is not set. If a key appears more than once on a side, its rows
        are paired in the order of their values; they are matched if all of them are equal, else
        their status is ``duplicate``.

        Args:
            kind: as for `load`.
            source: the other side: anything that `load` reads.
            on: the members of the key, such as ``tx_hash``.
            compare: the members to compare; by default all that the source has. Members that hold
                other records, and ``metadata``, cannot be compared.
            where: filters of the kind's `list`, such as ``{"statuses": "CONFIRMED"}``, for the
                records that the other side should have.
            mapping: as for `load`.
            columns: how the columns of the source become members, as for `load`.

        Raises:
            InvalidRequest: the source cannot be read, lacks a member of `on` or `compare`, or has a
                value that is not of its member's type; the message names the row.
            Unavailable: the comparison runs out of memory.
            MissingExtra: the extra `analysis` is not installed.
        """
        for module in ("duckdb", "polars"):
            require(module, "a reconciliation", "analysis")
        import_in_thread("comptroller.analysis.reconcile")
        from comptroller.analysis.reconcile import reconcile

        options = read_mapping(mapping, columns)
        with busy(f"reconciling {kind}"):
            return reconcile(self, kind, source, on, compare, where or {}, options)

    def backup(self, destination: str | os.PathLike[str]) -> JournalState:
        """Copies the store to a new file; the copy is consistent even while others write.

        Args:
            destination: the path of the new file.

        Returns:
            The size and root of the journal of the copy, and its checkpoint.

        Raises:
            InvalidRequest: the destination is a file of an open store, or names no file, as ``-``.
            Forbidden: the caller is a client.
            Unusable: the file exists already, or cannot be written.
            Unavailable: the disk is full.
            Unsupported: the store is remote, or is a database: use `copy_to` or ``pg_dump``.
        """
        with busy("copying the store"):
            state = self._host.backup(arguments.path("destination", destination))
        return self.journal.signed(state)

    def copy_to(
        self, destination: str | os.PathLike[str], *, progress: Progress | bool | None = None
    ) -> Copied:
        """Copies the whole store to an empty database or a new file: all of it or nothing.

        The copy has the records with their keys, the journal, the answers kept for idempotency
        keys, and the webhooks. Cursors stay valid. It is verified before it is kept, as `check`
        does, and its numbers of rows and the root of its journal are compared with those of the
        store. Private files, such as signing keys, are not copied, and a file gets no clients.

        Args:
            destination: the address of a database, or the path of the new file.
            progress: as for `load`; the numbers of bytes are 0.

        Returns:
            The number of records of each kind, and the state of the journal.

        Raises:
            InvalidRequest: the destination has a store already, or is a file of an open store.
            Forbidden: the caller is a client.
            Unusable: the file exists already or cannot be written; the database has other tables;
                or the store is damaged, which `check` explains.
            Unavailable: the database does not answer, or the disk is full.
            Unsupported: the store is remote.
        """
        place = arguments.path("destination", destination)
        with observer(progress, "copying the store") as observed:
            # A lambda of an observer, because the number of bytes is unknown.
            advance = None if observed is None else lambda rows: observed(0, None, rows)
            return self._host.copy_to(place, advance)

    def evidence(
        self,
        out: str | os.PathLike[str],
        *,
        identity: str | None = None,
        group: str | None = None,
    ) -> Evidence:
        """Writes a folder that proves to others who changed the records of a subject, and how.

        It has the records, their entries of the journal with proofs, a checkpoint and its key, a
        page that explains them, and a program that checks them without the store. Records that
        belonged to the subject earlier are there, too, unless the entries that moved them are
        archived. The store is verified first. Only for the operator.

        Args:
            out: the path of the new folder.
            identity: an identity, with its controls and orchestrations.
            group: the id of a payout group, with its addresses, their balances, and its claims.

        Raises:
            InvalidRequest: not exactly one subject is given.
            Forbidden: the caller is a client.
            NotFound: there is no such record.
            Unusable: a record or an entry was altered, or the folder cannot be written.
            Unsupported: the store is remote or in memory, or is a database without a state folder.
        """
        from comptroller.bulk.evidence import write_evidence

        with busy("writing the evidence"):
            return write_evidence(self, arguments.path("out", out), identity, group)

    @property
    def journal(self) -> Journal:
        """Who changed which record when, and whether anything was altered since."""
        from comptroller.journal import Journal

        return Journal(self._host)

    @property
    def changes(self) -> Changes:
        """The changes of all records, in order of commit, to follow or to resume."""
        from comptroller.operations.changes import Changes

        return Changes(self._host)

    @property
    def webhooks(self) -> WebhookOperations:
        """Endpoints that get a signed request for each change of a record."""
        from comptroller.operations.webhooks import WebhookOperations

        return WebhookOperations(self._host)

    def check(self) -> dict[str, Any]:
        """Examines the whole store and returns the findings; writes nothing.

        Returns:
            ``ok``: whether there are no findings; ``findings`` and ``notices``, each with ``check``
            and ``message`` (a notice, such as of a large write-ahead log, is no damage);
            ``engine``: the name and version of the database; ``copies``: the files of SQLite's
            library in this process, of which more than one is a finding, because they cancel each
            other's locks (empty for a PostgreSQL database); ``rows``: the number of records by
            table.

        Raises:
            Forbidden: the caller is a client.
            Unsupported: the store is remote.
        """
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
        each = f"{names}: each has list, iter and stream. In bulk: load, export, reports."
        return html("notebook.html", lines=[f"Service {self._title}", each], columns=[], notes=[])
