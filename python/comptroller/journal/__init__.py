"""The journal of a store: who changed which record when, and whether anything was altered since."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Protocol

import msgspec

from comptroller import _core, arguments
from comptroller.arguments import Id
from comptroller.bulk.exported import JournalState
from comptroller.errors import invalid
from comptroller.journal.keys import stored_key
from comptroller.journal.records import (
    ChangeByLoad,
    Checkpoint,
    Finding,
    Histories,
    Inserted,
    JournalEntry,
    JournalPage,
    RecordHistory,
    Verification,
)
from comptroller.journal.shared_keys import optional_key, sign_checkpoint
from comptroller.operations.resource import Request, Transport, read_answer, request
from comptroller.records import InclusionProof

if TYPE_CHECKING:
    from comptroller._core import Principal, Store
    from comptroller.arguments import Timestamp
    from comptroller.bulk.archiving import Archived
    from comptroller.values import JournalResource

__all__ = [
    "ChangeByLoad",
    "Checkpoint",
    "Finding",
    "Histories",
    "Inserted",
    "Journal",
    "JournalEntry",
    "JournalHost",
    "JournalState",
    "RecordHistory",
    "Verification",
    "sign_checkpoint",
    "stored_key",
]

PAGE_SIZE = 1000
_SEARCHED = 50  # texts of one search


class JournalHost(Transport, Protocol):
    """What has a journal: a store in this process, or a server."""

    def store_with_principal(self) -> tuple[Store, Principal]:
        """Returns the store and the caller; raises Unsupported for a remote service."""

    def checkpoint(self) -> Checkpoint:
        """Returns a checkpoint of the journal, signed, and the key that verifies it."""

    @property
    def secrets_base(self) -> str | None:
        """The path with which the name of the key file begins; None without a place for it."""


class Journal:
    """The journal of the store of a service.

    Every write appends its entries in its own transaction, and a write that changes nothing appends
    none. The entries are the leaves of a Merkle tree (RFC 9162). A client with the scope
    ``journal:read`` sees the entries of its own customer's records.
    """

    def __init__(self, host: JournalHost) -> None:
        self._host = host

    def list(
        self,
        *,
        resource: JournalResource | None = None,
        id: Id | None = None,
        after: int | None = None,
        limit: int = 100,
    ) -> list[JournalEntry]:
        """Returns entries of the journal in order of commit.

        Args:
            resource: only entries of this kind of record, such as ``claims``.
            id: only entries of the record with this id. A record that a load inserted has entries
                of later changes only.
            after: only entries after the one with this sequence number.
            limit: the most entries to return.
        """
        most = most_entries(limit)
        size = min(most, PAGE_SIZE) or 1
        return [*islice(self.iter(resource=resource, id=id, after=after, limit=size), most)]

    def iter(
        self,
        *,
        resource: JournalResource | None = None,
        id: Id | None = None,
        after: int | None = None,
        limit: int = PAGE_SIZE,
    ) -> Iterator[JournalEntry]:
        """Yields all entries in order of commit, or those after a sequence number.

        Args:
            resource: as for `list`.
            id: as for `list`.
            after: as for `list`.
            limit: the entries of a page, 1 to 1000.
        """
        has_more = True
        while has_more:
            sent = page_request(resource, id, after, limit)
            page = read_answer(sent.operation, self._host.call(*sent), JournalPage)
            yield from page.items
            after, has_more = page.last, page.has_more

    def texts(self) -> Iterator[str]:
        """Yields the canonical JSON of each entry that is not archived, in order of commit."""
        place, begin = self._host.store_with_principal(), 0
        while True:
            answer = _core.journal_entries(*place, begin, PAGE_SIZE)
            page = msgspec.json.decode(answer, type=_Texts).items
            if not page:
                return
            yield from (bytes(each).decode() for each in page)
            begin = msgspec.json.decode(page[-1], type=_Place).sequence + 1

    def batches(self) -> Iterator[JournalEntry]:
        """Yields the entries of many records: of loads, archives and the beginning."""
        place, begin = self._host.store_with_principal(), 0
        while True:
            answer = _core.journal_entries(*place, begin, PAGE_SIZE, only_batches=True)
            page = msgspec.json.decode(answer, type=_Entries).items
            if not page:
                return
            yield from page
            begin = page[-1].sequence + 1

    def moved_records(
        self, texts: Sequence[str], *, in_any_case: bool = False
    ) -> Sequence[tuple[str, str]]:
        """Returns records that had another payout group, identity or addresses, or were removed.

        Args:
            texts: a piece of the canonical JSON of their entry, such as ``"identity_id":"alice"``;
                one of them is enough.
            in_any_case: whether the case of letters does not matter.
        """
        found: dict[tuple[str, str], None] = {}
        for begin in range(0, len(texts), _SEARCHED):
            answer = _core.moved_records(
                *self._host.store_with_principal(),
                [*texts[begin : begin + _SEARCHED]],
                in_any_case,
            )
            found |= dict.fromkeys(msgspec.json.decode(answer, type=tuple[tuple[str, str], ...]))
        return [*found]

    def linked_earlier(self, member: str, id: str) -> Sequence[tuple[str, str]]:
        """Returns the records that were moved or removed, and had `id` as this member.

        Args:
            member: such as ``payout_group_id``.
            id: of the identity or the payout group. Records that were moved to it are returned too.
        """
        return self.moved_records([member_text(member, id)])

    def show(self, sequence: int) -> JournalEntry:
        """Returns an entry. Raises NotFound."""
        return entry_of(self.prove(sequence))

    def prove(self, sequence: int) -> InclusionProof:
        """Returns the proof that an entry is in the journal. Raises NotFound."""
        sent = proof_request(sequence)
        return read_answer(sent.operation, self._host.call(*sent), InclusionProof)

    def histories(
        self, names: Sequence[tuple[str, str]], *, with_proofs: bool = False
    ) -> Histories:
        """Returns records and their entries.

        Args:
            names: the tables and ids of the records; of ``balances``, the id of the address.
            with_proofs: verifies the store, and returns the findings and all proofs.
        """
        answer = _core.record_histories(
            *self._host.store_with_principal(), list(names), with_proofs
        )
        return msgspec.json.decode(answer, type=Histories)

    def archive(self, before: Timestamp, out: str | PathLike[str]) -> Archived:
        """Moves the entries that were recorded before a time to a Parquet file.

        The tree of the journal stays: checkpoints, proofs of later entries and `verify` go on. The
        store is verified first, and an entry ``journal.archive`` has the SHA-256 of the file and
        the digest of all records. Entries are deleted only when the file is durable. If the
        store refuses to delete them, or an interrupt prevents it, the file is removed.

        Args:
            before: the time; a day is its start in UTC.
            out: the new file, which ends in ``.parquet``. Keep it: only it proves what its entries
                say.

        Raises:
            InvalidRequest: no entry was recorded before that time, or the path is of a store, or
                has another suffix.
            Unusable: the file exists or cannot be written; a record or an entry was altered; or a
                webhook has not had the events of these entries.
            Unavailable, OutcomeUnknown: the store did not delete the entries in time, or its disk
                or connection failed meanwhile. The file is kept, because it may be all that has
                them; the first entry of `list` is a later one if the store no longer has them.
            MissingExtra: DuckDB is not installed.
        """
        from comptroller.bulk.archiving import archive

        return archive(self, before, arguments.path("out", out))

    def remove_archived(self, archived: Archived) -> None:
        """Deletes the entries that the file of an archive has."""
        _core.archive_journal(
            *self._host.store_with_principal(), archived.size, archived.sha256, archived.root
        )

    def verify(
        self,
        checkpoint: str | None = None,
        key: str | None = None,
        archives: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    ) -> Verification:
        """Checks that no record and no entry was altered behind the service's back.

        Computes the tree again from the entries, and compares each record with its entries. Only a
        checkpoint that was stored outside the store shows that entries at the end were removed,
        that all of the journal was written anew, or that an older backup was restored.

        Args:
            checkpoint: an earlier result of `checkpoint`. The journal must begin with it.
            key: the verifier key of the checkpoint; default: that of this store.
            archives: all files of `archive`, whose entries are verified too.

        Raises:
            InvalidRequest: the checkpoint has no valid signature of the key; there is a key, but
                no checkpoint; all entries of the checkpoint are archived, and `archives` has not
                all files; or one of the files is no archive.
        """
        if checkpoint is None and key is not None:
            raise invalid("key", "is for a checkpoint; give the checkpoint, too")
        place = self._host.store_with_principal()
        verifier = ""
        if checkpoint is not None:
            checkpoint = arguments.text("checkpoint", checkpoint)
            verifier = self.key() if key is None else arguments.text("key", key)
        if isinstance(archives, str | PathLike):
            archives = [archives]
        if archives:
            from comptroller.bulk.archiving import verify_archives

            head = None if checkpoint is None else _core.open_checkpoint(checkpoint, verifier)
            found, is_archived = verify_archives(self, archives, head)
            findings = [Finding(check, message) for check, message in found]
            checkpoint = None if is_archived else checkpoint
        answer = _core.verify_journal(*place, checkpoint, verifier)
        result = msgspec.json.decode(answer, type=Verification)
        if archives and findings:
            return msgspec.structs.replace(result, ok=False, findings=result.findings + findings)
        return result

    def state(self, size: int | None = None) -> JournalState:
        """Returns the size and root of the journal, or its root when it had `size` entries.

        Raises InvalidRequest if it has fewer, or if their root is only in an archive.
        """
        if size is not None:
            size = arguments.whole("size", size, 1 << 62)
        return JournalState(*_core.journal_head(*self._host.store_with_principal(), size))

    def signed(self, state: JournalState) -> JournalState:
        """Returns a state with its checkpoint, if the store has a key for checkpoints."""
        base = self._host.secrets_base
        key = None if base is None else optional_key(self._host.store_with_principal()[0], base)
        if key is None:
            return state
        note: bytes = _core.sign_head(*key, state.size, state.root)
        return msgspec.structs.replace(state, checkpoint=note.decode())

    def checkpoint(self) -> str:
        """Returns the size and root of the journal, signed: a C2SP tlog-checkpoint.

        Keep it outside the store, such as in a mail to the auditor. The first call creates the key,
        in the file ``FILE.journal-key`` beside the store. That of a database is in the state
        folder, and the database has its public part.

        Raises:
            Unusable: another key signs the checkpoints of the database; or none does, and the
                service is read-only.
        """
        return self._host.checkpoint().checkpoint

    def key(self) -> str:
        """Returns the key that verifies the checkpoints, in the format of Go's package note."""
        return self._host.checkpoint().key


def most_entries(limit: int) -> int:
    """Returns the most entries to return. Raises InvalidRequest."""
    return arguments.whole("limit", limit, (1 << 31) - 1)


def page_request(
    resource: JournalResource | None, id: Id | None, after: int | None, limit: int
) -> Request:
    """Returns the request for a page of entries."""
    filters = {"resource": resource, "id": id, "after": after, "limit": limit}
    return request("journal.list", filters)


def proof_request(sequence: int) -> Request:
    """Returns the request for the proof of an entry. Raises InvalidRequest."""
    number = arguments.whole("sequence", sequence, (1 << 63) - 1)
    return request("journal.prove", {"sequence": number})


def entry_of(proof: InclusionProof) -> JournalEntry:
    """Returns the entry that a proof has."""
    return msgspec.json.decode(proof.entry, type=JournalEntry)


def canonical_text(value: str) -> str:
    """Returns a text as the canonical JSON of an entry has it."""
    return json.dumps(value, ensure_ascii=False)


def member_text(name: str, value: str) -> str:
    """Returns a member as the canonical JSON of an entry has it."""
    return f'"{name}":{canonical_text(value)}'


class _Entries(msgspec.Struct):
    items: list[JournalEntry]


class _Texts(msgspec.Struct):
    items: list[msgspec.Raw]


class _Place(msgspec.Struct):
    sequence: int
