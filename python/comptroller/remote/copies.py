"""Temporary local copies of the records of a remote service, for streams and exports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any, Protocol

import msgspec

from comptroller import decoding
from comptroller._core import ArrowSource, Principal, Store
from comptroller.bulk.legacy_controls import LEGACY_REASON_CODES
from comptroller.bulk.loading import LoadResult
from comptroller.bulk.readers import PieceReader
from comptroller.description import core_description, derived_members, members, record_members
from comptroller.errors import (
    Forbidden,
    InvalidRequest,
    NotFound,
    from_os_error,
    unavailable,
    unusable,
)
from comptroller.remote.calls import Parameters

Row = dict[str, Any]

# The kind whose records are set aside until the records that they refer to are loaded.
_KIND_BESIDE = {"identities": "controls", "reward-addresses": "balances", "balances": "balances"}
# Earlier than any time at which a balance can be requested.
_LONG_AGO = "0001-01-01T00:00:00Z"

_LINES_OF_A_PIECE = 1_000

_encode_lines = msgspec.json.Encoder().encode_lines


class Origin(Protocol):
    """The remote service that a copy is read from."""

    def is_operator(self) -> bool:
        """Whether the caller is the operator."""

    def export_pieces(self, kind: str, parameters: Parameters) -> Iterator[bytes]:
        """Yields the operator's export of a kind: NDJSON, in pieces of any size."""

    def pages(self, kind: str, parameters: Parameters) -> Iterator[list[Row]]:
        """Yields all records of a kind that match the filters, page by page."""

    def changes(self, resource: str) -> Iterator[Row]:
        """Yields all changes of a resource from the beginning of the feed."""


class Copy:
    """A copy of the records of a kind that match some filters, complete when constructed.

    A client's copy shows only the members that the remote service shows to it. Deleting the last
    reference removes the copy.

    A copy `for_export` leaves out implied identities, which a load of their controls creates, as
    the export of a store does. An implied identity has no members of its own, and the created_at of
    the control that the service stored first. An identity that was created at the same time as a
    control looks the same, unless the caller may read the change feed, and the journal was not
    archived since the identity was created: the feed then shows how it was created.

    Raises:
        InvalidRequest: a filter or a column is unknown.
        Unusable: this version cannot load a record.
        Unavailable: the disk is full.
    """

    def __init__(
        self,
        origin: Origin,
        kind: str,
        parameters: Parameters,
        columns: list[str] | None = None,
        *,
        for_export: bool = False,
    ) -> None:
        self._origin = origin
        self._kind = kind
        self._is_operator = origin.is_operator()
        self._customer: str | None = None
        self._leaves_out_implied = for_export and kind == "identities"
        self._store = Store(":memory:")
        self._has_balances = ("include_balance", "true") in parameters
        # These raise for unknown filters and columns before anything is fetched.
        self._store.stream(Principal(), kind, None, parameters)
        self._stream(columns)
        self._fill(parameters)
        self._rows = self._stream(columns)

    def export(self, path: str, format: str) -> int:
        """Writes the records to a file; returns how many."""
        rows, _ = self._store.export(self._reader(), self._kind, path, format, self._filters())
        return rows

    def close(self) -> None:
        """Removes the copy; reads that have begun fail."""
        self._store.close()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._rows.__arrow_c_schema__()

    def with_string_views(self) -> ArrowSource:
        """Returns the same rows with text columns as utf8_view."""
        return self._rows.with_string_views()

    def compact(self, names: list[str]) -> ArrowSource:
        """Returns the same rows in shorter forms, with codes for repeated texts among `names`."""
        return self._rows.compact(names)

    def _stream(self, columns: list[str] | None) -> ArrowSource:
        return self._store.stream(self._reader(), self._kind, columns, self._filters())

    def _reader(self) -> Principal:
        is_alike = self._is_operator or _is_alike(self._kind)
        return Principal(None if is_alike else self._customer or "default")

    def _filters(self) -> Parameters:
        """Returns the filters that select all records; the origin has applied the caller's."""
        if self._kind == "controls":
            return [("include_deleted", "true")]
        return [("include_balance", "true")] if self._has_balances else []

    def _fill(self, parameters: Parameters) -> None:
        try:
            with TemporaryFile() as beside:
                self._fill_with(beside, parameters)
        except OSError as error:
            why = error.strerror or error
            raise from_os_error(error, f"the temporary copy cannot be written: {why}") from error

    def _fill_with(self, beside: IO[bytes], parameters: Parameters) -> None:
        if self._kind == "balances" and self._is_operator:
            # A balance can be loaded only if its address exists.
            beside.writelines(self._origin.export_pieces("balances", parameters))
            ids = [("id", value) for name, value in parameters if name == "address_id"]
            self._load("reward-addresses", self._origin.export_pieces("reward-addresses", ids))
        elif self._is_operator and self._kind != "identities" and not self._has_balances:
            self._load(self._kind, self._origin.export_pieces(self._kind, parameters))
        else:
            self._load(self._kind, self._list_records(parameters, beside))
        if beside.tell():
            beside.seek(0)
            self._load(_KIND_BESIDE[self._kind], iter(lambda: beside.read(1 << 16), b""))

    def _list_records(self, parameters: Parameters, beside: IO[bytes]) -> Iterator[bytes]:
        """Yields the listed records as lines; writes their controls or balances to `beside`."""
        pages = self._list_pages(parameters, beside)
        if self._leaves_out_implied:
            yield from self._without_implied(pages)
        else:
            for page in pages:
                yield _encode_lines([_drop_derived(self._kind, row) for row in page])

    def _list_pages(self, parameters: Parameters, beside: IO[bytes]) -> Iterator[list[Row]]:
        for page in self._origin.pages(self._kind, parameters):
            if not self._is_operator and not _is_alike(self._kind):
                self._take_customer(page)
            if self._kind == "identities":
                beside.write(_encode_lines([each for row in page for each in _controls(row)]))
            elif self._has_balances:
                beside.write(_encode_lines([_balance(row) for row in page if "balance" in row]))
            yield page

    def _without_implied(self, pages: Iterable[list[Row]]) -> Iterator[bytes]:
        """Yields the lines of the identities that were not created by a load of their controls."""
        with TemporaryFile() as lines, closing(_Candidates()) as candidates, _translated_errors():
            count = 0
            for page in pages:
                candidates.add(
                    (line, row["id"], row["created_at"])
                    for line, row in enumerate(page, start=count)
                    if _may_be_implied(row)
                )
                count += len(page)
                lines.write(_encode_lines([_drop_derived(self._kind, row) for row in page]))
            self._mark_implied(candidates)
            lines.seek(0)
            left = _without(lines, candidates.implied())
            while piece := b"".join(islice(left, _LINES_OF_A_PIECE)):
                yield piece

    def _mark_implied(self, candidates: _Candidates) -> None:
        """Marks the candidates whose first control was stored together with them.

        Controls of the deprecated booleans do not count: `identities.put` creates them together
        with their identity. Marks none if the caller cannot read controls, and so cannot load them.
        """
        if not candidates.has_any():
            return
        try:
            for page in self._origin.pages("controls", [("include_deleted", "true")]):
                candidates.mark(
                    (control["identity_id"], control["created_at"])
                    for control in page
                    if control.get("reason_code") not in LEGACY_REASON_CODES
                )
        except (Forbidden, NotFound, InvalidRequest):  # other servers may require an identity
            candidates.unmark_all()
        if not candidates.has_implied():
            return
        try:
            for change in self._origin.changes("identities"):
                if change["operation"].startswith("identities."):  # was put or loaded
                    candidates.unmark(change["id"])
        except (Forbidden, NotFound, InvalidRequest):
            return

    def _take_customer(self, page: list[Row]) -> None:
        """Sets the customer of the copy, and checks that all rows belong to it."""
        if self._kind != "identities":
            for row in page:
                row.pop("customer_id", None)
            return
        for row in page:
            self._customer = self._customer or row.get("customer_id")
            if row.get("customer_id") != self._customer:
                raise unusable("the service returned identities of several customers to a client")

    def _load(self, kind: str, pieces: Iterator[bytes]) -> None:
        accounts: list[bytes] = []
        self._store.load(
            Principal(),
            kind,
            PieceReader(pieces),
            are_rows=True,
            only_lines=True,
            customer_id=None,
            keep_going=False,
            dry_run=False,
            total_bytes=None,
            progress=None,
            account=accounts.append,
        )
        result = decoding.read(accounts[0], LoadResult)
        if result.rejected:
            first = result.rejections[0]
            raise unusable(
                f"{result.rejected:,} {kind} of the service cannot be copied, the first in line "
                f"{first.line}: {first.message}"
            )


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Raises Unavailable for an error of a temporary database."""
    import sqlite3

    try:
        yield
    except sqlite3.Error as error:
        raise unavailable(f"the temporary copy cannot be written: {error}") from error


class _Candidates:
    """Identities that may be implied, in a temporary file, because there may be millions."""

    def __init__(self) -> None:
        import sqlite3  # which no other use of a client needs

        # The core may read the lines in another thread.
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.execute(
            "CREATE TABLE candidates (line INTEGER PRIMARY KEY, id, created_at, is_implied)"
        )
        self._database.execute("CREATE INDEX by_id ON candidates (id)")

    def add(self, rows: Iterable[tuple[int, str, str]]) -> None:
        """Adds identities: line, id and created_at. The lines are in ascending order."""
        self._database.executemany("INSERT INTO candidates VALUES (?, ?, ?, FALSE)", rows)

    def mark(self, starts: Iterable[tuple[str, str]]) -> None:
        """Marks the identities with such an id and created_at as implied."""
        update = "UPDATE candidates SET is_implied = TRUE WHERE id = ? AND created_at = ?"
        self._database.executemany(update, starts)

    def unmark(self, id: str) -> None:
        """Marks an identity as not implied."""
        self._database.execute("UPDATE candidates SET is_implied = FALSE WHERE id = ?", (id,))

    def unmark_all(self) -> None:
        """Marks all identities as not implied."""
        self._database.execute("UPDATE candidates SET is_implied = FALSE")

    def has_any(self) -> bool:
        """Whether there is a candidate."""
        return self._has("TRUE")

    def has_implied(self) -> bool:
        """Whether one is marked as implied."""
        return self._has("is_implied")

    def _has(self, condition: str) -> bool:
        query = f"SELECT EXISTS (SELECT 1 FROM candidates WHERE {condition})"
        ((found,),) = self._database.execute(query)
        return bool(found)

    def implied(self) -> Iterator[int]:
        """Yields the lines of the implied identities in ascending order."""
        query = "SELECT line FROM candidates WHERE is_implied ORDER BY line"
        return (line for (line,) in self._database.execute(query))

    def close(self) -> None:
        """Removes the file."""
        self._database.close()


def _without(lines: Iterable[bytes], numbers: Iterator[int]) -> Iterator[bytes]:
    """Yields the lines whose number is not among ascending numbers."""
    left_out = next(numbers, None)
    for number, line in enumerate(lines):
        if number == left_out:
            left_out = next(numbers, None)
        else:
            yield line


def _may_be_implied(identity: Row) -> bool:
    """Whether an identity has no more than a load of its controls creates."""
    has_own = any(identity.get(name) is not None for name in ("ref_id", "metadata"))
    return not has_own and identity["updated_at"] == identity["created_at"]


@cache
def _is_alike(kind: str) -> bool:
    """Whether a client sees the same members of such records as the operator."""
    pending = [members(kind)]
    while pending:
        for member in pending.pop().values():
            if member.get("is_operators"):
                return False
            record = member["type"].removesuffix("[]")
            if record in core_description()["records"]:
                pending.append(record_members(record))
    return True


def _drop_derived(kind: str, row: Mapping[str, Any]) -> Row:
    names = derived_members(kind)
    return {name: value for name, value in row.items() if name not in names}


def _controls(identity: Mapping[str, Any]) -> Iterator[Row]:
    details = identity.get("status_details") or {}
    for control in details.get("active_controls") or ():
        yield {**control, "customer_id": identity.get("customer_id")}


def _balance(address: Mapping[str, Any]) -> Row:
    return {"address_id": address["id"], "balance": address["balance"], "at": _LONG_AGO}
