"""Rows of a history from the journal: who changed which member when, and records of the past."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

import polars

from comptroller.analysis.tables import schema
from comptroller.errors import Forbidden, Unsupported, invalid

if TYPE_CHECKING:
    from comptroller.journal import Journal, JournalEntry

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
#: The first entry of a journal, and an archive, do not say when records were recorded.
_SNAPSHOTS = ("journal.begin", "journal.archive")

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
    """The records of a history, with their entries in the journal.

    `related` are claims that only make others good: their own events are not shown.
    """

    def __init__(
        self, records: list[Recorded], related: Collection[str], first: JournalEntry
    ) -> None:
        self._records = records
        self._first = first  # of the journal, without archived ones
        self._related = related

    @classmethod
    def of(cls, events: polars.DataFrame, subject: str, journal: Journal | None) -> Self | None:
        """Returns those of the records of a history; None if the caller cannot read the journal."""
        if journal is None:
            return None
        named = events.select("record", "id").unique(maintain_order=True)
        names = {(_TABLES[record], id): None for record, id in named.iter_rows()}
        good = events.filter(event="made good")["detail"].to_list()
        related = {id for id in good if ("claims", id) not in names}
        names |= {("claims", id): None for id in related}
        names |= {("balances", id): None for table, id in names if table == "reward_addresses"}
        try:
            if ("identities", subject) in names:
                names |= {("controls", id): None for id in journal.removed_controls(subject)}
            (first,) = journal.list(limit=1)
            return cls(list(_records(journal, list(names))), related, first)
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

    def records_at(self, table: str, columns: Collection[str], time: datetime) -> polars.DataFrame:
        """Returns columns of the records of a table as the store had them at a time."""
        types = schema(table, columns)
        states = [each.at(time) for each in self._records if each.table == table]
        rows = [
            [_value(state.get(name), types[name]) for name in types] for state in states if state
        ]
        return polars.DataFrame(rows, schema=types, orient="row")

    def added_to(
        self,
        events: polars.DataFrame,
        since: datetime | None,
        until: datetime | None,
        as_of: datetime | None,
    ) -> polars.DataFrame:
        """Returns the events with those of the journal, in order of time."""
        known = [row for row in self._rows() if as_of is None or row["at"] <= as_of]
        known.sort(key=itemgetter("at", "sequence"))
        rows = [
            {**row, "at": row["at"].replace(tzinfo=UTC)}
            for row in known
            if (since is None or row["at"] >= since) and (until is None or row["at"] < until)
        ]
        added = polars.DataFrame(rows, schema=events.schema)
        events = _with_amounts_of_their_time(events, known)
        return events.vstack(added).sort("at", maintain_order=True)

    def _rows(self) -> Iterator[State]:
        """Yields the rows, which also have the sequence number of the entry."""
        for record in self._records:
            if record.id in self._related:
                continue
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


def _records(journal: Journal, names: list[tuple[str, str]]) -> Iterator[Recorded]:
    found = journal.histories(names)
    entries = {each.sequence: json.loads(each.entry) for each in found.entries}
    for record in found.records:
        changes = [_change(entries[sequence]) for sequence in record.entries]
        state = None if record.content is None else json.loads(record.content)
        batch = None if record.inserted_by is None else entries[record.inserted_by]
        load = None
        if batch is not None and batch["operation"] not in _SNAPSHOTS:
            load = _change(batch)
        known = state or changes[-1].before or {}
        id = known.get("id") or known.get("address_id") or ""
        yield Recorded(record.resource, id, state, changes, load)


def _change(entry: State) -> Change:
    at = datetime.fromisoformat(entry["recorded_at"]).replace(tzinfo=None)
    source = (entry.get("batch") or {}).get("input")
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
    for at, record, id, amount in events.select("at", "record", "id", "amount").iter_rows():
        olds = [
            change["old"]
            for change in later.get((record, id), [])
            if change["at"] > at.replace(tzinfo=None)
        ]
        is_replaced = amount is not None and bool(olds)
        amounts.append(Decimal(olds[0]) if is_replaced and olds[0] else amount)
    return events.with_columns(polars.Series("amount", amounts, events.schema["amount"]))


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _value(value: Any, type: polars.DataType) -> Any:
    """Returns a value of canonical JSON as one of a column."""
    if value is None:
        return None
    if isinstance(type, polars.Decimal):
        return Decimal(value)
    if isinstance(type, polars.Datetime):
        return datetime.fromisoformat(value)
    return value
