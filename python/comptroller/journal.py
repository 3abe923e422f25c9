"""The journal of a store: who changed which record when, and whether anything was altered since."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from comptroller import _core, arguments
from comptroller.arguments import Id
from comptroller.errors import unsupported, unusable
from comptroller.operations.resource import Transport, read_answer, request
from comptroller.secret_file import SecretFile

if TYPE_CHECKING:
    from comptroller._core import Principal, Store
    from comptroller.records import InclusionProof
    from comptroller.values import JournalResource

_PAGE = 1000
_SEED_BYTES = 32


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry: a change of a record, or the records that a load inserted.

    `sequence` counts from 0 in order of commit. `before` and `after` have the members that the
    change affected, or the whole record if it was created or deleted; an unset member is left out,
    and a document such as ``metadata`` is its JSON text. `batch` has what a load inserted: the
    number of records of each table, their keys, the root of a Merkle tree over their content, and
    the SHA-256 of the input. `idempotency_key` is the SHA-256 of the key.
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
    request_id: str | None = None
    idempotency_key: str | None = None


class Finding(msgspec.Struct, frozen=True):
    """What differs: the table, ``journal`` or ``checkpoint``, and a sentence."""

    check: str
    message: str


class Verification(msgspec.Struct, frozen=True):
    """The result of `Journal.verify`: `size` entries with the root `root` (hexadecimal digits)."""

    ok: bool
    size: int
    root: str
    findings: list[Finding]


class Checkpoint(msgspec.Struct, frozen=True):
    """A signed `checkpoint` of the journal, and the `key` that verifies its signature."""

    checkpoint: str
    key: str


class JournalHost(Transport, Protocol):
    """What has a journal: a store in this process, or a server."""

    def store_with_principal(self) -> tuple[Store, Principal]:
        """Returns the store and the caller; raises Unsupported for a remote service."""

    def checkpoint(self) -> Checkpoint:
        """Returns a checkpoint of the journal, signed, and the key that verifies it."""


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
        most = arguments.whole("limit", limit, (1 << 31) - 1)
        entries = self.iter(resource=resource, id=id, after=after, limit=min(most, _PAGE) or 1)
        return [*islice(entries, most)]

    def iter(
        self,
        *,
        resource: JournalResource | None = None,
        id: Id | None = None,
        after: int | None = None,
        limit: int = _PAGE,
    ) -> Iterator[JournalEntry]:
        """Yields all entries in order of commit, or those after a sequence number.

        Args:
            resource: as for `list`.
            id: as for `list`.
            after: as for `list`.
            limit: the entries of a page, 1 to 1000.
        """
        filters = {"resource": resource, "id": id, "limit": limit}
        has_more = True
        while has_more:
            sent = request("journal.list", {**filters, "after": after})
            page = read_answer(sent.operation, self._host.call(*sent), _Page)
            yield from page.items
            after, has_more = page.last, page.has_more

    def prove(self, sequence: int) -> InclusionProof:
        """Returns the proof that an entry is in the journal. Raises NotFound."""
        from comptroller.records import InclusionProof

        number = arguments.whole("sequence", sequence, (1 << 63) - 1)
        sent = request("journal.prove", {"sequence": number})
        return read_answer(sent.operation, self._host.call(*sent), InclusionProof)

    def verify(self, checkpoint: str | None = None, key: str | None = None) -> Verification:
        """Checks that no record and no entry was altered behind the service's back.

        Computes the tree again from the entries, and compares each record with its entries. Only a
        checkpoint that was kept elsewhere shows that entries at the end were removed, that all of
        the journal was written anew, or that an older backup was restored.

        Args:
            checkpoint: an earlier result of `checkpoint`. The journal must begin with it.
            key: the verifier key of the checkpoint; default: that of this store.

        Raises:
            InvalidRequest: the checkpoint has no valid signature of the key.
        """
        verifier = (key or self.key()) if checkpoint is not None else ""
        answer = _core.verify_journal(*self._host.store_with_principal(), checkpoint, verifier)
        return msgspec.json.decode(answer, type=Verification)

    def checkpoint(self) -> str:
        """Returns the size and root of the journal, signed: a C2SP tlog-checkpoint.

        Keep it elsewhere, such as in a mail to the auditor. The first call creates the key, in the
        file ``FILE.journal-key`` beside the store.
        """
        return self._host.checkpoint().checkpoint

    def key(self) -> str:
        """Returns the key that verifies the checkpoints, in the format of Go's package note."""
        return self._host.checkpoint().key


def sign_checkpoint(store: Store, principal: Principal, path: str | None) -> Checkpoint:
    """Returns a checkpoint of the journal of a store with this file."""
    key = _signing_key(path)
    note: bytes = _core.sign_checkpoint(store, principal, *key)
    return Checkpoint(note.decode(), _core.verifier_key(*key))


def _signing_key(path: str | None) -> tuple[str, bytes]:
    if path is None:
        raise unsupported("a store in memory has no key for checkpoints")
    file = key_file_of(path)
    data = file.read()
    if data is None:
        with file.changing():
            data = file.read()
            if data is None:
                # A name without spaces and plus signs, as the format of notes asks.
                name = f"comptroller-{secrets.token_hex(8)}"
                data = msgspec.json.encode({"name": name, "seed": secrets.token_bytes(_SEED_BYTES)})
                file.write(data)
    try:
        key = msgspec.json.decode(data, type=_Key)
    except msgspec.MsgspecError as error:
        raise unusable(f"{file.path} is damaged: restore a backup of it") from error
    return key.name, key.seed


def key_file_of(store: str) -> SecretFile:
    """Returns the file with the key that signs the checkpoints of a store."""
    return SecretFile(store, ".journal-key")


class _Page(msgspec.Struct):
    items: list[JournalEntry]
    last: int
    has_more: bool


class _Key(msgspec.Struct):
    name: str
    seed: bytes
