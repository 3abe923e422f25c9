"""Clients and keys that the servers of a database share: documents in the database."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from comptroller.errors import Error, Unusable, invalid, unavailable, unusable
from comptroller.local import LocalHost
from comptroller.secret_file import SecretFile

_SEAL_SUFFIX = ".seal-key"
_SEAL_BYTES = 32
_HEADER = {"alg": "dir", "enc": "A256GCM"}


class DatabaseDocument:
    """A document in a database, with the methods of a SecretFile.

    Args:
        host: the database, opened as its operator.
        name: the name of the document.
        seal: the file of the key that encrypts the document (RFC 7516); None to store it as it is.
            Every server of the database needs this file.
    """

    def __init__(self, host: LocalHost, name: str, seal: SecretFile | None = None) -> None:
        self.path = f"the {name} in {host.name}"
        self._host = host
        self._name = name
        self._seal = seal
        self._stored: bytes | None = None  # what `read` read

    def read(self) -> bytes | None:
        """Returns the content, or None if it is missing.

        Raises Unusable also if this server does not have the key that encrypted it.
        """
        self._stored = self._fetch()
        if self._stored is None or self._seal is None:
            return self._stored
        key = self._seal.read()
        remedy = "copy this file from the state folder of the server that created the keys"
        if key is None:
            raise unusable(f"{self._seal.path} is missing; {remedy}")
        try:
            return jwe.decrypt_compact(self._stored, OctKey.import_key(key)).plaintext
        except (JoseError, ValueError):
            raise unusable(f"{self._seal.path} did not encrypt {self.path}; {remedy}") from None

    def write(self, data: bytes) -> None:
        """Replaces the content that `read` returned.

        Raises Unavailable if another process has replaced it since.
        """
        stored = data
        if self._seal is not None:
            key = OctKey.import_key(_open_or_make(self._seal))
            stored = jwe.encrypt_compact(_HEADER, data, key).encode()
        host = self._host
        if not host.store.replace_shared_document(host.principal, self._name, self._stored, stored):
            raise unavailable(f"another process changed {self.path} at this moment; try again")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Does nothing, because `write` notices changes by others."""
        yield

    def damaged(self, what: str, remedy: str) -> Unusable:
        """Returns the error of damaged content."""
        return unusable(f"{self.path} cannot be used: {what}; {remedy}")

    def stamp(self) -> object:
        """Returns a value that changes with the content."""
        try:
            return self._fetch()
        except Error as error:
            return error.code

    def _fetch(self) -> bytes | None:
        return self._host.store.shared_document(self._host.principal, self._name)


#: Where clients or keys are: beside a store file, or in a database.
SecretDocument: TypeAlias = SecretFile | DatabaseDocument


def sealed(host: LocalHost, name: str) -> DatabaseDocument:
    """Returns a document that a key in the state folder encrypts.

    Raises InvalidRequest if the database was opened without a state folder.
    """
    if host.secrets_base is None:
        raise invalid("state", "missing; give the folder of the key that encrypts the signing keys")
    return DatabaseDocument(host, name, SecretFile(host.secrets_base, _SEAL_SUFFIX))


def _open_or_make(file: SecretFile) -> bytes:
    with file.changing():
        key = file.read()
        if key is None:
            key = secrets.token_bytes(_SEAL_BYTES)
            file.write(key)
    return key
