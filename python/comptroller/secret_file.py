"""Private files of secrets beside a store, which several processes may change."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from comptroller.bulk.files import give_owner, refuse_open_store, whole_file
from comptroller.errors import Unusable, from_os_error, unusable

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SecretFile:
    """A file beside a store, with the name of the store and a suffix.

    A method that fails raises Unusable, which names the file, or Unavailable if the cause is
    temporary.
    """

    def __init__(self, store: str | os.PathLike[str], suffix: str) -> None:
        # Resolved, so that links to the store have the same secret file.
        self._store = Path(store).resolve()
        self.path = self._store.with_name(self._store.name + suffix)

    def read(self) -> bytes | None:
        """Returns the content, or None if the file is missing.

        Raises Unusable also if other users may read or change the file.
        """
        refuse_open_store("store", self.path)
        try:
            # O_NONBLOCK, because opening a pipe would block.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                mode = os.fstat(descriptor).st_mode
                if not stat.S_ISREG(mode):
                    raise unusable(f"{self.path} is not a file; move it away")
                if mode & _OTHERS:
                    raise unusable(
                        f"{self.path} holds secrets, but other users may read or change it; run "
                        f"`chmod 600 {self.path}`, and rotate the secrets they may have read"
                    )
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise from_os_error(error, f"{self.path} cannot be read: {error.strerror}") from error

    def write(self, data: bytes) -> None:
        """Replaces the content atomically and durably."""
        with whole_file(self.path, 0o600, store=self._store) as part:
            part.write_bytes(data)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Locks the file against changes by other processes and threads."""
        lock = self.path.with_name(self.path.name + "-lock")
        refuse_open_store("store", lock)
        try:
            descriptor = self._open(lock)
        except OSError as error:
            raise from_os_error(error, f"{lock} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _open(self, lock: Path) -> int:
        """Opens a lock file; creates a missing one, for the user of the store."""
        how = os.O_RDONLY | os.O_CLOEXEC  # flock needs no permission to write
        try:
            return os.open(lock, how)
        except FileNotFoundError:
            with suppress(FileExistsError):  # made by another process
                os.close(os.open(lock, how | os.O_CREAT | os.O_EXCL, 0o600))
                give_owner(lock, self._store)
            return os.open(lock, how)

    def damaged(self, what: str, remedy: str) -> Unusable:
        """Returns the error of a damaged file."""
        return unusable(f"{self.path} is damaged: {what}; {remedy}")

    def stamp(self) -> object:
        """Returns a value that changes when the file is changed, created or removed."""
        try:
            status = self.path.stat()
        except OSError as error:
            return error.errno
        return status.st_ino, status.st_mtime_ns, status.st_ctime_ns
