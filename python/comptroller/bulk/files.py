"""Atomic writing of files and folders, and protection of the files of a store."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from comptroller.errors import Unusable, invalid, of_system, unusable

#: The suffixes of the files beside a store.
_STORE_SUFFIXES = (
    *("-wal", "-shm", "-journal", "-lock", "-commit-lock", "-filling"),
    *(".keys", ".keys-lock", ".clients", ".clients-lock", ".pulled"),
)

_FORMAT_SUFFIXES = {
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "ndjson",
    ".csv": "csv",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}


def export_format(path: str | os.PathLike[str], *, is_partitioned: bool) -> str:
    """Returns the default format of an export: by the suffix of `path`, else NDJSON or Parquet.

    Raises InvalidRequest for an unknown suffix of a file.
    """
    suffix = Path(path).suffix.lower()
    if is_partitioned:
        return _FORMAT_SUFFIXES.get(suffix, "parquet")
    if suffix and suffix not in _FORMAT_SUFFIXES:
        known = ", ".join(_FORMAT_SUFFIXES)
        raise invalid("path", f"{path} names no format; end it in one of {known}, or give format")
    return _FORMAT_SUFFIXES.get(suffix, "ndjson")


@contextmanager
def whole_file(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[Path]:
    """Yields an empty temporary file, and renames it to `path` after the block, durably.

    An existing file is replaced and its permissions are kept; for a symbolic link, the target is
    replaced. If the block raises, the temporary file is removed. A signal that kills the process
    leaves it behind, so a program that writes files should turn SIGTERM into an exception.

    Args:
        path: the file.
        mode: the permissions of a new file, before the umask is applied.

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
            # The random name, O_EXCL and O_NOFOLLOW prevent writing to a file of another user.
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
    """Yields a temporary folder, and renames it to `path` after the block, durably.

    Missing parent folders are created. If the block raises, the temporary folder is removed.

    Raises:
        Unusable: the folder cannot be written, or exists and is not empty.
    """
    whole = Path(path).resolve()
    if whole.exists() and not (whole.is_dir() and not any(whole.iterdir())):
        raise _already_exists(path)
    part = _part_of(whole)
    try:
        with _refusing(path):
            part.mkdir(parents=True)
            yield part
            for each in part.rglob("*"):
                _make_durable(each)
            if whole.exists() and any(whole.iterdir()):  # another process created it meanwhile
                raise _already_exists(path)
            _take_name(part, whole)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def refuse_store(name: str, path: str | os.PathLike[str]) -> None:
    """Raises InvalidRequest for argument `name` if `path` is a store or a file beside one."""
    whole = Path(path).resolve()
    stores = [whole]
    stores += [
        whole.with_name(whole.name.removesuffix(end))
        for end in _STORE_SUFFIXES
        if whole.name.endswith(end) and whole.name != end
    ]
    for store in stores:
        if store.is_file() and _is_database(store):
            raise invalid(name, f"{path} belongs to the store {store}; name another file")


# SQLite would open a smaller file as an empty database.
_SQLITE_HEADER_SIZE = 100


def _is_database(path: Path) -> bool:
    # Opening and closing the file directly would release the POSIX locks that SQLite holds on it in
    # this process; another program could then remove the write-ahead log of an open store.
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


def _already_exists(path: str | os.PathLike[str]) -> Unusable:
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
