"""Small files of secrets beside a store: their owner's alone, and changed by several processes."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from comptroller.bulk.files import whole_file
from comptroller.errors import Error, Unusable, of_system, unavailable, unusable
from comptroller.http.background import Background

_Kept = TypeVar("_Kept")

_LOOK_EVERY_S = 0.5
_LOOK_WITHIN_S = 1.0
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_log = logging.getLogger(__name__)


class SecretFile:
    """The file of a store that is named like it, with an ending of its own.

    Every method raises Unusable, naming the file, if it cannot do what it says; Unavailable if the
    cause may pass.
    """

    def __init__(self, store: str | os.PathLike[str], ending: str) -> None:
        # The same file by whatever link the store is reached.
        whole = Path(store).resolve()
        self.path = whole.with_name(whole.name + ending)

    def read(self) -> bytes | None:
        """What it holds, or None where it is missing. Refuses it where others may read it."""
        try:
            # Opened without waiting, should it be a pipe.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                mode = os.fstat(descriptor).st_mode
                if not stat.S_ISREG(mode):
                    raise unusable(f"{self.path} is not a file; move it away")
                if mode & _OTHERS:
                    raise unusable(
                        f"{self.path} holds secrets, and others than its owner may read or change "
                        f"it; run `chmod 600 {self.path}`, and rotate what they may have read"
                    )
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise of_system(error, f"{self.path} cannot be read: {error.strerror}") from error

    def write(self, data: bytes) -> None:
        """Puts this in its place, durably; readers meanwhile see the old or the new."""
        with whole_file(self.path, 0o600) as part:
            part.write_bytes(data)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Keeps every other process and thread from changing it meanwhile."""
        lock = self.path.with_name(self.path.name + "-lock")
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise of_system(error, f"{lock} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def damaged(self, what: str, remedy: str) -> Unusable:
        """The refusal of what it holds."""
        return unusable(f"{self.path} is damaged: {what}; {remedy}")

    def stamp(self) -> object:
        """Something that differs when the file has changed, come or gone."""
        try:
            status = self.path.stat()
        except OSError as error:
            return error.errno
        return status.st_ino, status.st_mtime_ns, status.st_ctime_ns


class Watched(Generic[_Kept]):
    """What a file holds, read again when it has changed.

    The file is looked at beside the event loop. While that takes longer than a second, and until it
    has ended, what was read before is still used.

    Args:
        file: the file.
        read: reads it. Its errors are raised by the constructor, and logged afterwards, since the
            callers of that time may be anybody.
        clock: seconds.
    """

    def __init__(
        self, file: SecretFile, read: Callable[[SecretFile], _Kept], clock: Callable[[], float]
    ) -> None:
        self._file = file
        self._read = read
        self._clock = clock
        self._looking = Background(self._look, _LOOK_WITHIN_S)
        self._looked_at = clock()
        self._stamp: object = file.stamp()
        self._kept: _Kept | None = read(file)

    async def current(self) -> _Kept:
        """What it held within the last half second.

        Raises Unavailable, without naming the file, where it cannot be used.
        """
        # Also when the clock was set back.
        if not 0 <= self._clock() - self._looked_at < _LOOK_EVERY_S:
            return await self.fresh()
        return self._usable()

    async def fresh(self) -> _Kept:
        """What it holds now; raises as `current` does."""
        self._looking.start()
        await self._looking.wait()
        return self._usable()

    def reload(self) -> None:
        """Begins to read the file again, also if it seems unchanged."""
        self._stamp = None
        self._looking.start()

    def _usable(self) -> _Kept:
        if self._kept is None:
            raise unavailable("credentials cannot be checked now; the log of the server says why")
        return self._kept

    def _look(self) -> None:
        looked_at = self._clock()
        stamp = self._file.stamp()
        if stamp != self._stamp or self._kept is None:
            self._stamp = stamp
            try:
                self._kept = self._read(self._file)
            except Error as error:
                self._kept = None
                _log.error("%s", error.detail)
        self._looked_at = looked_at
