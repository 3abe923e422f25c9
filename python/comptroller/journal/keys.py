"""The key that signs the checkpoints of a store's journal, in a private file of the store."""

from __future__ import annotations

import secrets

import msgspec

from comptroller.decoding import NOT_JSON
from comptroller.errors import unusable
from comptroller.secret_file import SecretFile

_SEED_BYTES = 32


def open_or_make(base: str) -> tuple[str, bytes]:
    """Returns the name and the seed of the key for checkpoints; creates a missing key."""
    key = stored_key(base)
    if key is not None:
        return key
    file = key_file_of(base)
    with file.changing():
        if file.read() is None:
            # A name without spaces and plus signs, as the format of notes asks.
            name = f"comptroller-{secrets.token_hex(8)}"
            file.write(
                msgspec.json.encode({"name": name, "seed": secrets.token_bytes(_SEED_BYTES)})
            )
    return open_or_make(base)


def stored_key(path: str) -> tuple[str, bytes] | None:
    """Returns the name and the seed of the key for checkpoints, if the store has one."""
    file = key_file_of(path)
    data = file.read()
    if data is None:
        return None
    try:
        key = msgspec.json.decode(data, type=_Key)
    except NOT_JSON as error:
        raise unusable(f"{file.path} is damaged: restore a backup of it") from error
    return key.name, key.seed


def key_file_of(store: str) -> SecretFile:
    """Returns the file with the key that signs the checkpoints of a store."""
    return SecretFile(store, ".journal-key")


class _Key(msgspec.Struct):
    name: str
    seed: bytes
