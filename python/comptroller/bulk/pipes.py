"""Files that the caller opened: pipes, objects with only `read`, and how far they are read."""

from __future__ import annotations

import io
import lzma
import os
import select
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any, BinaryIO, cast

from comptroller.display.progress import Progress
from comptroller.errors import invalid

_LONGEST_WAIT_S = 0.1
_MAX_SELECT_DESCRIPTORS = 1024  # select() accepts only smaller descriptors


class ReadInto(io.RawIOBase):
    """Adds `readinto` to an object that has only `read`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        """Fills the start of `buffer`; returns the size, 0 at the end."""
        data = self._file.read(len(buffer))
        if data is None:
            return None
        if isinstance(data, str):
            raise text_file()
        buffer[: len(data)] = data
        return len(data)


class AbandonablePipe(io.RawIOBase):
    """A pipe or terminal whose blocked read ends when `abandoned` is set."""

    def __init__(
        self,
        file: io.BufferedReader,
        descriptor: int,
        abandoned: Event,
        progress: Progress | None,
    ) -> None:
        self._file = file
        self._descriptor = descriptor
        self._abandoned = abandoned
        self.progress = progress  # called while a read waits, if not None

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        """Fills the start of `buffer`; returns the size, 0 at the end."""
        while not select.select([self._descriptor], [], [], _LONGEST_WAIT_S)[0]:
            if self._abandoned.is_set():
                return 0
            if self.progress is not None:
                self.progress(0, None, 0)
        if hasattr(self._file, "readinto1"):
            return self._file.readinto1(buffer)
        return self._file.readinto(buffer)


class NamedFile:
    """A file whose read errors become InvalidRequest errors with its name."""

    def __init__(self, file: BinaryIO, name: str, abandoned: Event | None = None) -> None:
        self._file = cast("io.BufferedIOBase", cast("object", file))
        self._name = name
        self._abandoned = abandoned

    def abandon(self) -> None:
        """Ends a blocked read of a pipe."""
        if self._abandoned is not None:
            self._abandoned.set()

    def readinto(self, buffer: memoryview, /) -> int:
        """Fills the start of `buffer`; returns the size, 0 at the end."""
        with naming(self._name):
            size = self._file.readinto(buffer)
        if size is None:
            raise invalid("source", f"{self._name} has no data yet; give a blocking file")
        return size


#: What to do with a folder of Parquet files, which a load does not read.
PARTITIONED = "load the frame of polars.read_parquet(folder) if it is a partitioned export"


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Raises InvalidRequest for an error of reading the file `name`."""
    try:
        yield
    except (
        *(OSError, EOFError, UnicodeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
        *(RuntimeError, NotImplementedError),  # of an archive: encrypted, unknown
        ValueError,  # the file is closed
    ) as error:
        why = getattr(error, "strerror", None) or str(error)
        if isinstance(error, IsADirectoryError):
            why = f"it is a folder; {PARTITIONED}, or load a folder of kinds with load_all"
        raise invalid("source", f"{name} cannot be read: {why}") from error


def pipe_descriptor(file: object) -> int | None:
    """Returns the descriptor of a pipe or terminal that select() can watch, else None."""
    # Other objects with a descriptor may have buffered bytes, which select() does not see.
    raw = file.raw if isinstance(file, io.BufferedReader) else file
    if not isinstance(raw, io.FileIO) or raw.fileno() >= _MAX_SELECT_DESCRIPTORS:
        return None
    return None if stat.S_ISREG(os.fstat(raw.fileno()).st_mode) else raw.fileno()


def text_file() -> Exception:
    """Returns the error of a file that is open for text."""
    return invalid("source", "the file is open for text; open it in binary mode ('rb')")


def remaining(file: object) -> int | None:
    """Returns how many bytes of a file are left; None if that is unknown."""
    if isinstance(file, io.BytesIO):
        return max(len(file.getbuffer()) - file.tell(), 0)
    raw = file.raw if isinstance(file, io.BufferedReader) else file
    # The descriptor of another file object may have another size: a GzipFile returns the descriptor
    # of the compressed file.
    if isinstance(raw, io.FileIO):
        status = os.fstat(raw.fileno())
        if stat.S_ISREG(status.st_mode):
            return max(status.st_size - cast("io.IOBase", file).tell(), 0)
    return None


def compressed_progress(file: BinaryIO, total: int, progress: Progress) -> Progress:
    """Returns a callback that reports the progress of a packed file in compressed bytes."""
    start = file.tell()

    def report(_done: int, _total: int | None, rows: int) -> None:
        progress(file.tell() - start, total, rows)

    return report
