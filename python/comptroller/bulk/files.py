"""Atomic writing of files and folders, and protection of the files of a store."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from comptroller._core import open_store_of
from comptroller.errors import Unusable, from_os_error, invalid, unusable

#: The suffixes of the files beside a store.
_STORE_SUFFIXES = (
    *("-wal", "-shm", "-journal", "-lock", "-opening-lock", "-filling"),
    *(".keys", ".keys-lock", ".clients", ".clients-lock", ".pulled"),
    *(".journal-key", ".journal-key-lock", ".webhook-key", ".webhook-key-lock"),
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
def whole_file(
    path: str | os.PathLike[str], mode: int = 0o666, *, store: Path | None = None
) -> Iterator[Path]:
    """Yields an empty temporary file, and renames it to `path` after the block, durably.

    An existing file is replaced, and its permissions and owner are kept; for a symbolic link, the
    target is replaced. If the block raises, the temporary file is removed. A signal that kills the
    process leaves it behind, so a program that writes files should turn SIGTERM into an exception.

    Args:
        path: the file.
        mode: the permissions of a new file, before the umask is applied.
        store: the store that the file belongs to; a new file gets its owner.

    Raises:
        InvalidRequest: the file belongs to an open store.
        Unusable: the file cannot be written.
        Unavailable: the disk is full.
    """
    refuse_open_store("path", path)
    with _refusing(path):
        whole = Path(path).resolve()
        is_other = whole.exists() and not whole.is_file()
    if is_other:
        raise unusable(f"{path} cannot be written: it is not a file")
    part = _part_of(whole)
    try:
        with _refusing(path):
            # The random name, O_EXCL and O_NOFOLLOW prevent writing to a file of another user.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(part, flags, 0o600 if whole.exists() else mode))
            yield part
            if whole.exists():
                give_owner(part, whole)
                part.chmod(stat.S_IMODE(whole.stat().st_mode))
            elif store is not None:
                give_owner(part, store)
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
    with _refusing(path):
        whole = Path(path).resolve()
        is_other = whole.exists() and not (whole.is_dir() and not any(whole.iterdir()))
    if is_other:
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


def give_owner(target: Path, model: Path) -> None:
    """Gives a file the owner of another one, or else of its folder, if this process may.

    Only root may: so a command of root leaves no file that the user of a store cannot open. The
    files of a state folder belong to no store file.
    """
    with suppress(OSError):
        status = (model if model.exists() else model.parent).stat()
        # Another user may have replaced the target by a link.
        os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)


def refuse_open_store(name: str, path: str | os.PathLike[str]) -> None:
    """Raises InvalidRequest for argument `name` if `path` leads to a file of an open store.

    Call it before a file is opened whose path a caller gave. Closing a file of a store that is
    open in this process would drop SQLite's locks, and another program could then remove the
    store's log, with the last writes.
    """
    store = open_store_of(os.fsencode(path))
    if store is not None:
        raise invalid(name, f"{path} is a file of the open store {store}; name another file")


def refuse_existing(path: str | os.PathLike[str]) -> None:
    """Raises Unusable if there is a file that must not be replaced."""
    with _refusing(path):
        exists = Path(path).exists() or Path(path).is_symlink()
    if exists:
        raise unusable(f"{path} cannot be written: it exists already; name another file")


def refuse_store(name: str, path: str | os.PathLike[str]) -> None:
    """Raises InvalidRequest for argument `name` if `path` is a store or a file beside one."""
    refuse_beside_store(name, path)
    with _refusing(path):
        _refuse_file_of(Path(path).resolve(), name, path)


def refuse_beside_store(name: str, path: str | os.PathLike[str]) -> None:
    """Raises InvalidRequest for argument `name` if `path` is of an open store, or beside one.

    The next program that opens the store could remove such a file, or read it as its own.
    """
    refuse_open_store(name, path)
    with _refusing(path):
        whole = Path(path).resolve()
    for end in _STORE_SUFFIXES:
        if whole.name.endswith(end) and whole.name != end:
            _refuse_file_of(whole.with_name(whole.name.removesuffix(end)), name, path)


def _refuse_file_of(store: Path, name: str, path: str | os.PathLike[str]) -> None:
    if store.is_file() and _is_database(store):
        raise invalid(name, f"{path} belongs to the store {store}; name another file")


# SQLite would open a smaller file as an empty database.
_SQLITE_HEADER_SIZE = 100


def _is_database(path: Path) -> bool:
    # Opened by SQLite, like a store that another thread opens meanwhile; see refuse_open_store.
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
    """Renames a complete file or folder, durably.

    After a failure `whole` is as it was before. Only if the file system has no hard links, an
    existing file stays replaced.
    """
    _make_durable(part)
    second_name = _part_of(whole)  # of an existing file, until the end
    was_there, was_folder = whole.exists(), whole.is_dir()
    if was_there and not was_folder:
        with suppress(OSError):
            second_name.hardlink_to(whole)
    part.replace(whole)
    try:
        _make_durable(whole.parent)
    except OSError:
        if second_name.exists():
            second_name.replace(whole)
        elif was_folder or not was_there:
            whole.replace(part)
            if was_folder:
                whole.mkdir()
        raise
    finally:
        second_name.unlink(missing_ok=True)


@contextmanager
def _refusing(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise from_os_error(
            error, f"{path} cannot be written: {error.strerror or error}"
        ) from error
    except RuntimeError as error:  # of Path.resolve
        raise unusable(f"{path} cannot be written: a loop of symbolic links") from error


def _make_durable(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:  # of a folder that the user may write but not read
        return os.sync()
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
