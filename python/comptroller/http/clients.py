"""The programs that may ask for tokens: ``FILE.clients`` beside a store.

Of a secret it holds what scrypt (RFC 7914) makes of it. A client that was revoked stays listed.
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
from comptroller.errors import Error, invalid, make, shorten
from comptroller.http.secret_file import SecretFile

ENDING = ".clients"
_LONGEST_NAME = 128
_LONGEST_SLUG = 40
_SECRET_BYTES = 32
_SALT_BYTES = 16
_DIGEST_BYTES = 32
_COST = {"n": 2**14, "r": 8, "p": 1}
_HIGHEST_N = 2**20
_REMEDY = "put it back from a copy, or remove it and add the clients again"


class SecretHash(msgspec.Struct, frozen=True):
    """What scrypt made of a secret, with its parameters. Takes tens of milliseconds and 16 MiB."""

    n: int
    r: int
    p: int
    salt: bytes
    digest: bytes

    def __post_init__(self) -> None:
        # Else a damaged file would be noticed at the first request, or never.
        is_power = self.n > 1 and self.n & (self.n - 1) == 0
        if not (is_power and 1 <= self.r <= 64 and 1 <= self.p <= 64 and self.n <= _HIGHEST_N):
            raise ValueError("no parameters of scrypt")

    @classmethod
    def of(cls, secret: str) -> SecretHash:
        """Of a secret, with a salt of its own."""
        salt = secrets.token_bytes(_SALT_BYTES)
        return cls(**_COST, salt=salt, digest=_scrypt(secret, salt, **_COST))

    @classmethod
    def of_nobody(cls) -> SecretHash:
        """One that no secret matches, for refusing unknown clients in the same time."""
        digest = secrets.token_bytes(_DIGEST_BYTES)
        return cls(**_COST, salt=secrets.token_bytes(_SALT_BYTES), digest=digest)

    def matches(self, secret: str) -> bool:
        """Whether it was made of this secret; as long for one as for another."""
        made = _scrypt(secret, self.salt, self.n, self.r, self.p)
        return hmac.compare_digest(made, self.digest)

    def __repr__(self) -> str:
        return "<SecretHash>"


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A program that acts for one customer, or, where `customer` is None, for the operator.

    Attributes:
        scopes: what it may ask for; all of its kind where None.
    """

    client_id: str
    name: str
    customer: str | None
    scopes: list[str] | None
    secret: SecretHash
    created_at: datetime
    revoked_at: datetime | None = None

    def allowed(self) -> list[str]:
        """The scopes that it may ask for, each."""
        return Principal(self.customer, self.client_id, self.scopes).scopes


Clients = Mapping[str, Client]


def file_of(store: str) -> SecretFile:
    """The file of a store's clients."""
    return SecretFile(store, ENDING)


def read(file: SecretFile) -> dict[str, Client]:
    """The clients by their id, revoked ones too; none where there is no file.

    Raises Unusable if others may read the file, or it is damaged.
    """
    data = file.read()
    if data is None:
        return {}
    try:
        clients = msgspec.json.decode(data, type=list[Client])
    except msgspec.DecodeError:
        raise file.damaged("it is no list of clients", _REMEDY) from None
    for client in clients:
        try:
            client.allowed()
        except Error as error:
            raise file.damaged(f"client {client.client_id}: {error.detail}", _REMEDY) from error
    return {client.client_id: client for client in clients}


def add(
    file: SecretFile, name: str, customer: str | None, scopes: Iterable[str] | None
) -> tuple[Client, str]:
    """Registers a client; gives it and its secret, which is kept nowhere.

    Raises InvalidRequest for a name, customer or scope that cannot be.
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
    client.allowed()
    with file.changing():
        _write(file, {**read(file), client.client_id: client})
    return client, secret


def rotate(file: SecretFile, client_id: str) -> tuple[Client, str]:
    """Gives a client a new secret; the one before stops, tokens it got live on until they end.

    Raises NotFound for an unknown client, InvalidRequest for a revoked one.
    """
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    made = SecretHash.of(secret)
    with file.changing():
        clients = read(file)
        client = _find(clients, client_id)
        if client.revoked_at is not None:
            raise invalid("client_id", f"{client_id} is revoked; add a new client")
        client = msgspec.structs.replace(client, secret=made)
        _write(file, {**clients, client_id: client})
    return client, secret


def revoke(file: SecretFile, client_id: str) -> Client:
    """Ends a client and its tokens; again changes nothing. Raises NotFound for an unknown one."""
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
        hint = f"; of that name there is {', '.join(named)}" if named else ""
        raise make("not-found", 404, f"there is no client_id {shorten(client_id)}{hint}")
    return client


def _write(file: SecretFile, clients: Clients) -> None:
    file.write(msgspec.json.format(msgspec.json.encode(list(clients.values()))))


def _scrypt(secret: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    # Room for what RFC 7914 section 2 needs, and OpenSSL's own.
    most = 256 * n * r * p + (1 << 20)
    return hashlib.scrypt(
        secret.encode(), salt=salt, n=n, r=r, p=p, maxmem=most, dklen=_DIGEST_BYTES
    )
