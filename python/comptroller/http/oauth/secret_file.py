"""Private files of secrets beside a store, which several processes may change."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

from comptroller.bulk.files import give_owner, refuse_open_store, whole_file
from comptroller.errors import Error, Unusable, from_os_error, unavailable, unusable
from comptroller.http.background import Background

_Content = TypeVar("_Content")

_CHECK_EVERY_S = 0.5
_CHECK_WITHIN_S = 1.0
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_log = logging.getLogger(__name__)


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


class Watched(Generic[_Content]):
    """The decoded content of a file, read again after each change.

    A thread checks the file. If a check takes longer than a second, the previous content is used
    until it ends.

    Args:
        file: the file.
        read: reads and decodes the file. The constructor raises its errors; later errors are only
            logged, because callers may be unauthenticated.
        clock: returns seconds that never go back.
    """

    def __init__(
        self, file: SecretFile, read: Callable[[SecretFile], _Content], clock: Callable[[], float]
    ) -> None:
        self._file = file
        self._read = read
        self._clock = clock
        self._checking = Background(self._check, _CHECK_WITHIN_S)
        self._checked_at = clock()
        self._stamp: object = file.stamp()
        self._content: _Content | None = read(file)

    async def current(self) -> _Content:
        """Returns the content of the last half second.

        Raises Unavailable, without the name of the file, if the file cannot be used.
        """
        if self._clock() - self._checked_at >= _CHECK_EVERY_S:
            return await self.fresh()
        return self._usable()

    async def fresh(self) -> _Content:
        """Checks the file and returns its content; raises as `current` does."""
        self._checking.start()
        await self._checking.wait()
        return self._usable()

    def reload(self) -> None:
        """Starts to read the file again, even if it seems unchanged."""
        self._stamp = None
        self._checking.start()

    def _usable(self) -> _Content:
        if self._content is None:
            raise unavailable("credentials cannot be checked now; see the log of the server")
        return self._content

    def _check(self) -> None:
        checked_at = self._clock()
        stamp = self._file.stamp()
        if stamp != self._stamp or self._content is None:
            self._stamp = stamp
            try:
                self._content = self._read(self._file)
            except Error as error:
                self._content = None
                _log.error("%s", error.detail)
        self._checked_at = checked_at
