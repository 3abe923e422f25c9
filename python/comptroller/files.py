"""Files and folders that appear under their name when they are whole."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from comptroller.errors import Unavailable, invalid, unavailable

_STORE_BEGINS = b"SQLite format 3\0"
#: What the name of a store is followed by in the names of the files beside it.
_BESIDE_A_STORE = (
    *("-wal", "-shm", "-journal", "-lock", "-commit-lock"),
    *(".keys", ".keys-lock", ".clients", ".clients-lock", ".pulled"),
)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write a file to, which takes the name `path` when it is whole and durable.

    What stood there stays until then and lends its permissions; of a link it is what the link
    leads to. Raises Unavailable where that cannot be written, and leaves nothing behind.
    """
    given = Path(path)
    if given.exists() and not given.is_file():
        raise unavailable(f"{path} cannot be written: it is no file")
    whole = given.resolve()
    part = _part_of(whole)
    try:
        with _refusing(path):
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

    Folders that it is in are made where they are missing. Raises Unavailable where it cannot be
    written, or is there already with something in it, and leaves nothing of it behind.
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
        if store.is_file() and _begins_like_a_store(store):
            raise invalid(name, f"{path} belongs to the store {store}; name another file")


def _begins_like_a_store(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_STORE_BEGINS)) == _STORE_BEGINS
    except OSError:
        return False


def _part_of(whole: Path) -> Path:
    # A name of its own, so that two who write the same do not write into each other's.
    return whole.with_name(f"{whole.name}.{secrets.token_hex(4)}.part")


def _there(path: str | os.PathLike[str]) -> Unavailable:
    return unavailable(f"{path} cannot be written: it is there already; name another folder")


def _take_name(part: Path, whole: Path) -> None:
    _make_durable(part)
    part.replace(whole)
    _make_durable(whole.parent)


@contextmanager
def _refusing(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unavailable(f"{path} cannot be written: {error.strerror or error}") from error


def _make_durable(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
