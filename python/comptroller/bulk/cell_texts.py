"""Values of rows as the texts of cells, which a load reads as the same values."""

from __future__ import annotations

import json
import re
from datetime import date
from decimal import Decimal
from math import isfinite

import msgspec

from comptroller.bulk.formulas import escape_formula
from comptroller.bulk.mapping import ColumnMapping, plain
from comptroller.values import AMOUNTS

#: Decimals with more digits are written with an exponent.
LONGEST_DECIMAL = 100
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*")


class CellTexts:
    """The texts of the cells of a CSV file that is loaded with a mapping."""

    def __init__(self, mapping: ColumnMapping) -> None:
        self._rename = mapping.rename
        self._has_comma = mapping.decimal == ","

    def of(self, column: str, value: object) -> str | None:
        """Returns the text of a value; None if it is missing."""
        value = plain(value)
        if value is None or isinstance(value, str):
            return value
        text = text_of(value)
        is_amount = self._rename.get(column, column) in AMOUNTS
        return text.replace(".", ",") if self._has_comma and is_amount else text


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
            return _encodable(json.dumps(value, ensure_ascii=False, default=text_of))
        return _encodable(str(value))
    except Exception:  # an endless list, a very long int, or a class of the caller
        return f"a {type(value).__name__} that cannot be written"


def safe(text: str | None) -> str:
    """Returns the text of a cell, with an apostrophe before a formula, but for a number."""
    if text is None:
        return ""
    text = _encodable(text)
    return text if _NUMBER.fullmatch(text) else escape_formula(text)


def _encodable(text: str) -> str:
    """Returns a text with escapes for lone surrogates, which no file can have."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()
