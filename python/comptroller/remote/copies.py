"""What was asked of a service elsewhere, in a store of this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from tempfile import TemporaryFile
from typing import IO, Any, Protocol

import msgspec

from comptroller import decoding
from comptroller._core import ArrowSource, Principal, Store
from comptroller.bulk.loading import LoadResult
from comptroller.description import derived, described, members, record_members
from comptroller.errors import unusable
from comptroller.remote.calls import Parameters

Row = dict[str, Any]

# The kind whose records are put aside until those of the kind itself are loaded.
_BESIDE = {"identities": "controls", "reward-addresses": "balances", "balances": "balances"}
# Before any time that a balance could be asked for.
_LONG_AGO = "0001-01-01T00:00:00Z"

_encode_lines = msgspec.json.Encoder().encode_lines


class Origin(Protocol):
    """Where a copy is taken from."""

    def is_operator(self) -> bool:
        """Whether the operator asks, and not a client."""

    def exported(self, kind: str, parameters: Parameters) -> Iterator[bytes]:
        """The operator's export of a kind: NDJSON, in pieces of any size."""

    def pages(self, kind: str, parameters: Parameters) -> Iterator[list[Row]]:
        """All records of a kind that pass the filters of its list."""


class Copy:
    """The records of a kind that passed some filters, whole before it is handed out.

    Read as whoever asked for them: a client is not shown what it would not be shown there. It ends
    when it is let go.

    Raises:
        Unusable: a record that this version does not take, or no room.
    """

    def __init__(
        self,
        origin: Origin,
        kind: str,
        parameters: Parameters,
        columns: list[str] | None = None,
    ) -> None:
        self._origin = origin
        self._kind = kind
        self._is_operator = origin.is_operator()
        self._customer: str | None = None
        self._store = Store(":memory:")
        self._has_balances = ("include_balance", "true") in parameters
        self._stream(columns)  # refuses some before anything is fetched
        self._fill(parameters)
        self._rows = self._stream(columns)

    def export(self, path: str, format: str) -> int:
        """Writes what is here to a file; gives the rows."""
        return self._store.export(self._reader(), self._kind, path, format, self._filters())

    def close(self) -> None:
        """Ends it: what still reads gets an error."""
        self._store.close()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._rows.__arrow_c_schema__()

    def with_string_views(self) -> ArrowSource:
        """The same rows, with texts as Arrow's string views."""
        return self._rows.with_string_views()

    def _stream(self, columns: list[str] | None) -> ArrowSource:
        return self._store.stream(self._reader(), self._kind, columns, self._filters())

    def _reader(self) -> Principal:
        is_alike = self._is_operator or _is_alike(self._kind)
        return Principal(None if is_alike else self._customer or "default")

    def _filters(self) -> Parameters:
        """What makes a list show all that is here: it was filtered where it came from."""
        if self._kind == "controls":
            return [("include_deleted", "true")]
        return [("include_balance", "true")] if self._has_balances else []

    def _fill(self, parameters: Parameters) -> None:
        with TemporaryFile() as beside:
            if self._kind == "balances" and self._is_operator:
                # A store takes no balance of an address that it does not know.
                beside.writelines(self._origin.exported("balances", parameters))
                ids = [("id", value) for name, value in parameters if name == "address_id"]
                self._load("reward-addresses", self._origin.exported("reward-addresses", ids))
            elif self._is_operator and self._kind != "identities" and not self._has_balances:
                self._load(self._kind, self._origin.exported(self._kind, parameters))
            else:
                self._load(self._kind, self._listed(parameters, beside))
            if beside.tell():
                beside.seek(0)
                self._load(_BESIDE[self._kind], iter(lambda: beside.read(1 << 16), b""))

    def _listed(self, parameters: Parameters, beside: IO[bytes]) -> Iterator[bytes]:
        """Lines of what is listed; lines of what is shown with them go to `beside`."""
        for page in self._origin.pages(self._kind, parameters):
            if not self._is_operator and not _is_alike(self._kind):
                self._take_customer(page)
            if self._kind == "identities":
                beside.write(_encode_lines([each for row in page for each in _controls(row)]))
            elif self._has_balances:
                beside.write(_encode_lines([_balance(row) for row in page if "balance" in row]))
            yield _encode_lines([_kept(self._kind, row) for row in page])

    def _take_customer(self, page: list[Row]) -> None:
        """Makes all rows those of the one customer as which they are read."""
        if self._kind != "identities":
            for row in page:
                row.pop("customer_id", None)
            return
        for row in page:
            self._customer = self._customer or row.get("customer_id")
            if row.get("customer_id") != self._customer:
                raise unusable("these are identities of several customers, for one client")

    def _load(self, kind: str, pieces: Iterator[bytes]) -> None:
        accounts: list[bytes] = []
        self._store.load(
            Principal(),
            kind,
            _Read(pieces),
            are_rows=True,
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
                f"{result.rejected:,} of the {kind} cannot be kept here, the first in line "
                f"{first.line}: {first.message}"
            )


class _Read:
    """Bytes that come in pieces, for a load on the thread that reads them."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readinto(self, buffer: memoryview, /) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(self._left), len(buffer))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def abandon(self) -> None:
        """Nobody reads in another thread, so there is nothing to end."""


@cache
def _is_alike(kind: str) -> bool:
    """Whether a client is shown the same members of such records as the operator."""
    wanted = [members(kind)]
    while wanted:
        for said in wanted.pop().values():
            if said.get("is_operators"):
                return False
            record = said["type"].removesuffix("[]")
            if record in described()["records"]:
                wanted.append(record_members(record))
    return True


def _kept(kind: str, row: Mapping[str, Any]) -> Row:
    """A row without what follows from other kinds."""
    left_out = derived(kind)
    return {name: value for name, value in row.items() if name not in left_out}


def _controls(identity: Mapping[str, Any]) -> Iterator[Row]:
    details = identity.get("status_details") or {}
    for control in details.get("active_controls") or ():
        yield {**control, "customer_id": identity.get("customer_id")}


def _balance(address: Mapping[str, Any]) -> Row:
    return {"address_id": address["id"], "balance": address["balance"], "at": _LONG_AGO}
