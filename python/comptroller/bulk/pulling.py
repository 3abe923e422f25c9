"""Incremental copying of the records of a service into a local store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from comptroller import arguments
from comptroller.bulk.legacy_controls import LEGACY_REASON_CODES
from comptroller.bulk.loading import LoadResult
from comptroller.bulk.pull_places import Place, Places
from comptroller.description import core_description, members, stored_members
from comptroller.display.progress import Progress
from comptroller.errors import Forbidden, InvalidRequest, NotFound, unusable
from comptroller.values import KINDS

if TYPE_CHECKING:
    from comptroller.operations.pages import Page
    from comptroller.records import Change, ChangePage
    from comptroller.service import Service

R = TypeVar("R")

_PAGE = 1000
# The most ids that a pull remembers, about 15 MB; after them it reads each changed record.
_MAX_REMEMBERED = 100_000
# Each change of a record of these kinds sets a later updated_at, by which _merged finds an outdated
# record. Addresses and controls have none; a claim that raises last_claim_all_at of its group, and
# the load of an implied identity, can keep it.
_ALWAYS_DATED = {"claims", "orchestrations"}
# Kinds that are read by an export, which leaves out implied identities: those that the source
# learned of from their controls alone. A load of the controls, in the order in which they arrived
# at the source, creates them as they are. If they were loaded as lines, the store would reject the
# identity's own line later.
_EXPORTED = {"identities", "controls"}


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

    The first pull reads all records. A repeated pull reads the change feed of the source from the
    place that the file FILE.pulled beside the store has for the source, caller, customer and kind.
    It loads the records that changed since, and those that were rejected.

    A pull reads all records if the file has no place, the store has no record of the kind, the
    source is in memory, or its change feed cannot be read: the caller lacks the scope
    ``changes:read``, or the service has no such feed. After you restored one of the stores from a
    backup, pull with `afresh`.

    Args:
        source: the service to read, with the access of its caller.
        target: a store that was opened as its operator.
        kind: one of :data:`comptroller.values.KINDS`.
        customer_id: the customer of records without a ``customer_id``; by default ``default``.
        afresh: reads all records again.
        progress: as for `Service.load`.

    Returns:
        The result of the load.

    Raises:
        InvalidRequest: the kind is unknown.
        Error: as for either service; with a `load_result` if lines were committed.
    """
    kind = arguments.kind(kind)
    places = Places(target, kind, _name_of(source, customer_id))
    place = None if afresh else places.read()
    rows = _begin(source, target, kind, place or Place())
    try:
        result = target.load(
            kind, rows, customer_id=customer_id, keep_going=True, progress=progress
        )
    except BaseException as error:
        committed: LoadResult | None = getattr(error, "load_result", None)
        if committed is not None:
            places.save(rows.place_at(committed.read), committed)
        raise
    places.save(rows.place_at_end(), result)
    return result


def _name_of(source: Service, customer_id: str | None) -> str | None:
    """Returns the name of a source in the file of places; None if it has none."""
    origin = source.host.origin()
    suffix = "" if customer_id is None else f" for {customer_id}"
    return None if origin is None else origin + suffix


def is_shown(source: Service, kind: str) -> bool:
    """Whether the caller of a service may read a kind."""
    try:
        _resource(source, kind).list(limit=1)
    except (Forbidden, NotFound):
        return False
    return True


def require_service(source: Service, url: str) -> None:
    """Raises Unusable if the source at a URL, which may be mistaken, has no lists of a service."""
    for kind in KINDS:
        try:
            _resource(source, kind).list(limit=1)
        except NotFound:
            continue
        except Forbidden:
            return
        return
    raise unusable(f"{url} has none of the lists of a service; check the URL")


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


def _begin(
    source: Service, target: Service, kind: str, place: Place
) -> _All | _Exported | _Changed:
    """Returns the rows from a place: those that changed, or all if the place cannot be used."""
    if place.page is not None and kind not in _EXPORTED:
        rest = _All(source, kind, place)
        if _answer(rest.first_page) is not None:
            return rest
    elif place.page is None and place.after is not None:
        changed = _Changed(source, target, kind, place)
        if _answer(changed.first_page) is not None:
            return changed
    end = _answer(lambda: _page_of_changes(source, kind, "end"))
    after = None if end is None else end.next_cursor
    if kind in _EXPORTED:
        return _Exported(source, target, kind, after)
    return _All(source, kind, Place(after, ""))


def _answer(read: Callable[[], R]) -> R | None:
    """Returns the answer of a request; None if it is not permitted, or its cursor not valid."""
    try:
        return read()
    except (Forbidden, NotFound):
        return None
    except InvalidRequest as error:
        if error.code != "invalid-cursor":
            raise
        return None


def _page_of_changes(source: Service, kind: str, after: str) -> ChangePage:
    return source.changes.list(after=after, resources=[_resource_name(kind)], limit=_PAGE)


class _All:
    """All records of a kind from a page of the list on; iterable once."""

    def __init__(self, source: Service, kind: str, place: Place) -> None:
        self._list = _resource(source, kind).list
        self._kind = kind
        self._place = place
        self._pages: list[str] = []  # the cursor of each page
        self._ends: list[int] = []  # the number of rows until its end

    def first_page(self) -> Page[Any]:
        """Returns the page at the place."""
        return self._page(self._place.page or "")

    def _page(self, cursor: str) -> Page[Any]:
        page: Page[Any] = self._list(order="ASC", limit=_PAGE, page_cursor=cursor or None)
        return page

    def __iter__(self) -> Iterator[Any]:
        cursor, count = self._place.page, 0
        while cursor is not None:
            page = self._page(cursor)
            count += len(page.items)
            self._pages.append(cursor)
            self._ends.append(count)
            yield from page.items
            cursor = page.next_page_cursor or None

    def place_at(self, line: int) -> Place:
        """Returns the place after the first `line` rows."""
        number = next((n for n, end in enumerate(self._ends) if end >= line), 0)
        return msgspec.structs.replace(self._place, page=self._pages[number])

    def place_at_end(self) -> Place:
        """Returns the place after all rows."""
        return msgspec.structs.replace(self._place, page=None)


class _Exported:
    """All records of a kind in the order of an export; iterable once."""

    def __init__(self, source: Service, target: Service, kind: str, after: str | None) -> None:
        self._source = source
        self._target = target
        self._kind = kind
        self._after = after

    def __iter__(self) -> Iterator[Any]:
        filters = [("include_deleted", "true")] if self._kind == "controls" else []
        with TemporaryDirectory() as folder:
            path = Path(folder) / "rows.ndjson"
            self._source.host.export(self._kind, str(path), "ndjson", filters)
            yield from _lines(path) if self._kind == "identities" else self._controls(path)

    def _controls(self, path: Path) -> Iterator[dict[str, Any]]:
        """Yields controls in an order in which the target accepts them.

        First those that it has and that were deleted since: another one of the same type and setter
        may be active now, and a remote client gets it first if its created_at is earlier.
        """
        ended = set()
        is_empty = next(self._target.controls.iter(include_deleted=True, limit=1), None) is None
        for row in _lines(path) if not is_empty else ():
            if row["deleted_at"] and self._is_active(row["id"]):
                ended.add(row["id"])
                yield row
        legacy = self._legacy_controls()
        for row in _lines(path):
            if row["id"] in ended:
                continue
            slot = _slot_of(row)
            old = legacy.get(slot) if row["deleted_at"] else None
            if old is not None and row["deleted_at"] > old["created_at"]:
                del legacy[slot]  # a later control replaced none
                if replacement := self._replacement(old, row):
                    yield replacement
            yield row

    def _is_active(self, id: str) -> bool:
        """Whether the target has an active control of an id."""
        stored = _find(self._target, "controls", id)
        return stored is not None and stored.get("deleted_at") is None

    def _legacy_controls(self) -> dict[tuple[str, ...], dict[str, Any]]:
        """Returns the active controls of the target that a load of another one replaces."""
        controls = self._target.controls.iter(reason_code=LEGACY_REASON_CODES)
        rows = (_row("controls", control) for control in controls)
        return {_slot_of(row): row for row in rows}

    def _replacement(
        self, legacy: dict[str, Any], control: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Returns a row that ends a legacy control of the target, before a deleted control.

        Returns None if the source has the legacy control; its own row follows.
        """
        if _find(self._source, "controls", legacy["id"]) is not None:
            return None
        if _find(self._target, "controls", control["id"]) is None:
            return _active(control)
        # The target has no such row, and a pull removes none. The legacy control ends as it
        # begins, so that it was never in force, as at the source.
        return legacy | {
            "deleted_at": legacy["created_at"],
            "deletion_reason": f"replaced by the control {control['id']}",
        }

    def place_at(self, _line: int) -> Place:
        """Returns the place to read all records again."""
        return Place()

    def place_at_end(self) -> Place:
        """Returns the place after all rows."""
        return Place(self._after)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        yield from map(msgspec.json.decode, lines)


class _Changed:
    """The records that were rejected, and those that changed since a place; iterable once."""

    def __init__(self, source: Service, target: Service, kind: str, place: Place) -> None:
        self._source = source
        self._target = target
        self._kind = kind
        self._place = place
        self._after = place.after or ""
        self._marks = [(0, self._after)]  # the rows before a place of the feed
        self._count = 0
        self._read: ChangePage | None = None
        # The ids of rows that the load may not have committed yet; see _ALWAYS_DATED.
        self._yielded: set[str] = set()

    def first_page(self) -> ChangePage:
        """Reads the page at the place."""
        self._read = _page_of_changes(self._source, self._kind, self._after)
        return self._read

    def __iter__(self) -> Iterator[Any]:
        for id in self._place.again:
            self._remember(id)
            yield from self._counted(_find(self._source, self._kind, id))
        has_more = True
        while has_more:
            page = self._read or _page_of_changes(self._source, self._kind, self._after)
            self._read = None
            by_id: dict[str, list[Change]] = {}
            for change in page.items:
                by_id.setdefault(change.id, []).append(change)
            for id, changes in by_id.items():
                yield from self._rows(id, changes)
            self._after, has_more = page.next_cursor, page.has_more
            self._marks.append((self._count, self._after))

    def _rows(self, id: str, changes: list[Change]) -> Iterator[Any]:
        if self._kind == "balances":  # an address has several, which never change
            for change in changes:
                yield from self._counted(change.after)
        elif changes[-1].after is not None:
            if _is_implied(changes) and self._shows_controls:
                return
            yield from self._counted(_active_first(self._kind, changes))
            merged = _merged(None if changes[0].before is None else self._stored(id), changes)
            found = _find(self._source, self._kind, id) if merged is None else None
            if self._kind not in _ALWAYS_DATED:
                self._remember(id)
            yield from self._counted(_decoded(self._kind, merged) if merged else found)

    @cached_property
    def _shows_controls(self) -> bool:
        """Whether a pull of controls can create implied identities."""
        return is_shown(self._source, "controls")

    def _remember(self, id: str) -> None:
        if len(self._yielded) < _MAX_REMEMBERED:
            self._yielded.add(id)

    def _stored(self, id: str) -> dict[str, Any] | None:
        """Returns the record of the target as the feed shows records: documents are texts.

        Returns None if there is none, or if this pull may have yielded a later row of it.
        """
        if id in self._yielded or len(self._yielded) == _MAX_REMEMBERED:
            return None
        found = _find(self._target, self._kind, id)
        documents = _documents(self._kind)
        return found and {
            name: msgspec.json.encode(value).decode() if name in documents else value
            for name, value in found.items()
        }

    def _counted(self, row: Any) -> Iterator[Any]:
        if row is not None:
            self._count += 1
            yield row

    def place_at(self, line: int) -> Place:
        """Returns the place after the first `line` rows."""
        passed = [after for count, after in self._marks if count <= line]
        return msgspec.structs.replace(self._place, after=passed[-1])

    def place_at_end(self) -> Place:
        """Returns the place after all rows."""
        return Place(self._after)


def _is_implied(changes: list[Change]) -> bool:
    """Whether the changes are the creation of an identity by a load of its first control."""
    (first, *others) = changes
    is_load = first.resource == "identities" and first.operation == "controls.load"
    return is_load and first.before is None and not others


def _active_first(kind: str, changes: list[Change]) -> dict[str, Any] | None:
    """Returns a control as created, if the changes also delete it; else None.

    Only a load of an active control replaces the control of a deprecated boolean.
    """
    created = changes[0].after
    is_deleted = any((change.after or {}).get("deleted_at") for change in changes[1:])
    return created if kind == "controls" and changes[0].before is None and is_deleted else None


def _active(control: dict[str, Any]) -> dict[str, Any]:
    """Returns a control as it was before its deletion."""
    return {
        name: value
        for name, value in control.items()
        if name not in ("deleted_at", "deleted_by", "deletion_reason")
    }


def _slot_of(control: dict[str, Any]) -> tuple[str, ...]:
    """Returns what one control at a time can have while it is active."""
    return control["identity_id"], control["type"], control["set_by"]


def _merged(stored: dict[str, Any] | None, changes: list[Change]) -> dict[str, Any] | None:
    """Returns a record after its changes; None if they do not follow from the stored record."""
    record = stored
    for change in changes:
        if change.before is None:
            record = dict(change.after or {})
            continue
        if record is None or change.after is None:
            return None
        for name, value in change.before.items():
            if record.pop(name, None) != value:
                return None
        record.update(change.after)
    return record


def _decoded(kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """Returns a record of the feed as a line to load: documents are objects, not texts."""
    documents = _documents(kind)
    return {
        name: msgspec.json.decode(value) if name in documents else value
        for name, value in record.items()
    }


def _documents(kind: str) -> set[str]:
    """Returns the members whose values are JSON objects."""
    core = core_description()
    return {
        name
        for name, member in members(kind).items()
        if member["type"] == "metadata" or member["type"] in core["records"]
    }


def _find(service: Service, kind: str, id: str) -> dict[str, Any] | None:
    """Returns a record as a line to load; None if there is none."""
    try:
        return _row(kind, _resource(service, kind).get(id))
    except NotFound:
        return None


def _row(kind: str, record: Any) -> dict[str, Any]:
    # A load does not accept the members that are derived from other records.
    stored = stored_members(kind)
    return {name: value for name, value in record.to_dict().items() if name in stored}


def _resource_name(kind: str) -> Any:
    return kind.replace("-", "_")


def _resource(service: Service, kind: str) -> Any:
    return getattr(service, _resource_name(kind))
