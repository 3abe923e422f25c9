"""The format of a file, by its first bytes and its name; and files of other formats."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Literal, TypeAlias

from comptroller.errors import invalid

Format: TypeAlias = Literal["json", "csv", "parquet", "xlsx"]

#: The suffixes of the files that a load reads, and the formats that they promise.
FORMATS: dict[str, Format] = {
    ".ndjson": "json",
    ".jsonl": "json",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}

_SEPARATORS = ",;\t|"
_MARK = b"\xef\xbb\xbf"
_JSON = re.compile(rb"\s*(\{|\[\s*\{)")  # a header may begin with a name in brackets
_TEXT_BYTES = 1024  # that tell text from other bytes
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1f]")
_BINARY = "binary, of no format that a load reads; give NDJSON, JSON, CSV, Parquet or .xlsx"

_SAVE = "open it in a spreadsheet and save it as .xlsx or CSV"
_UTF_32 = "UTF-32 text; convert it to UTF-8, for example with iconv -f UTF-32 -t UTF-8"
_OTHERS: dict[bytes, str] = {
    b"\xd0\xcf\x11\xe0": f"an old Excel file (.xls), or one with a password; {_SAVE}",
    b"%PDF": "a PDF; load the table from which it was printed",
    b"SQLite format 3\0": "an SQLite database; export its tables and load them",
    b"ARROW1": "an Arrow file; read it, for example with polars.read_ipc, and load the frame",
    b"\x89PNG": "a picture; load the table that it shows",
    b"\x7fELF": "a program; name a file of records",
    b"\xff\xfe\0\0": _UTF_32,
    b"\0\0\xfe\xff": _UTF_32,
}
_MARKUP: dict[bytes, str] = {
    b"<?xml": f"XML; {_SAVE}",
    b"<": f"a page of HTML, whatever its name; {_SAVE}",
}


def format_of(head: bytes, name: str) -> Format:
    """Returns the format of a file by its first bytes, then by the suffix of its name.

    Raises InvalidRequest for another format, and if the suffix promises a binary format that the
    bytes are not.
    """
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "xlsx"
    _refuse_others(head, name)
    suffix = PurePath(name).suffix.lower()
    promised = FORMATS.get(suffix)
    if promised in ("parquet", "xlsx"):
        what = f"not a file of the format {suffix}" if head else "empty; give a complete copy"
        raise invalid("source", f"{name} cannot be read: it is {what}")
    if promised == "csv" and _JSON.match(head.removeprefix(_MARK)):
        return "json"
    return promised or ("csv" if _is_table(head) else "json")


def separator_of(head: bytes, name: str) -> str:
    """Returns the separator that appears most often in the first row, outside of quotes.

    In a file named .tsv it is the tab, if the row has one.
    """
    text = head.removeprefix(_MARK).lstrip(b"\r\n")
    row = b"".join(text.split(b'"')[::2]).partition(b"\n")[0].decode(errors="replace")
    if PurePath(name).suffix.lower() == ".tsv" and "\t" in row:
        return "\t"
    return max(_SEPARATORS, key=row.count)


def _refuse_others(head: bytes, name: str) -> None:
    """Raises InvalidRequest, which says what to do, for a file of another format."""
    text = head.removeprefix(_MARK).lstrip()
    what = next((what for magic, what in _OTHERS.items() if head.startswith(magic)), None)
    what = what or next((what for start, what in _MARKUP.items() if text.startswith(start)), None)
    is_json = text[:1] in (b"{", b"[") and head[1:2] != b"\0"
    if what is None and not is_json and b"\0" in head[:_TEXT_BYTES]:
        what = _with_zeros(head[:_TEXT_BYTES])
    if what is not None:
        raise invalid("source", f"{name} cannot be read: it is {what}")


def _with_zeros(head: bytes) -> str | None:
    """Returns what bytes with NUL characters are; None for UTF-8, in which a load refuses them."""
    zeros = "".join("01"[head[start::4].count(0) > len(head) / 16] for start in range(4))
    encoding = {
        "0101": "UTF-16LE",
        "1010": "UTF-16BE",
        "0111": "UTF-32LE",
        "0011": "UTF-32LE",
        "1110": "UTF-32BE",
        "1100": "UTF-32BE",
    }.get(zeros)
    if encoding is not None:
        advice = f"convert it to UTF-8, for example with iconv -f {encoding} -t UTF-8"
        return f"{encoding} text without a byte order mark; {advice}"
    return None if zeros == "0000" and _is_text(head) else _BINARY


def _is_text(head: bytes) -> bool:
    """Whether bytes are UTF-8 whose only control characters are NUL and white space."""
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.end < len(head) or error.reason != "unexpected end of data":
            return False
        text = head[: error.start].decode()
    return not _CONTROL.search(text)


def _is_table(head: bytes) -> bool:
    """Whether text without a suffix is a table: not JSON, with a separator in its first line."""
    text = head.removeprefix(_MARK).lstrip()
    line = text.partition(b"\n")[0]
    try:
        shown = line.decode()
    except UnicodeDecodeError:
        return False
    return text[:1] not in (b"{", b"[") and any(each in shown for each in _SEPARATORS)
