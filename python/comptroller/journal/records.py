"""The entries of a journal, and the results of its methods."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from comptroller.records import InclusionProof


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry: a change of a record, or the records that a load inserted.

    `sequence` counts from 0 in order of commit. `before` and `after` have the members that the
    change affected, or the whole record if it was created or deleted; an unset member is left out,
    and a document such as ``metadata`` is its JSON text. `batch` has the source of a load, the
    numbers of its lines, its `mapping` as JSON text, and what it inserted: the number of records of
    each table, their keys, and the root of a Merkle tree over their content. `archive` has how many
    entries were moved to a file, the SHA-256 of that file, and the same of all records.
    `idempotency_key` is the SHA-256 of the key.
    """

    sequence: int
    recorded_at: datetime
    actor: str
    operation: str
    resource: str | None = None
    key: int | None = None
    id: str | None = None
    customer_id: str | None = None
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    batch: dict[str, Any] | None = None
    archive: dict[str, Any] | None = None
    request_id: str | None = None
    idempotency_key: str | None = None


class Finding(msgspec.Struct, frozen=True):
    """What differs: the table, ``journal`` or ``checkpoint``, and a sentence."""

    check: str
    message: str


class Verification(msgspec.Struct, frozen=True):
    """The result of `Journal.verify`: `size` entries with the root `root` (hexadecimal digits).

    The first `archived` of them are only in files.
    """

    ok: bool
    size: int
    root: str
    findings: list[Finding]
    archived: int = 0


class Checkpoint(msgspec.Struct, frozen=True):
    """A signed `checkpoint` of the journal, and the `key` that verifies its signature."""

    checkpoint: str
    key: str


class Inserted(msgspec.Struct, frozen=True):
    """A record as a batch has it: leaf `index` of the tree of the `count` records of its table.

    `content` is its canonical JSON, `root` the root in the entry of the batch. Hashes are
    hexadecimal digits.
    """

    content: str
    index: int
    count: int
    root: str
    proof: list[str]


class ChangeByLoad(msgspec.Struct, frozen=True):
    """An entry by which a load changed a record, and the entry of that load, which has its source.

    A load appends its own entry last in each of its transactions.
    """

    entry: int
    load: int


class RecordHistory(msgspec.Struct, frozen=True):
    """A record and the sequence numbers of its entries.

    `content` is its canonical JSON, None if it was deleted. `inserted_by` is the entry of the load
    that inserted it, or of the archive that has it. `loaded_by` is that of the load, unless it is
    archived. `changed_by` has those of its entries that loads wrote.
    """

    resource: str
    key: int
    entries: list[int]
    content: str | None = None
    inserted_by: int | None = None
    inserted: Inserted | None = None
    loaded_by: int | None = None
    changed_by: list[ChangeByLoad] = []


class Histories(msgspec.Struct, frozen=True):
    """Records with their entries, at a time when the journal had this size and root."""

    size: int
    root: str
    records: list[RecordHistory]
    entries: list[InclusionProof]
    findings: list[Finding]


class JournalPage(msgspec.Struct):
    """A page of entries; the next one begins after the entry `last`."""

    items: list[JournalEntry]
    last: int
    has_more: bool
