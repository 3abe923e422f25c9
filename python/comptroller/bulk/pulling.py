"""Copying what a service elsewhere shows into a store that is here, again and again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from comptroller.bulk.files import whole_file
from comptroller.bulk.loading import LoadResult
from comptroller.decoding import Time
from comptroller.description import stored
from comptroller.display.progress import Progress
from comptroller.errors import Error, Forbidden, NotFound, unusable

if TYPE_CHECKING:
    from comptroller.records import Identity
    from comptroller.service import Service

#: What follows the name of a store in that of the file that tells where its pulls begin again.
ENDING = ".pulled"

# By kind: the member and the words of what changes no more, and the filter of a beginning.
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
    """Loads the records of a kind that `source` shows into `target`; bad lines are in the result.

    Claims and orchestrations are read in the order of created_at, and a later pull begins at the
    oldest that was not final or was rejected, or else at the newest. So what changes and what is
    new arrives, and what was rejected is rejected again until it is not. What comes to be at the
    source with an older created_at is found only `afresh`. The other kinds are read whole.

    Where to begin stands in a file beside the store, FILE.pulled, for each source, customer and
    kind; everything is read where it does not say, or the store has no record of the kind. A store
    that was put back from a copy has to be pulled into `afresh`.

    Args:
        source: whose records, as its caller is shown them.
        target: a store that was opened as its operator.
        kind: one of :data:`comptroller.values.KINDS`.
        customer_id: whose the records are that name no customer; ``default`` when left out.
        afresh: reads claims and orchestrations whole too.
        progress: as of `Service.load`.

    Raises what either service raises, with a `load_result` where something was kept.
    """

    def load(rows: Iterable[Any]) -> LoadResult:
        return target.load(kind, rows, customer_id=customer_id, keep_going=True, progress=progress)

    if kind not in _FINAL:
        return load(_whole(source, kind))
    name = repr(source) if customer_id is None else f"{source!r} for {customer_id}"
    place = _Place(target, kind, name)
    walk = _Walk(source, kind, None if afresh else place.begin())
    try:
        result = load(walk)
    except BaseException as error:
        kept: LoadResult | None = getattr(error, "load_result", None)
        if kept is not None:
            place.keep(walk.begin_after(kept, is_over=False), kept)
        raise
    place.keep(walk.begin_after(result, is_over=True), result)
    return result


def is_shown(source: Service, kind: str) -> bool:
    """Whether the caller may read a kind there."""
    try:
        _resource(source, kind).list(limit=1)
    except (Forbidden, NotFound):
        return False
    return True


def customer_of(source: Service) -> str | None:
    """Whose client the caller is: as its token says, else the first record that tells; or None.

    Claims, groups, addresses and controls do not say it to a client.
    """
    if named := source.host.customer():
        return named
    for kind in ("identities", "orchestrations"):
        if is_shown(source, kind):
            for record in _resource(source, kind).list(limit=1):
                customer_id: str = record.customer_id
                return customer_id
    return None


class _Walk:
    """The records of a kind from a moment on, in the order of created_at, to be read once."""

    def __init__(self, source: Service, kind: str, begin: datetime | None) -> None:
        self._member, self._final, bound = _FINAL[kind]
        filters = {} if begin is None else {bound: begin}
        self._records = _resource(source, kind).iter(order="ASC", **filters)
        self._newest = begin
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

    def begin_after(self, result: LoadResult, *, is_over: bool) -> datetime | None:
        """Where to begin again when these were loaded, or as many as the result has read."""
        moments = [self._oldest_open, self._newest if is_over else self._mark(result.read)]
        moments += [self._mark(each.line) for each in result.rejections[:1]]
        return min((each for each in moments if each is not None), default=None)

    def _mark(self, line: int) -> datetime | None:
        """A moment that no record from this line on is before."""
        return self._marks[max(line - 1, 0) // _ROWS_BETWEEN_MARKS] if self._marks else None


class _Place:
    """Where a pull begins again: by kind and source in a file beside the store that is pulled into.

    Raises Unusable if it cannot be used. Beside a store that keeps no file there is none.
    """

    def __init__(self, target: Service, kind: str, source: str) -> None:
        path = target.host.path
        self._path = None if path is None else Path(path + ENDING)
        self._kind = kind
        self._source = source
        if not _resource(target, kind).list(limit=1).items:
            # What is told is of another store, which had this name before.
            self._write({name: of for name, of in self._read().items() if name != kind})

    def begin(self) -> datetime | None:
        """The created_at of the first record to read; None for all of them."""
        return self._read().get(self._kind, {}).get(self._source)

    def keep(self, begin: datetime | None, result: LoadResult) -> None:
        """Tells it to the next pull. What this raises has the result of the one before it."""
        try:
            places = self._read()
            of_kind = places.setdefault(self._kind, {})
            of_kind.pop(self._source, None)
            if begin is not None:
                of_kind[self._source] = begin
            self._write(places)
        except Error as error:
            vars(error)["load_result"] = result
            raise

    def _read(self) -> dict[str, dict[str, Time]]:
        if self._path is None or not self._path.exists():
            return {}
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, dict[str, Time]])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise unusable(
                f"{self._path} cannot be used: {error}; remove it, and all is read again"
            ) from error

    def _write(self, places: dict[str, dict[str, Time]]) -> None:
        if self._path is not None and places != self._read():
            with whole_file(self._path) as part:
                part.write_bytes(msgspec.json.format(msgspec.json.encode(places)))


def _whole(source: Service, kind: str) -> Iterator[Any]:
    filters = {"include_deleted": True} if kind == "controls" else {}
    records = _resource(source, kind).iter(order="ASC", **filters)
    return map(_row, records) if kind == "identities" else records


def _row(identity: Identity) -> dict[str, Any]:
    # What follows from the controls is not loaded with the identity.
    return {name: getattr(identity, name) for name in stored("identities")}


def _resource(service: Service, kind: str) -> Any:
    return getattr(service, kind.replace("-", "_"))
