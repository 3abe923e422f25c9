"""The Merkle tree of the journal, whose smaller subtrees are not stored."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import comptroller
import pytest
from comptroller.bulk.archiving import first_unarchived
from test_journal import verify_proof

SIZE = 40


def root_of(entries: Sequence[str]) -> bytes:
    """Returns the hash of a tree as RFC 9162, section 2.1.1 defines it."""
    if len(entries) == 1:
        return hashlib.sha256(b"\0" + entries[0].encode()).digest()
    half = 1 << (len(entries) - 1).bit_length() - 1
    children = root_of(entries[:half]) + root_of(entries[half:])
    return hashlib.sha256(b"\1" + children).digest()


@pytest.mark.parametrize("archived", [0, 2, 7, 13, 16, 23])
def test_each_writer_continues_the_tree(store_path: Path, tmp_path: Path, archived: int) -> None:
    entries: list[str] = []
    for number in range(1, SIZE):  # entry 0 begins the journal
        # Each one is opened anew, so it reads the hashes of the tree.
        with comptroller.open(store_path) as svc:
            if archived and number == archived:
                svc.journal.archive("2100-01-01", tmp_path / "old.parquet")
            else:
                svc.identities.put(id=f"identity-{number}")
            entries = [*entries[: first_unarchived(svc.journal)], *svc.journal.texts()]
            state = svc.journal.state()
            assert (state.size, state.root) == (len(entries), root_of(entries).hex())
    with comptroller.open(store_path) as svc:
        assert svc.journal.verify().ok
        for sequence in range(archived, SIZE):
            proof = svc.journal.prove(sequence)
            assert proof.entry == entries[sequence]
            assert verify_proof(proof)
