"""Incremental copying of the records of a service into a local store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from comptroller import arguments
from comptroller.bulk.files import refuse_open_store, whole_file
from comptroller.bulk.loading import LoadResult
from comptroller.decoding import Time
from comptroller.description import stored_members
from comptroller.display.progress import Progress
from comptroller.errors import Error, Forbidden, NotFound, unusable

if TYPE_CHECKING:
    from comptroller.records import Identity
    from comptroller.service import Service

#: The suffix of the file beside a store that has the start times of its next pulls.
SUFFIX = ".pulled"

# By kind: the status member, its final values, and the filter for a start time.
_FINAL = {
    "orchestrations": (
        "status",
        frozenset({"COMPLETED", "FAILED", "REJECTED"}),
        "created_at_gte",
    ),
    "claims": ("onchain_status", frozenset({"CONFIRMED", "FAILED"}), "start_time"),
}
_ROWS_BETWEEN_MARKS = 1000


def pull(
    source: Service,
    target: Service,
    kind: str,
    *,
    customer_id: str | None = None,
    afresh: bool = False,
    progress: Progress | bool | None = None,
) -> LoadResult:
    """Loads the records of a kind from `source` into `target`; the result lists rejected lines.

    A repeated pull reads only the claims and orchestrations that may be new or changed. It starts
    at the time that the file FILE.pulled beside the store has for the source, caller, customer and
    kind: the ``created_at`` of the oldest record that was rejected or whose status was not final,
    or else of the newest record. A record that was added later with an older ``created_at`` is
    found only with `afresh`.

    A pull reads all records if the file has no time, the store has no record of the kind, or the
    source is in memory. It always reads all records of the other kinds. After you restored the
    store from a backup, pull with `afresh`.

    Args:
        source: the service to read, with the access of its caller.
        target: a store that was opened as its operator.
        kind: one of :data:`comptroller.values.KINDS`.
        customer_id: the customer of records without a ``customer_id``; by default ``default``.
        afresh: reads all claims and orchestrations again.
        progress: as for `Service.load`.

    Returns:
        The result of the load.

    Raises:
        InvalidRequest: the kind is unknown.
        Error: as for either service; with a `load_result` if lines were committed.
    """
    kind = arguments.kind(kind)

    def load(rows: Iterable[Any]) -> LoadResult:
        return target.load(kind, rows, customer_id=customer_id, keep_going=True, progress=progress)

    if kind not in _FINAL:
        return load(_whole(source, kind))
    checkpoint = _Checkpoint(target, kind, *_names(source, customer_id))
    records = _Records(source, kind, None if afresh else checkpoint.start())
    try:
        result = load(records)
    except BaseException as error:
        committed: LoadResult | None = getattr(error, "load_result", None)
        if committed is not None:
            checkpoint.save(records.next_start(committed, is_complete=False), committed)
        raise
    checkpoint.save(records.next_start(result, is_complete=True), result)
    return result


def _names(source: Service, customer_id: str | None) -> tuple[str | None, str | None]:
    """Returns the names of a source in checkpoint files: the present one, and an earlier one.

    Until version 0.2.0 the name of a remote source had no client, and is used only if the customer
    makes it unambiguous.
    """
    suffix = "" if customer_id is None else f" for {customer_id}"
    origin = source.host.origin()
    if origin is None:
        return None, None
    is_remote = source.host.path is None
    is_known = is_remote and customer_id is not None and source.host.customer() == customer_id
    return origin + suffix, f"{source!r}{suffix}" if is_known else None


def is_shown(source: Service, kind: str) -> bool:
    """Whether the caller of a service may read a kind."""
    try:
        _resource(source, kind).list(limit=1)
    except (Forbidden, NotFound):
        return False
    return True


def customer_of(source: Service) -> str | None:
    """Returns the caller's customer, from its token or else from a record; None if unknown.

    Only identities and orchestrations show their customer to a client.
    """
    if named := source.host.customer():
        return named
    for kind in ("identities", "orchestrations"):
        if is_shown(source, kind):
            for record in _resource(source, kind).list(limit=1):
                customer_id: str = record.customer_id
                return customer_id
    return None


class _Records:
    """The records of a kind from a start time on, in the order of created_at; iterable once."""

    def __init__(self, source: Service, kind: str, start: datetime | None) -> None:
        self._member, self._final, bound = _FINAL[kind]
        filters = {} if start is None else {bound: start}
        self._records = _resource(source, kind).iter(order="ASC", **filters)
        self._newest = start
        self._oldest_open: datetime | None = None
        self._marks: list[datetime] = []

    def __iter__(self) -> Iterator[Any]:
        for number, record in enumerate(self._records):
            self._newest = record.created_at
            if number % _ROWS_BETWEEN_MARKS == 0:
                self._marks.append(record.created_at)
            if self._oldest_open is None and getattr(record, self._member) not in self._final:
                self._oldest_open = record.created_at
            yield record

    def next_start(self, result: LoadResult, *, is_complete: bool) -> datetime | None:
        """Returns the start time of the next pull, after all records or `result.read` of them."""
        times = [self._oldest_open, self._newest if is_complete else self._mark(result.read)]
        times += [self._mark(each.line) for each in result.rejections[:1]]
        return min((each for each in times if each is not None), default=None)

    def _mark(self, line: int) -> datetime | None:
        """Returns a time at or before the created_at of this line and all later ones."""
        return self._marks[max(line - 1, 0) // _ROWS_BETWEEN_MARKS] if self._marks else None


class _Checkpoint:
    """The start times of the next pulls, by kind and source, in a file beside the target store.

    Raises Unusable if the file cannot be used. A store in memory has no such file, and a source
    without a name no start time. `earlier` is a former name of the source.
    """

    def __init__(self, target: Service, kind: str, source: str | None, earlier: str | None) -> None:
        path = target.host.path
        self._store = None if path is None else Path(path)
        self._path = None if path is None else Path(path + SUFFIX)
        self._kind = kind
        self._source = source
        self._earlier = earlier
        if not _resource(target, kind).list(limit=1).items:
            # The times belong to an earlier store of the same name.
            self._write({name: of for name, of in self._read().items() if name != kind})

    def start(self) -> datetime | None:
        """Returns the created_at to start at; None to read all records."""
        if self._source is None:
            return None
        of_kind = self._read().get(self._kind, {})
        return of_kind.get(self._source) or of_kind.get(self._earlier or "")

    def save(self, start: datetime | None, result: LoadResult) -> None:
        """Saves the start time of the next pull. An Error that it raises has `load_result`."""
        if self._source is None:
            return
        try:
            starts = self._read()
            of_kind = starts.setdefault(self._kind, {})
            for name in (self._source, self._earlier):
                of_kind.pop(name or "", None)
            if start is not None:
                of_kind[self._source] = start
            self._write(starts)
        except Error as error:
            vars(error)["load_result"] = result
            raise

    def _read(self) -> dict[str, dict[str, Time]]:
        if self._path is None or not self._path.exists():
            return {}
        refuse_open_store("target", self._path)
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, dict[str, Time]])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise unusable(
                f"{self._path} cannot be used: {error}; remove it to read all records again"
            ) from error

    def _write(self, starts: dict[str, dict[str, Time]]) -> None:
        if self._path is not None and starts != self._read():
            with whole_file(self._path, store=self._store) as part:
                part.write_bytes(msgspec.json.format(msgspec.json.encode(starts)))


def _whole(source: Service, kind: str) -> Iterator[Any]:
    filters = {"include_deleted": True} if kind == "controls" else {}
    records = _resource(source, kind).iter(order="ASC", **filters)
    return map(_row, records) if kind == "identities" else records


def _row(identity: Identity) -> dict[str, Any]:
    # A load does not accept the members that are derived from controls.
    return {name: getattr(identity, name) for name in stored_members("identities")}


def _resource(service: Service, kind: str) -> Any:
    return getattr(service, kind.replace("-", "_"))
