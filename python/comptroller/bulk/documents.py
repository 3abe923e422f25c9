"""JSON files as Python values, split and validated by the core as in a load."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from comptroller._core import Documents
from comptroller.errors import invalid

if TYPE_CHECKING:
    from comptroller._core import Readable


class Refusal(NamedTuple):
    """Why a document is not a record."""

    code: str
    member: str
    message: str


class Document(NamedTuple):
    """A document of a file; its record is None if it is refused, or a blank line."""

    line: int
    item: int  # among all items of the file, from 1; 0 in NDJSON
    record: dict[str, Any] | None
    refusal: Refusal | None


def _number(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


# Numbers stay the text that the file has.
_with_texts = json.JSONDecoder(parse_float=_number, parse_int=_number).decode
_with_numbers = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal).decode


def documents(
    file: Readable, decode: Callable[[str], dict[str, Any]] = _with_texts
) -> Iterator[Document]:
    """Yields the documents of NDJSON, of arrays, of saved list responses and of JSON objects.

    By default numbers are `msgspec.Raw`.
    """
    found = Documents(file)
    while batch := found.next():
        for line, item, text, refusal in batch:
            if refusal is not None:
                yield Document(line, item, None, Refusal(*refusal))
            else:
                yield Document(line, item, decode(text.decode()) if text else None, None)


def records(file: Readable) -> Iterator[dict[str, Any] | None]:
    """Yields the records, with Decimals; None for a blank line.

    Raises InvalidRequest for a document that is not a record.
    """
    for each in documents(file, _with_numbers):
        if each.refusal is not None:
            raise invalid("source", f"line {each.line}: {each.refusal.message}")
        yield each.record
