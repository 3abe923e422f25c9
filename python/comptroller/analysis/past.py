"""The records of a history as the store had them at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars

from comptroller.analysis.assemble import assemble
from comptroller.analysis.changes import recorded
from comptroller.analysis.tables import Reads, Tables, schema
from comptroller.journal import canonical_text, member_text

if TYPE_CHECKING:
    from comptroller.journal import Journal


class Past:
    """The records that a statement of a history needs, as the store had them at a time.

    They are those that belong to the subject now, and those that did before an entry of the journal
    moved or removed them; then the payout groups of these, and for failed claims the other claims
    of their groups. Records of which the statement reads nothing do no harm.
    """

    def __init__(
        self, journal: Journal, tables: Tables, reads: Reads, subject: str, time: datetime
    ) -> None:
        self._journal = journal
        self._tables = tables
        self._types = {table: schema(table, columns) for table, columns in reads.items()}
        self._time = time
        self._seen: set[tuple[str, str]] = set()
        self._frames: dict[str, list[polars.DataFrame]] = {table: [] for table in reads}
        self._groups: set[str] = set()  # of claims and addresses
        self._groups_of_failed: set[str] = set()
        self._add_linked(subject)
        self._add(("payout_groups", id) for id in sorted(self._groups))
        self._add_claims_of(sorted(self._groups_of_failed - {subject}))

    def rows(self, table: str) -> polars.DataFrame:
        """Returns the columns of a table that the statement reads."""
        empty = polars.DataFrame(schema=self._types[table])
        return polars.concat([empty, *self._frames[table]])

    def _add_linked(self, subject: str) -> None:
        found = self._rows("linked_records", {"id": subject})
        names = [(record, id) for record, id, _ in found.iter_rows()]
        addresses = [subject, *found["place"].drop_nulls()]
        links = [member_text(name, subject) for name in ("identity_id", "payout_group_id", "id")]
        moved = [*self._journal.moved_records(links)]
        listed = [canonical_text(each) for each in addresses]
        moved += self._journal.moved_records(listed, in_any_case=True)
        names += [(table, subject) for table in self._types]
        names += moved
        names += [("balances", id) for table, id in moved if table == "reward_addresses"]
        self._add(names)

    def _add_claims_of(self, groups: list[str]) -> None:
        if not groups:
            return
        found = self._rows("claims_of_groups", {"group": groups})
        self._add(("claims", id) for id in found["id"])
        links = [member_text("payout_group_id", group) for group in groups]
        self._add(self._journal.moved_records(links))

    def _rows(self, file: str, values: Mapping[str, Any]) -> polars.DataFrame:
        statement = assemble(file, (), frozenset())
        self._tables.prepare(statement.reads, {}, is_empty_if_forbidden=True)
        rows = self._tables.engine.run(statement, values)
        return rows.cast(dict.fromkeys(statement.texts, polars.String))

    def _add(self, names: Iterable[tuple[str, str]]) -> None:
        new = [name for name in dict.fromkeys(names) if name not in self._seen]
        self._seen.update(new)
        rows: dict[str, list[list[Any]]] = {}
        for record in recorded(self._journal, [name for name in new if name[0] in self._types]):
            state = record.at(self._time)
            if state is None:
                continue
            types = self._types[record.table]
            of_table = rows.setdefault(record.table, [])
            of_table.append([_value(state.get(name), types[name]) for name in types])
            if len(of_table) == _FRAME_ROWS:
                self._take(record.table, rows.pop(record.table))
            if record.table in ("claims", "reward_addresses") and "payout_group_id" in state:
                self._groups.add(state["payout_group_id"])
            if state.get("onchain_status") == "FAILED" and record.table == "claims":
                self._groups_of_failed.add(state["payout_group_id"])
        for table, of_table in rows.items():
            self._take(table, of_table)

    def _take(self, table: str, rows: list[list[Any]]) -> None:
        self._frames[table].append(polars.DataFrame(rows, schema=self._types[table], orient="row"))


_FRAME_ROWS = 5_000


def _value(value: Any, type: polars.DataType) -> Any:
    """Returns a value of canonical JSON as one of a column."""
    if value is None:
        return None
    if isinstance(type, polars.Decimal):
        return Decimal(value)
    if isinstance(type, polars.Datetime):
        return datetime.fromisoformat(value)
    return value
