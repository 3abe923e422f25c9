"""Values of rows as the texts of cells, which a load reads as the same values, or refuses again."""

from __future__ import annotations

import json
import re
from datetime import date
from decimal import Decimal
from math import isfinite

import msgspec

from comptroller import arguments
from comptroller._core import exact_number
from comptroller.bulk.formulas import escape_formula
from comptroller.bulk.mapping import TEXT_TYPES, ColumnMapping, RowMapping
from comptroller.bulk.row_values import plain
from comptroller.errors import InvalidRequest
from comptroller.values import AMOUNTS

#: Decimals with more digits are written with an exponent.
LONGEST_DECIMAL = 100
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*")


class CellTexts:
    """The cells of rejected rows, in a CSV file to load again with their mapping.

    If a load refuses a value for what it is, such as a float or an error of a sheet, its text could
    be valid. The cell then has a line break, which no member of a record has, so that a load
    refuses it until it is replaced.
    """

    def __init__(self, kind: str, mapping: ColumnMapping) -> None:
        self._mapping = mapping
        # A number is an id only in the cells of a sheet, whose texts have apostrophes.
        self._rows = {each: RowMapping(kind, mapping, unescapes=each) for each in (False, True)}
        self._documents = RowMapping(kind, mapping, is_json=True)

    def of(
        self, column: str, value: object, *, is_escaped: bool = False, is_json: bool = False
    ) -> str:
        """Returns the cell of a value.

        Args:
            column: the column of the value.
            value: the value.
            is_escaped: whether texts have their apostrophes already.
            is_json: whether the value is of a document of JSON.
        """
        try:
            value = plain(value)
        except Exception:  # of a class of the caller
            return _refused(text_of(value))
        member = self._mapping.rename.get(column, column)
        rows = self._rows[is_escaped]
        type = rows.types.get(member)
        if value is None:
            return ""
        if isinstance(value, str):
            if is_escaped and value.startswith("'"):
                return value
            if not value and type is not None:
                return "'"  # an empty text, not a missing value
            is_same = type is None or (
                _encodable(value) == value
                and (is_escaped or self._is_read_alike(member, value, is_json=is_json))
            )
            return safe(value) if is_same else _refused(value)
        text = text_of(value)
        if type is not None and self._refuses(rows, member, type, value):
            return _refused(text)
        has_comma = self._mapping.decimal == "," and member in AMOUNTS
        return safe(text.replace(".", ",") if has_comma else text)

    def _is_read_alike(self, member: str, text: str, *, is_json: bool) -> bool:
        """Whether a load reads a text as a cell like it reads it in the source, or refuses it."""
        is_converted = (
            text != text.strip(" ") or text[0] in "'{[" or text.lower() in ("true", "false")
        )
        if not is_converted or self._rows[True].types[member] == "timestamp":
            return True
        try:
            read = self._rows[True].convert(member, safe(text))
        except InvalidRequest:
            return True
        if read == text:
            return True
        rows = self._documents if is_json else self._rows[False]
        is_unchanged = not self._mapping.changes_rows() and (
            is_json or rows.is_plain({member: text})
        )
        try:
            return not is_unchanged and read == rows.convert(member, text)
        except InvalidRequest:
            return False

    def _refuses(self, rows: RowMapping, member: str, type: str, value: object) -> bool:
        """Whether a load refuses a value that is not text, although its text may be valid."""
        if isinstance(value, msgspec.Raw):  # a number of JSON
            is_rounded = type == "amount" and exact_number(bytes(value).decode()) is None
            return type in TEXT_TYPES or (is_rounded and self._mapping.floats != "shortest")
        try:
            read = rows.convert(member, value)
            if type == "timestamp" and isinstance(read, str):
                return False
            line = arguments.line(read)
        except Exception:  # also of a class of the caller
            return True
        return type in TEXT_TYPES and not line.startswith(b'"')


def text_of(value: object) -> str:
    """Returns a value as text; a number without an exponent, unless it is very long."""
    try:
        if isinstance(value, float) and isfinite(value):
            exact = Decimal(repr(float(value)))  # the repr of a NumPy scalar names its type
            return str(int(value)) if value.is_integer() else format(exact, "f")
        if isinstance(value, Decimal):
            return str(value) if abs(value.adjusted()) > LONGEST_DECIMAL else format(value, "f")
        if isinstance(value, msgspec.Raw):
            return bytes(value).decode()
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, (dict, list, bool)):
            return _encodable(_json(value))
        return _encodable(str(value))
    except Exception:  # an endless list, a very long int, or a class of the caller
        return f"a {type(value).__name__} that cannot be written"


def safe(text: str) -> str:
    """Returns the text of a cell, with an apostrophe before a formula, but for a number."""
    text = _encodable(text)
    return text if _NUMBER.fullmatch(text) else escape_formula(text)


def _refused(text: str) -> str:
    return f"rejected:\n{_encodable(text)}"


def _json(value: object) -> str:
    """Returns a value as JSON, with the numbers of a JSON file as they are."""
    if isinstance(value, dict):
        members = (
            f"{json.dumps(str(name), ensure_ascii=False)}: {_json(each)}"
            for name, each in value.items()
        )
        return f"{{{', '.join(members)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_json, value))}]"
    if isinstance(value, msgspec.Raw):
        return bytes(value).decode()
    return json.dumps(value, ensure_ascii=False, default=text_of)


def _encodable(text: str) -> str:
    """Returns a text with escapes for lone surrogates, which no file can have."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()
