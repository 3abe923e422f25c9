"""The registered clients, in the file ``FILE.clients`` beside a store, or in a database.

The file has the scrypt hash (RFC 7914) of each secret. Revoked clients stay in the file.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from comptroller._core import Principal
from comptroller.decoding import NOT_JSON
from comptroller.errors import Error, error_for, invalid, shorten
from comptroller.http.oauth.stored_documents import DatabaseDocument, SecretDocument
from comptroller.local import LocalHost
from comptroller.secret_file import SecretFile

SUFFIX = ".clients"
_LONGEST_NAME = 128
_LONGEST_SLUG = 40
_SECRET_BYTES = 32
_SALT_BYTES = 16
_DIGEST_BYTES = 32
_COST = {"n": 2**14, "r": 8, "p": 1}
_HIGHEST_N = 2**20
_REMEDY = "restore a backup of it, or remove it and add the clients again"


class SecretHash(msgspec.Struct, frozen=True):
    """The scrypt hash of a secret, with its parameters. Hashing takes tens of ms and 16 MiB."""

    n: int
    r: int
    p: int
    salt: bytes
    digest: bytes

    def __post_init__(self) -> None:
        # Checked here, so that a damaged file is detected when it is read.
        is_power = self.n > 1 and self.n & (self.n - 1) == 0
        if not (is_power and 1 <= self.r <= 64 and 1 <= self.p <= 64 and self.n <= _HIGHEST_N):
            raise ValueError("invalid scrypt parameters")

    @classmethod
    def of(cls, secret: str) -> SecretHash:
        """Hashes a secret with a new salt."""
        salt = secrets.token_bytes(_SALT_BYTES)
        return cls(**_COST, salt=salt, digest=_scrypt(secret, salt, **_COST))

    @classmethod
    def unmatchable(cls) -> SecretHash:
        """Returns a hash that no secret matches, to reject unknown clients in the same time."""
        digest = secrets.token_bytes(_DIGEST_BYTES)
        return cls(**_COST, salt=secrets.token_bytes(_SALT_BYTES), digest=digest)

    def matches(self, secret: str) -> bool:
        """Whether this is the hash of a secret; takes the same time for any secret."""
        digest = _scrypt(secret, self.salt, self.n, self.r, self.p)
        return hmac.compare_digest(digest, self.digest)

    def __repr__(self) -> str:
        return "<SecretHash>"


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A program that acts for one customer; or for the operator, if `customer` is None.

    Attributes:
        scopes: the granted scopes; None for all scopes of a client or of the operator.
    """

    client_id: str
    name: str
    customer: str | None
    scopes: list[str] | None
    secret: SecretHash
    created_at: datetime
    revoked_at: datetime | None = None

    def granted_scopes(self) -> list[str]:
        """Returns the granted scopes."""
        return Principal(self.customer, self.client_id, self.scopes).scopes


Clients = Mapping[str, Client]


def file_of(store: str) -> SecretFile:
    """Returns the client file of a store."""
    return SecretFile(store, SUFFIX)


def shared_of(host: LocalHost) -> DatabaseDocument:
    """Returns the document of the clients in a database."""
    return DatabaseDocument(host, "clients")


def read(file: SecretDocument) -> dict[str, Client]:
    """Reads the clients by id, including revoked ones; a missing file has none.

    Raises Unusable if other users may read the file, or it is damaged.
    """
    data = file.read()
    if data is None:
        return {}
    try:
        clients = msgspec.json.decode(data, type=list[Client])
    except NOT_JSON:
        raise file.damaged("it is not a list of clients", _REMEDY) from None
    for client in clients:
        try:
            client.granted_scopes()
        except Error as error:
            raise file.damaged(f"client {client.client_id}: {error.detail}", _REMEDY) from error
    return {client.client_id: client for client in clients}


def add(
    file: SecretDocument, name: str, customer: str | None, scopes: Iterable[str] | None
) -> tuple[Client, str]:
    """Registers a client; returns it and its secret, which is not stored.

    Raises InvalidRequest for an invalid name, customer or scope; also if an active client has the
    name, with its id as `existing`.
    """
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise invalid("name", f"must be 1 to {_LONGEST_NAME} printable characters")
    slug = re.sub("[^a-z0-9]+", "-", name.lower())[:_LONGEST_SLUG].strip("-") or "client"
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    client = Client(
        client_id=f"{slug}-{secrets.token_hex(8)}",
        name=name,
        customer=customer,
        scopes=None if scopes is None else list(dict.fromkeys(scopes)),
        secret=SecretHash.of(secret),
        created_at=datetime.now(UTC),
    )
    client.granted_scopes()
    with file.changing():
        clients = read(file)
        for other in clients.values():
            if other.name == name and other.revoked_at is None:
                why = f"client {other.client_id} has this name; choose another name"
                errors = [("name", why)]
                raise error_for("invalid-request", 400, f"name: {why}", errors, other.client_id)
        _write(file, {**clients, client.client_id: client})
    return client, secret


def rotate(file: SecretDocument, client_id: str) -> tuple[Client, str]:
    """Gives a client a new secret; tokens issued before stay valid until they expire.

    Raises NotFound for an unknown client, InvalidRequest for a revoked one.
    """
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    secret_hash = SecretHash.of(secret)
    with file.changing():
        clients = read(file)
        client = _find(clients, client_id)
        if client.revoked_at is not None:
            raise invalid("client_id", f"{client_id} is revoked; add a new client")
        client = msgspec.structs.replace(client, secret=secret_hash)
        _write(file, {**clients, client_id: client})
    return client, secret


def revoke(file: SecretDocument, client_id: str) -> Client:
    """Revokes a client and its tokens, once. Raises NotFound for an unknown client."""
    with file.changing():
        clients = read(file)
        client = _find(clients, client_id)
        if client.revoked_at is None:
            client = msgspec.structs.replace(client, revoked_at=datetime.now(UTC))
            _write(file, {**clients, client_id: client})
    return client


def _find(clients: Clients, client_id: str) -> Client:
    client = clients.get(client_id)
    if client is None:
        named = [each.client_id for each in clients.values() if each.name == client_id]
        hint = f"; clients with this name: {', '.join(named)}" if named else ""
        raise error_for("not-found", 404, f"there is no client_id {shorten(client_id)}{hint}")
    return client


def _write(file: SecretDocument, clients: Clients) -> None:
    file.write(msgspec.json.format(msgspec.json.encode(list(clients.values()))))


def _scrypt(secret: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    # The memory of RFC 7914 section 2, and a margin for OpenSSL.
    most = 256 * n * r * p + (1 << 20)
    return hashlib.scrypt(
        secret.encode(), salt=salt, n=n, r=r, p=p, maxmem=most, dklen=_DIGEST_BYTES
    )
