"""Files and folders that appear under their name when they are whole."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from comptroller.errors import Unusable, invalid, of_system, unusable

#: Endings of the names of the files beside a store.
_BESIDE_A_STORE = (
    *("-wal", "-shm", "-journal", "-lock", "-commit-lock", "-filling"),
    *(".keys", ".keys-lock", ".clients", ".clients-lock", ".pulled"),
)


@contextmanager
def whole_file(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[Path]:
    """An empty file to write to, which takes the name `path` when it is whole and durable.

    A file that it replaces stays until then and lends its permissions; of a link, the file that
    the link leads to is replaced. Nothing is left behind when the block raises, but when a signal
    kills the process: a program that writes files turns SIGTERM into an exception.

    Args:
        path: the file.
        mode: the permissions of a new file, less the umask.

    Raises:
        Unusable: the file cannot be written.
        Unavailable: the disk is full.
    """
    given = Path(path)
    if given.exists() and not given.is_file():
        raise unusable(f"{path} cannot be written: it is not a file")
    whole = given.resolve()
    part = _part_of(whole)
    try:
        with _refusing(path):
            # An unpredictable name, and no link: nobody else's file can be written to.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(part, flags, 0o600 if whole.exists() else mode))
            yield part
            if whole.exists():
                part.chmod(stat.S_IMODE(whole.stat().st_mode))
            _take_name(part, whole)
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to write files into, which takes the name `path` when it is whole and durable.

    Folders that it is in are made where they are missing. Raises Unusable if it cannot be
    written, or exists already with something in it, and leaves nothing of it behind.
    """
    whole = Path(path).resolve()
    if whole.exists() and not (whole.is_dir() and not any(whole.iterdir())):
        raise _there(path)
    part = _part_of(whole)
    try:
        with _refusing(path):
            part.mkdir(parents=True)
            yield part
            for each in part.rglob("*"):
                _make_durable(each)
            if whole.exists() and any(whole.iterdir()):  # another's, who was faster
                raise _there(path)
            _take_name(part, whole)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def refuse_store(name: str, path: str | os.PathLike[str]) -> None:
    """Raises InvalidRequest naming `name` where `path` is a store or one of the files beside it."""
    whole = Path(path).resolve()
    stores = [whole]
    stores += [
        whole.with_name(whole.name.removesuffix(end))
        for end in _BESIDE_A_STORE
        if whole.name.endswith(end) and whole.name != end
    ]
    for store in stores:
        if store.is_file() and _is_database(store):
            raise invalid(name, f"{path} belongs to the store {store}; name another file")


# SQLite takes a file of one byte for an empty database.
_SQLITE_HEADER_SIZE = 100


def _is_database(path: Path) -> bool:
    # Through SQLite: reading and closing the file would drop the locks that SQLite holds on it in
    # this process, and another program could then remove the log of an open store.
    import sqlite3

    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        if path.stat().st_size < _SQLITE_HEADER_SIZE:
            return False
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.execute("PRAGMA application_id")
    except OSError:
        return False
    except sqlite3.Error as error:
        return error.sqlite_errorcode != sqlite3.SQLITE_NOTADB
    return True


def _part_of(whole: Path) -> Path:
    return whole.with_name(f"{whole.name}.{secrets.token_hex(8)}.part")


def _there(path: str | os.PathLike[str]) -> Unusable:
    return unusable(f"{path} cannot be written: it exists already; name another folder")


def _take_name(part: Path, whole: Path) -> None:
    _make_durable(part)
    part.replace(whole)
    _make_durable(whole.parent)


@contextmanager
def _refusing(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise of_system(error, f"{path} cannot be written: {error.strerror or error}") from error


def _make_durable(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
