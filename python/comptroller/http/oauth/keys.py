"""The signing keys of tokens: a JWK set (RFC 7517) in the file ``FILE.keys`` beside a store.

Keys are never stored in a store file; those of a database are in it, encrypted. One key signs.
Older keys are kept without their private part until the tokens that they signed have expired.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from comptroller.decoding import NOT_JSON
from comptroller.errors import Unavailable, unusable
from comptroller.http.oauth.stored_documents import DatabaseDocument, SecretDocument, sealed
from comptroller.local import LocalHost
from comptroller.secret_file import SecretFile

ALGORITHM: Final = "Ed25519"
SUFFIX = ".keys"
#: The lifetime of a token in seconds.
LONGEST_LIFETIME_S = 3600
#: A margin for servers that still sign with the old key for a second, and for differing clocks.
_MARGIN_S = 60
_REMEDY = (
    "restore a backup of it, or remove it: the server then creates a new key, and tokens of the "
    "old key become invalid"
)


class Retired(NamedTuple):
    """A key that no longer signs, and the time, in seconds, when its last token expires."""

    key: OKPKey
    until: int


class Keys(NamedTuple):
    """The signing key and the retired keys."""

    signing: OKPKey
    retired: tuple[Retired, ...]

    def valid(self, now: float) -> list[OKPKey]:
        """Returns the keys that may verify tokens, the signing key first."""
        return [self.signing, *(each.key for each in self.retired if now < each.until)]

    def find(self, kid: str, now: float) -> OKPKey | None:
        """Returns the valid key with this id."""
        return next((key for key in self.valid(now) if key.kid == kid), None)

    def public_jwks(self, now: float) -> bytes:
        """Returns the public JWK set that verifies tokens."""
        return msgspec.json.encode(
            {"keys": [key.as_dict(private=False) for key in self.valid(now)]}
        )


class _Entry(msgspec.Struct, omit_defaults=True):
    """A key in the file."""

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
    """Returns the key file of a store."""
    return SecretFile(store, SUFFIX)


def shared_of(host: LocalHost) -> DatabaseDocument:
    """Returns the keys of a database."""
    return sealed(host, "keys")


def open_or_make(file: SecretDocument) -> Keys:
    """Reads the keys; creates a missing file with a new key.

    Raises Unusable if other users may read the file, or it is damaged.
    """
    data = file.read()
    if data is None:
        with file.changing():
            data = file.read()
            if data is None:
                try:
                    return _write(file, [_new_key()])
                except Unavailable:  # another server made the keys of the database
                    data = file.read()
                    if data is None:
                        raise
    return _decode(file, data)


def read(file: SecretDocument) -> Keys:
    """Reads the keys. Raises Unusable as `open_or_make` does, and if the file is missing."""
    data = file.read()
    if data is None:
        raise unusable(f"{file.path} is missing; {_REMEDY}")
    return _decode(file, data)


def rotate(file: SecretDocument, now: float) -> Keys:
    """Creates a signing key, retires the old one, and deletes keys whose tokens have expired."""
    with file.changing():
        data = file.read()
        if data is None:
            return _write(file, [_new_key()])
        before = _decode(file, data)
        retired = [Retired(before.signing, int(now) + LONGEST_LIFETIME_S + _MARGIN_S)]
        retired += [each for each in before.retired if now < each.until]
        return _write(file, [_new_key(), *map(_entry_of, retired)])


def _new_key() -> _Entry:
    key = OKPKey.generate_key(ALGORITHM, {"alg": ALGORITHM, "use": "sig"}, auto_kid=True)
    return msgspec.convert(key.as_dict(private=True), _Entry)


def _entry_of(retired: Retired) -> _Entry:
    entry = msgspec.convert(retired.key.as_dict(private=False), _Entry)
    entry.retired_at = retired.until - LONGEST_LIFETIME_S - _MARGIN_S
    return entry


def _write(file: SecretDocument, entries: list[_Entry]) -> Keys:
    data = msgspec.json.encode(_Set(entries))
    file.write(data)
    return _decode(file, data)


def _decode(file: SecretDocument, data: bytes) -> Keys:
    try:
        entries = msgspec.json.decode(data, type=_Set).keys
        signing = [_key(entry) for entry in entries if entry.d is not None]
        retired = [
            Retired(_key(entry), entry.retired_at + LONGEST_LIFETIME_S + _MARGIN_S)
            for entry in entries
            if entry.retired_at is not None
        ]
    except (*NOT_JSON, JoseError, ValueError):
        # Without the cause, whose message may quote the keys.
        raise file.damaged("it is not a set of Ed25519 keys", _REMEDY) from None
    if len(signing) != 1 or len(retired) != len(entries) - 1:
        raise file.damaged("it must have exactly one signing key", _REMEDY)
    return Keys(signing[0], tuple(retired))


def _key(entry: _Entry) -> OKPKey:
    members = msgspec.to_builtins(entry)
    members.pop("retired_at", None)
    key = OKPKey.import_key(members)
    public = key.binding.export_public_key(key.public_key)
    if (entry.kty, entry.alg, entry.crv, entry.x) != ("OKP", ALGORITHM, ALGORITHM, public["x"]):
        raise ValueError
    return key
