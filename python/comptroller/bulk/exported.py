"""What an export, a backup and a copy return."""

from __future__ import annotations

import msgspec


class JournalState(msgspec.Struct, frozen=True):
    """The journal at a time: `size` entries, whose tree has the root `root` (hexadecimal digits).

    `checkpoint` is both, signed; None if the store has no key for checkpoints yet.
    """

    size: int
    root: str
    checkpoint: str | None = None


class Copied(msgspec.Struct, frozen=True):
    """What a copy of a store has: the number of records of each kind, and its journal."""

    rows: dict[str, int]
    journal: JournalState


class Exported(int):
    """The number of exported records, with the state of the journal that they are of.

    `journal` is None for a client and for a remote store.
    """

    journal: JournalState | None

    def __new__(cls, rows: int, journal: JournalState | None = None) -> Exported:
        """Returns the number of rows, with `journal`."""
        exported = super().__new__(cls, rows)
        exported.journal = journal
        return exported
