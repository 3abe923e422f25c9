"""The keys for checkpoints and webhooks, which all programs of a database must share.

They are in the state folder of each program. The database has the public key of checkpoints and a
fingerprint of the key of webhooks, with which a program compares its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from comptroller import _core
from comptroller._core import Principal, Store
from comptroller.errors import unsupported, unusable
from comptroller.journal.keys import open_or_make, stored_key
from comptroller.journal.records import Checkpoint

if TYPE_CHECKING:
    from comptroller.local import LocalHost

_NAME = "journal key"
# Whether a folder is the right one does not depend on the scopes of the caller.
_OPERATOR = Principal()


def are_shared(host: LocalHost) -> bool:
    """Whether the database has registered both keys, and they are those of the state folder.

    Registers nothing, and makes no key.

    Raises:
        Unusable: the state folder has another key than the registered one, or lacks it.
    """
    base = host.secrets_base
    if base is None:
        return False
    registered = host.store.shared_document(_OPERATOR, _NAME)
    own = stored_key(base)
    if registered is not None and not _is_own(registered, own):
        what = "has another key for checkpoints of the journal than" if own else "lacks the key of"
        raise unusable(
            f"{Path(base).parent}: the state folder {what} the other programs of this database; "
            "copy the state folder of one of them"
        )
    return _core.is_webhook_key_shared(host.store, _OPERATOR) and registered is not None


def share_keys(host: LocalHost) -> None:
    """Makes the keys of the state folder those of the database, unless it has some.

    Only reads if the database has them already. Does nothing for a file, or without a state folder.

    Raises:
        Unusable: the database has other keys; nothing is then registered.
    """
    base = host.secrets_base
    if not host.is_database or base is None or are_shared(host):
        return
    _core.share_webhook_key(host.store, _OPERATOR)
    mine = _core.verifier_key(*open_or_make(base)).encode()
    host.store.replace_shared_document(_OPERATOR, _NAME, None, mine)  # unless another program did
    are_shared(host)


def sign_checkpoint(host: LocalHost, principal: Principal) -> Checkpoint:
    """Returns a checkpoint of the journal of a store, if the principal may have one."""
    key = signing_key(host)
    note: bytes = _core.sign_checkpoint(host.store, principal, *key)
    return Checkpoint(note.decode(), _core.verifier_key(*key))


def signing_key(host: LocalHost) -> tuple[str, bytes]:
    """Returns the name and the seed of the key for checkpoints.

    Makes a missing key. That of a database is also registered, unless the service is read-only.

    Raises:
        Unsupported: there is no place for the key.
        Unusable: the database has another key; or it has none, and the service is read-only.
    """
    base = host.secrets_base
    if base is None:
        raise unsupported(
            "a store in memory has no key for checkpoints, and a database has one only in its state"
            " folder; open it with state=FOLDER (--state FOLDER)"
        )
    if not host.is_database:
        return open_or_make(base)
    if not host.is_read_only:
        share_keys(host)
    elif not are_shared(host) and stored_key(base) is None:
        raise unusable(
            "the database has no key for checkpoints yet, and this service is read-only; make the "
            "first checkpoint with one that may write, or start a server"
        )
    return open_or_make(base)


def optional_key(store: Store, base: str) -> tuple[str, bytes] | None:
    """Returns the key for checkpoints; None if there is none, or another one is registered."""
    key = stored_key(base)
    if key is None:
        return None
    registered = store.shared_document(_OPERATOR, _NAME)
    return key if registered is None or _is_own(registered, key) else None


def _is_own(registered: bytes, key: tuple[str, bytes] | None) -> bool:
    return key is not None and _core.verifier_key(*key).encode() == registered
