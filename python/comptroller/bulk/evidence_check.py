#!/usr/bin/env python3
"""Checks a folder of evidence of comptroller, without the store and without comptroller.

    python check.py [FOLDER] [--key KEY]

It needs Python 3.11 and the package cryptography. KEY is the verifier key that you got from the
operator earlier; without it, the key in the folder is used, and you have to compare it yourself.

1. The checkpoint has a signature of the key. It is the size and the root of a Merkle tree.
2. Each entry is a leaf of this tree (RFC 9162, section 2.1.3.2).
3. Each record that a load inserted is a leaf of the tree whose root is in the entry of the load.
4. Each record is what its entries made of it.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Wrong(Exception):
    """What is wrong with the evidence."""


def check(folder: Path, key: str | None = None) -> dict[str, Any]:
    """Checks a folder; returns what was checked. Raises Wrong."""
    key = read(folder, "key.txt").strip() if key is None else key
    note = read(folder, "checkpoint.txt")
    try:
        size, root = open_checkpoint(note, key)
        entries: dict[int, dict[str, Any]] = {}
        for line in lines(folder, "entries.ndjson"):
            sequence, text = line["sequence"], line["entry"]
            if json.loads(text)["sequence"] != sequence:
                raise Wrong(f"entry {sequence} has another sequence number")
            if root_of(text, sequence, size, line["proof"]) != root:
                raise Wrong(f"entry {sequence} is not in the journal of the checkpoint")
            entries[sequence] = json.loads(text)
        records = list(lines(folder, "records.ndjson"))
        for record in records:
            check_record(record, entries)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise Wrong(f"the evidence is malformed: {type(error).__name__}: {error}") from error
    return {"entries": len(entries), "records": len(records), "size": size, "key": key}


def open_checkpoint(note: str, key: str) -> tuple[int, str]:
    """Returns the size and the root of a checkpoint: https://c2sp.org/tlog-checkpoint."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        name, digits, encoded = key.split("+", 2)
        public = base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise Wrong(f"not a verifier key: {key!r}") from error
    text, _, signatures = note.rpartition("\n\n")
    text += "\n"
    for line in signatures.splitlines():
        dash, signer, signature = line.split(" ")
        data = base64.b64decode(signature, validate=True)
        if (dash, signer, data[:4].hex()) != ("\N{EM DASH}", name, digits):
            continue
        try:
            Ed25519PublicKey.from_public_bytes(public[1:]).verify(data[4:], text.encode())
        except InvalidSignature:
            break
        origin, size, root = text.splitlines()
        if origin != name:
            break
        return int(size), base64.b64decode(root, validate=True).hex()
    raise Wrong("the checkpoint has no valid signature of the key")


def root_of(content: str, index: int, size: int, proof: list[str]) -> str:
    """Returns the root that a proof of inclusion leads to (RFC 9162, section 2.1.3.2)."""
    if not 0 <= index < size:
        raise Wrong(f"there is no leaf {index} in a tree of {size}")
    node = hashlib.sha256(b"\0" + content.encode()).digest()
    last = size - 1
    for sibling in map(bytes.fromhex, proof):
        if last == 0:
            raise Wrong("a proof is too long")
        if index % 2 or index == last:
            node = hashlib.sha256(b"\1" + sibling + node).digest()
            while index and not index % 2:
                index, last = index >> 1, last >> 1
        else:
            node = hashlib.sha256(b"\1" + node + sibling).digest()
        index, last = index >> 1, last >> 1
    if last:
        raise Wrong("a proof is too short")
    return node.hex()


def check_record(record: dict[str, Any], entries: dict[int, dict[str, Any]]) -> None:
    """Compares a record with what its entries made of it."""
    name = f"{record['resource']} {record['key']}"
    content = None if record["content"] is None else json.loads(record["content"])
    inserted_by = record["inserted_by"]
    sequences = sorted(record["entries"])
    for sequence in sequences:
        entry = entries[sequence]
        if (entry["resource"], entry["key"]) != (record["resource"], record["key"]):
            raise Wrong(f"entry {sequence} is of another record than {name}")
    state: dict[str, Any] | None = None
    if inserted_by is not None:
        state = inserted(record, entries[inserted_by], name)
        if "archive" in entries[inserted_by]:  # it has the record as it was then
            sequences = [each for each in sequences if each > inserted_by]
    elif content is None:  # what inserted it may be in an archive; its removal has all members
        for sequence in reversed(sequences):
            state = undone(state, entries[sequence])
    for sequence in sequences:
        state = changed(state, entries[sequence], f"{name}: entry {sequence}")
    if state != content:
        raise Wrong(f"{name} is not what its entries made of it")


def inserted(record: dict[str, Any], entry: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns a record as a load inserted it."""
    proof = record["inserted"]
    batch = entry["archive"] if "archive" in entry else entry["batch"]
    for part in batch["records"]:
        if part["resource"] == record["resource"] and (
            part["first_key"] <= record["key"] <= part["last_key"]
        ):
            root = root_of(proof["content"], proof["index"], part["count"], proof["proof"])
            if root == part["root"]:
                state: dict[str, Any] = json.loads(proof["content"])
                return state
    raise Wrong(f"{name} was not inserted by entry {entry['sequence']}")


def changed(
    state: dict[str, Any] | None, entry: dict[str, Any], where: str
) -> dict[str, Any] | None:
    """Returns a record after the change of an entry; None if that removed it."""
    before: dict[str, Any] | None = entry.get("before")
    after: dict[str, Any] | None = entry.get("after")
    if before is None:  # created
        return after
    if state is None or any(state.get(member) != value for member, value in before.items()):
        raise Wrong(f"{where} changed another state of the record")
    if after is None:  # removed
        return None
    kept = {member: value for member, value in state.items() if member not in before}
    return kept | after


def undone(state: dict[str, Any] | None, entry: dict[str, Any]) -> dict[str, Any] | None:
    """Returns a record before the change of an entry; None if that created it."""
    before: dict[str, Any] | None = entry.get("before")
    after: dict[str, Any] | None = entry.get("after")
    if before is None or after is None:
        return before
    return {
        member: value for member, value in (state or {}).items() if member not in after
    } | before


def read(folder: Path, name: str) -> str:
    """Returns the text of a file of the folder."""
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Wrong(f"{folder / name} cannot be read: {error}") from error


def lines(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yields the lines of an NDJSON file."""
    # Texts may have other characters that end a line, such as U+2028.
    return (json.loads(line) for line in read(folder, name).split("\n") if line)


def main() -> int:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    parser.add_argument("--key", help="the verifier key; by default key.txt")
    given = parser.parse_args()
    try:
        checked = check(given.folder, given.key)
    except Wrong as wrong:
        print(f"WRONG: {wrong}")
        return 1
    print(f"{checked['records']} records and {checked['entries']} entries are right.")
    print(f"They are in a journal of {checked['size']} entries, signed by this key:")
    print(checked["key"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
