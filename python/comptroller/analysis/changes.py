"""Rows of a history from the journal: who changed which member when, and records of the past."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

import polars

from comptroller.errors import Forbidden, Unsupported, invalid

if TYPE_CHECKING:
    from comptroller.journal import Journal

#: The tables of the records that a history names.
_TABLES = {
    "claim": "claims",
    "control": "controls",
    "orchestration": "orchestrations",
    "identity": "identities",
    "group": "payout_groups",
    "address": "reward_addresses",
}
_RECORDS = {**{table: record for record, table in _TABLES.items()}, "balances": "address"}
_READ_AT_ONCE = 5_000

State = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """A change of a record, with times in UTC without a zone as reports have them.

    `before` is None if the change created the record, `after` if it removed it.
    """

    sequence: int
    at: datetime
    actor: str
    operation: str
    before: State | None
    after: State | None

    @property
    def detail(self) -> str:
        """The entry and the operation."""
        return f"entry {self.sequence}: {self.operation}"


@dataclass(frozen=True)
class Recorded:
    """A record: its present state, None if it was removed, and its changes in order."""

    table: str
    id: str
    state: State | None
    changes: list[Change]
    load: Change | None  # that inserted it

    def at(self, time: datetime) -> State | None:
        """Returns the state at a time, None if the store did not have the record."""
        if self.load is not None and self.load.at > time:
            return None
        state = self.state
        for change in reversed(self.changes):
            if change.at <= time:
                break
            if change.before is None:
                return None
            kept = {} if state is None else state
            after = change.after or {}
            state = {name: value for name, value in kept.items() if name not in after}
            state.update(change.before)
        return state


class Changes:
    """The changes of the records of a history, and when the journal began."""

    def __init__(self, journal: Journal, subject: str) -> None:
        self._journal = journal
        moved = journal.linked_earlier("identity_id", subject)
        self._controls = [subject, *(id for table, id in moved if table == "controls")]
        (self._first,) = journal.list(limit=1)  # without archived ones

    @classmethod
    def of(cls, journal: Journal | None, subject: str) -> Self | None:
        """Returns the changes; None if the caller cannot read all of the journal."""
        if journal is None:
            return None
        try:
            return cls(journal, subject)
        except (Forbidden, Unsupported):
            return None

    def require_known(self, time: datetime) -> None:
        """Raises InvalidRequest for a time before the first entry, if there were records then."""
        has_earlier = self._first.sequence > 0 or bool((self._first.batch or {}).get("records"))
        begin = self._first.recorded_at
        if has_earlier and time < begin.replace(tzinfo=None):
            raise invalid(
                "as_of_recorded", f"is before the first entry of the journal, {begin.isoformat()}"
            )

    def added_to(
        self,
        events: polars.DataFrame,
        named: polars.DataFrame,
        since: datetime | None,
        until: datetime | None,
        as_of: datetime | None,
    ) -> polars.DataFrame:
        """Returns events with those of the journal, in order of time.

        Args:
            events: the events between `since` and `until`.
            named: events of all times, of the records whose changes are shown; those of the removed
                controls of the subject are shown, too.
            since: of the first events.
            until: the end of the last ones.
            as_of: without later changes.
        """
        known = [row for row in self._rows(named, as_of) if as_of is None or row["at"] <= as_of]
        known.sort(key=itemgetter("at", "sequence", "record", "id"))
        rows = [
            {**row, "at": row["at"].replace(tzinfo=UTC)}
            for row in known
            if (since is None or row["at"] >= since) and (until is None or row["at"] < until)
        ]
        added = polars.DataFrame(rows, schema=events.schema)
        events = _with_amounts_of_their_time(events, known)
        return events.vstack(added).sort("at", maintain_order=True)

    def _rows(self, named: polars.DataFrame, as_of: datetime | None) -> Iterator[State]:
        """Yields the rows, which also have the sequence number of the entry."""
        pairs = named.select("record", "id").unique(maintain_order=True).iter_rows()
        names = {(_TABLES[record], id): None for record, id in pairs}
        names |= {("balances", id): None for table, id in names if table == "reward_addresses"}
        removed = [("controls", id) for id in self._controls if ("controls", id) not in names]
        for record in recorded(self._journal, [*names, *removed]):
            is_named = (record.table, record.id) in names
            if is_named or (record.at(as_of) if as_of else record.state) is None:
                yield from _rows_of(record)


def _rows_of(record: Recorded) -> Iterator[State]:
    shown = {"record": _RECORDS[record.table], "id": record.id}
    if record.load is not None and record.table != "balances":
        yield {**shown, **_event(record.load, "recorded")}
    for change in record.changes:
        if change.before is None or change.after is None:
            event = "recorded" if change.before is None else "removed"
            yield {**shown, **_event(change, event)}
            continue
        for member in sorted(change.before.keys() | change.after.keys()):
            values = {
                "member": member,
                "old": _text(change.before.get(member)),
                "new": _text(change.after.get(member)),
            }
            yield {**shown, **_event(change, "changed"), **values}


def recorded(journal: Journal, names: Sequence[tuple[str, str]]) -> Iterator[Recorded]:
    """Yields the records with these tables and ids, in bounded memory; none if there is none."""
    for begin in range(0, len(names), _READ_AT_ONCE):
        yield from _read(journal, names[begin : begin + _READ_AT_ONCE])


def _read(journal: Journal, names: Sequence[tuple[str, str]]) -> Iterator[Recorded]:
    found = journal.histories(names)
    entries = {each.sequence: json.loads(each.entry) for each in found.entries}
    for record in found.records:
        loads = {each.entry: entries[each.load] for each in record.changed_by}
        changes = _in_order(
            (_change(entries[each], loads.get(each)), each in loads) for each in record.entries
        )
        state = None if record.content is None else json.loads(record.content)
        batch = None if record.loaded_by is None else entries[record.loaded_by]
        # The first entry of a journal does not say when records were recorded.
        has_load = batch is not None and batch["operation"] != "journal.begin"
        load = _change(batch, batch) if batch is not None and has_load else None
        known = state or changes[-1].before or {}
        id = known.get("id") or known.get("address_id") or ""
        yield Recorded(record.resource, id, state, changes, load)


def _in_order(changes: Iterable[tuple[Change, bool]]) -> list[Change]:
    """Returns changes, each given with whether a load made it, so that those of loads ascend.

    The time of a load is that of its begin, which may be before a change that it found.
    """
    ordered: list[Change] = []
    for change, is_of_load in changes:
        is_before = ordered and is_of_load and change.at < ordered[-1].at
        ordered.append(replace(change, at=ordered[-1].at) if is_before else change)
    return ordered


def _change(entry: State, load: State | None) -> Change:
    """Returns a change; `load` is the entry of the load that made it."""
    at = datetime.fromisoformat(entry["recorded_at"]).replace(tzinfo=None)
    source = None if load is None else load["batch"].get("input")
    operation = entry["operation"] + (f" of {source}" if source else "")
    sequence, actor = entry["sequence"], entry["actor"]
    return Change(sequence, at, actor, operation, entry.get("before"), entry.get("after"))


def _event(change: Change, event: str) -> State:
    return {
        "at": change.at,
        "event": event,
        "actor": change.actor,
        "detail": change.detail,
        "sequence": change.sequence,
    }


def _with_amounts_of_their_time(
    events: polars.DataFrame, changes: Sequence[State]
) -> polars.DataFrame:
    """Returns events with the amount before the first change that was recorded after them."""
    later: dict[tuple[str, str], list[State]] = {}
    for change in changes:
        if change.get("member") in ("amount", "source_amount"):
            later.setdefault((change["record"], change["id"]), []).append(change)
    if not later:
        return events
    amounts = []
    columns = ("at", "record", "id", "event", "amount")
    for at, record, id, event, amount in events.select(columns).iter_rows():
        olds = [
            change["old"]
            for change in later.get((record, id), [])
            if change["at"] > at.replace(tzinfo=None)
        ]
        if event == "made good" or not olds:
            amounts.append(amount)
        else:
            amounts.append(Decimal(olds[0]) if olds[0] else None)
    return events.with_columns(polars.Series("amount", amounts, events.schema["amount"]))


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
