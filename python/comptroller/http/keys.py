"""The keys that tokens are signed with: ``FILE.keys`` beside a store, a JWK set (RFC 7517).

It never goes into the store. One key signs; those before it are kept, without their private part,
until the tokens that they signed have ended.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from comptroller.errors import unusable
from comptroller.http.secret_file import SecretFile

ALGORITHM: Final = "Ed25519"
ENDING = ".keys"
#: How long a token may be valid.
LONGEST_LIFETIME_S = 3600
#: A running server may go on signing for a second, and clocks differ.
_MARGIN_S = 60
_REMEDY = (
    "put it back from a copy, or start the server without it: it then makes a new key, and the "
    "tokens of the old one end"
)


class Retired(NamedTuple):
    """A key that signs no more, and the moment, in seconds, when none of its tokens is left."""

    key: OKPKey
    until: int


class Keys(NamedTuple):
    """The keys at a moment."""

    signing: OKPKey
    retired: tuple[Retired, ...]

    def valid(self, now: float) -> list[OKPKey]:
        """Those whose tokens may be valid, the signing one first."""
        return [self.signing, *(each.key for each in self.retired if now < each.until)]

    def find(self, kid: str, now: float) -> OKPKey | None:
        """The valid key of this id."""
        return next((key for key in self.valid(now) if key.kid == kid), None)

    def published(self, now: float) -> bytes:
        """The JWK set that verifies tokens; no private part is in it."""
        return msgspec.json.encode(
            {"keys": [key.as_dict(private=False) for key in self.valid(now)]}
        )


class _Entry(msgspec.Struct, omit_defaults=True):
    """A key as the file has it."""

    kty: str
    crv: str
    x: str
    kid: str
    alg: str
    use: str
    d: str | None = None
    retired_at: int | None = None

    def __repr__(self) -> str:
        return f"<key {self.kid}>"


class _Set(msgspec.Struct):
    keys: list[_Entry]


def file_of(store: str) -> SecretFile:
    """The key file of a store."""
    return SecretFile(store, ENDING)


def open_or_make(file: SecretFile) -> Keys:
    """The keys; where there is no file it is made, with a new one.

    Raises Unusable if others may read the file, or it is damaged.
    """
    data = file.read()
    if data is None:
        with file.changing():
            data = file.read()
            if data is None:
                return _write(file, [_made()])
    return _decoded(file, data)


def read(file: SecretFile) -> Keys:
    """The keys. Raises Unusable as `open_or_make` does, and where there is no file."""
    data = file.read()
    if data is None:
        raise unusable(f"{file.path} is gone; {_REMEDY}")
    return _decoded(file, data)


def rotate(file: SecretFile, now: float) -> Keys:
    """Makes a new signing key and retires the one before; drops those whose tokens have ended."""
    with file.changing():
        data = file.read()
        if data is None:
            return _write(file, [_made()])
        before = _decoded(file, data)
        retired = [Retired(before.signing, int(now) + LONGEST_LIFETIME_S + _MARGIN_S)]
        retired += [each for each in before.retired if now < each.until]
        return _write(file, [_made(), *map(_entry_of, retired)])


def _made() -> _Entry:
    key = OKPKey.generate_key(ALGORITHM, {"alg": ALGORITHM, "use": "sig"}, auto_kid=True)
    return msgspec.convert(key.as_dict(private=True), _Entry)


def _entry_of(retired: Retired) -> _Entry:
    entry = msgspec.convert(retired.key.as_dict(private=False), _Entry)
    entry.retired_at = retired.until - LONGEST_LIFETIME_S - _MARGIN_S
    return entry


def _write(file: SecretFile, entries: list[_Entry]) -> Keys:
    data = msgspec.json.encode(_Set(entries))
    file.write(data)
    return _decoded(file, data)


def _decoded(file: SecretFile, data: bytes) -> Keys:
    try:
        entries = msgspec.json.decode(data, type=_Set).keys
        signing = [_key(entry) for entry in entries if entry.d is not None]
        retired = [
            Retired(_key(entry), entry.retired_at + LONGEST_LIFETIME_S + _MARGIN_S)
            for entry in entries
            if entry.retired_at is not None
        ]
    except (msgspec.DecodeError, JoseError, ValueError):
        # What went wrong may repeat what the file holds.
        raise file.damaged("it is no set of Ed25519 keys", _REMEDY) from None
    if len(signing) != 1 or len(retired) != len(entries) - 1:
        raise file.damaged("exactly one key of it must be there to sign", _REMEDY)
    return Keys(signing[0], tuple(retired))


def _key(entry: _Entry) -> OKPKey:
    members = msgspec.to_builtins(entry)
    members.pop("retired_at", None)
    key = OKPKey.import_key(members)
    public = key.binding.export_public_key(key.public_key)
    if (entry.kty, entry.alg, entry.crv, entry.x) != ("OKP", ALGORITHM, ALGORITHM, public["x"]):
        raise ValueError
    return key
