"""Rows as text for people, and as exact CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from comptroller.bulk.formulas import escape_formula
from comptroller.display import numbers
from comptroller.display.html import TableColumn

if TYPE_CHECKING:
    import polars


#: The smallest number that is shown without a fraction.
_WHOLE = 10_000
_SHARES = ("_share", "_rate", "deviation")


#: The headings of columns whose names are not plain words.
_HEADINGS = {
    "p50_seconds": "median time",
    "p90_seconds": "90 % within",
    "p99_seconds": "99 % within",
    "mad": "usual distance",
    "score": "distance in usual distances",
    "age_months": "months later",
    "age_seconds": "waiting for",
    "threshold_seconds": "usual at most",
    "median_days": "median duration in days",
    "made_good": "recovered",
    "made_good_amount": "recovered amount",
}
_COMPOUND_NAME = re.compile(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b")


def heading(name: str) -> str:
    """Returns the heading of a column in plain words."""
    return _HEADINGS.get(name, name.replace("_", " "))


def in_plain_words(text: str) -> str:
    """Returns a text with the headings of columns in place of their names."""
    return _COMPOUND_NAME.sub(lambda found: heading(found[0]), text)


def columns_of(frame: polars.DataFrame) -> list[TableColumn]:
    """Returns the columns of a frame as text for people."""
    columns = []
    for column in frame:
        known = iter(_texts(column.name, column.drop_nulls().to_list()))
        texts = [next(known) if is_known else None for is_known in column.is_not_null()]
        shown = heading(column.name)
        columns.append(TableColumn(column.name, texts, column.dtype.is_numeric(), shown))
    return columns


def _texts(name: str, known: list[Any]) -> Iterable[str]:
    first = known[0] if known else None
    if isinstance(first, Decimal):
        return numbers.align_amounts([numbers.shortest(amount) for amount in known])
    if isinstance(first, datetime):
        if all(each.time() == time() for each in known):
            return (each.date().isoformat() for each in known)
        return (each.replace(tzinfo=None).isoformat(" ", "seconds") for each in known)
    if isinstance(first, bool):
        return ("yes" if flag else "no" for flag in known)
    if isinstance(first, int):
        return (f"{number:,}" for number in known)
    if isinstance(first, float):
        if name.endswith("_seconds"):
            return map(numbers.seconds, known)
        return map(numbers.percent if name.endswith(_SHARES) else _number, known)
    texts = map(exact_text, known) if isinstance(first, bytes) else map(str, known)
    return (text.replace("_", " ") for text in texts) if name == "status" else texts


def _number(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= _WHOLE else f"{number:,.4g}"


def csv_of(frame: polars.DataFrame) -> str:
    """Returns all rows of a report as CSV with exact values."""
    texts = ("String", "Enum", "Categorical")
    are_free = [str(type).startswith(texts) for type in frame.dtypes]
    header = csv_lines([frame.columns], [True] * frame.width)
    return header + csv_lines(
        ([exact_text(each) for each in row] for row in frame.iter_rows()), are_free
    )


def csv_lines(rows: Iterable[Sequence[str | None]], are_free: Sequence[bool]) -> str:
    """Returns rows of cells as CSV; None is an empty cell.

    In the free columns, an apostrophe precedes text that a spreadsheet could run as a formula.
    """
    written = io.StringIO(newline="")
    lines = csv.writer(written)
    for row in rows:
        cells = zip(row, are_free, strict=True)
        lines.writerow(escape_formula(text) if free and text else text for text, free in cells)
    return written.getvalue()


def exact_text(value: Any) -> str:
    """Returns a value of a report as CSV has it, and bytes as hexadecimal digits."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return numbers.plain(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat()
        return f"{text.rstrip('0') if value.microsecond else text}Z"
    return str(value).lower() if isinstance(value, bool) else str(value)
