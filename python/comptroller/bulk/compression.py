"""The content of files that may be compressed, recognised by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import PurePath
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

from comptroller.errors import invalid, require

#: The suffixes of compressed files.
COMPRESSED = frozenset({".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz", ".zip"})

_PIECE = 1 << 16
_MOST_LAYERS = 4
_UTF_32 = b"\xff\xfe\0\0"  # begins with a mark of UTF-16
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_CUT_OFF = "Compressed file ended before the end-of-stream marker was reached"  # as of gzip
_ZIP = b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"
_WORKBOOK = "xl/workbook.xml"
_DOCUMENTS = {
    "xl/workbook.bin": "a binary Excel file (.xlsb); save it as .xlsx or CSV",
    "content.xml": "an OpenDocument file (.ods); save it as .xlsx or CSV",
    "word/document.xml": "a Word document; save its table as .xlsx or CSV",
    "Index/Document.iwa": "a Numbers file; export it as .xlsx or CSV",
}


class Content(NamedTuple):
    """The content of a file: its first bytes, a file that begins with them, and its name."""

    head: bytes
    file: BinaryIO
    name: str
    is_packed: bool  # the file was compressed, or another encoding


class Resumed(io.RawIOBase):
    """A file of which the first bytes were already read."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head = head
        self._file = file

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        """Fills the start of `buffer`; returns the size, 0 at the end."""
        if not self._head:
            return _read_some(self._file, buffer)
        size = min(len(self._head), len(buffer))
        buffer[:size] = self._head[:size]
        self._head = self._head[size:]
        return size


class _Utf8(io.RawIOBase):
    """UTF-16 text as UTF-8."""

    def __init__(self, file: BinaryIO) -> None:
        # Between them, because a TextIOWrapper closes its file.
        given = io.BufferedReader(Resumed(b"", file))
        self._text = io.TextIOWrapper(given, encoding="utf-16", newline="")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._text.read(max(len(buffer) // 4, 1)).encode()  # a character has 4 bytes at most
        buffer[: len(data)] = data
        return len(data)


def content(file: BinaryIO, name: str, closing: ExitStack) -> Content:
    """Returns the content of a file within all of its layers of compression.

    UTF-16 text becomes UTF-8. Raises InvalidRequest for too many layers, or an archive of several
    files; `closing` closes what this opens.
    """
    given = name
    suffix = PurePath(name).suffix.lower()
    if suffix in COMPRESSED:
        name = name[: -len(suffix)]
    is_packed = False
    for _ in range(_MOST_LAYERS + 1):
        head, file = head_of(file, may_seek=not is_packed)
        unpack = _unpacker(head)
        if head.startswith(_ZIP):
            if isinstance(file, Resumed):
                file = spool(file, closing)
            inner = _unzip(file, given, closing)
            if inner is None:
                return Content(head, file, name, is_packed)
            file, name = inner
        elif head.startswith(_EMPTY_ZIP):
            raise invalid("source", f"{given} is a zip archive without files; give one with a file")
        elif head.startswith(_UTF_16) and not head.startswith(_UTF_32):
            file = cast("BinaryIO", io.BufferedReader(_Utf8(file)))
        elif unpack is not None:
            file = unpack(file)
        else:
            return Content(head, file, name, is_packed)
        is_packed = True
    raise invalid("source", f"{name} is compressed more than {_MOST_LAYERS} times; decompress it")


def head_of(file: BinaryIO, *, may_seek: bool) -> tuple[bytes, BinaryIO]:
    """Returns the first bytes, with a whole line if possible, and a file that begins with them."""
    if may_seek and hasattr(file, "seekable") and file.seekable():
        start = file.tell()
        head = file.read(_PIECE)
        file.seek(start)
        return bytes(head or b""), file
    head = b""
    buffer = bytearray(_PIECE)
    while len(head) < _PIECE and not _is_enough(head):
        size = _read_some(file, buffer)
        if not size:
            break
        head += bytes(buffer[:size])
    return head, cast("BinaryIO", Resumed(head, file))


def spool(file: BinaryIO, closing: ExitStack) -> BinaryIO:
    """Copies a file to a temporary file, which has a name; `closing` removes it."""
    copy = closing.enter_context(NamedTemporaryFile())  # noqa: SIM115
    buffer = bytearray(_PIECE)
    while size := _read_some(file, buffer):
        copy.write(memoryview(buffer)[:size])
    copy.seek(0)
    return cast("BinaryIO", copy)


def _is_enough(head: bytes) -> bool:
    return len(head) > len(_XZ) and (head.lstrip()[:1] in (b"{", b"[") or b"\n" in head.lstrip())


def _read_some(file: BinaryIO, buffer: Any) -> int | None:
    """Fills the start of `buffer` with what is available."""
    if hasattr(file, "readinto1"):
        return cast("io.BufferedReader", file).readinto1(buffer)
    return cast("io.RawIOBase", file).readinto(buffer)


class _Zstd(io.RawIOBase):
    """The content of a file compressed with zstd. Damage is an OSError, as of a gzip file."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            from compression import zstd  # type: ignore[import-not-found, unused-ignore]
        except ImportError:  # before Python 3.14
            zstd = require("backports.zstd", "a file compressed with zstd", "analysis")
        self._file = zstd.ZstdFile(file, "rb")
        self._error = zstd.ZstdError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        try:
            return _read_some(self._file, buffer)
        except self._error as error:
            raise OSError(str(error)) from error


class _Streams(io.RawIOBase):
    """The content of a file of compressed streams, one after another.

    Data after a stream that is not a stream is an OSError; BZ2File and LZMAFile would ignore it.

    Args:
        file: the compressed file.
        decompressor: returns a new decompressor, of one stream.
        padding: the zero bytes after a stream are a multiple of this; 0 if none are allowed.
    """

    def __init__(
        self,
        file: BinaryIO,
        decompressor: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor],
        padding: int = 0,
    ) -> None:
        self._file = file
        self._decompressor = decompressor
        self._padding = padding
        self._stream: bz2.BZ2Decompressor | lzma.LZMADecompressor | None = decompressor()
        self._start = b""  # of the stream, not yet decompressed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while len(buffer) and (stream := self._current()) is not None:
            data, self._start = self._start, b""
            if not data and stream.needs_input:
                data = self._read()
                if not data:
                    raise EOFError(_CUT_OFF)
            try:
                content = stream.decompress(data, len(buffer))
            except lzma.LZMAError as error:
                raise OSError(str(error)) from error
            if content:
                buffer[: len(content)] = content
                return len(content)
        return 0

    def _current(self) -> bz2.BZ2Decompressor | lzma.LZMADecompressor | None:
        """Returns the stream to read, after the end of one the next; None at the end."""
        if self._stream is None or not self._stream.eof:
            return self._stream
        zeros = 0
        data = self._stream.unused_data or self._read()
        while self._padding and data[:1] == b"\0":
            rest = data.lstrip(b"\0")
            zeros += len(data) - len(rest)
            data = rest or self._read()
        if zeros and zeros % self._padding:
            raise OSError(f"{zeros} zero bytes after a stream, not a multiple of {self._padding}")
        self._start = data
        self._stream = self._decompressor() if data else None
        return self._stream

    def _read(self) -> bytes:
        data = self._file.read(_PIECE)
        if data is None:
            raise BlockingIOError("the file has no data yet; give a blocking file")
        return data


_XZ = b"\xfd7zXZ\x00"
_XZ_PADDING = 4


def _xz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ)


_UNPACKERS: dict[bytes, Callable[[BinaryIO], BinaryIO]] = {
    b"\x1f\x8b": lambda file: cast("BinaryIO", gzip.GzipFile(fileobj=file, mode="rb")),
    b"BZh": lambda file: cast("BinaryIO", _Streams(file, bz2.BZ2Decompressor)),
    _XZ: lambda file: cast("BinaryIO", _Streams(file, _xz, _XZ_PADDING)),
    b"\x28\xb5\x2f\xfd": lambda file: cast("BinaryIO", _Zstd(file)),
}


def _unpacker(head: bytes) -> Callable[[BinaryIO], BinaryIO] | None:
    return next((unpack for magic, unpack in _UNPACKERS.items() if head.startswith(magic)), None)


def _unzip(file: BinaryIO, name: str, closing: ExitStack) -> tuple[BinaryIO, str] | None:
    """Returns the only file of a zip archive and its name; None for a spreadsheet of Excel.

    Files whose names begin with a dot, as those of a file manager, do not count.
    """
    archive = closing.enter_context(zipfile.ZipFile(file))
    names = set(archive.namelist())
    if _WORKBOOK in names:
        file.seek(0)
        return None
    for member, what in _DOCUMENTS.items():
        if member in names:
            raise invalid("source", f"{name} cannot be read: it is {what}")
    files = [
        each
        for each in archive.infolist()
        if each.filename  # which only a damaged archive lacks
        and not each.is_dir()
        and not each.filename.startswith("__MACOSX/")
        and not PurePath(each.filename).name.startswith(".")
    ]
    if len(files) != 1:
        raise invalid(
            "source",
            f"{name} is a zip archive of {len(files)} files; give an archive of one file, or "
            "extract it and load the folder",
        )
    return cast("BinaryIO", closing.enter_context(archive.open(files[0]))), files[0].filename
