"""The rows of a report as text: for people (spans of time, shares, dates), and exactly as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from comptroller.display import numbers
from comptroller.display.html import TableColumn

if TYPE_CHECKING:
    import polars

# How what a spreadsheet takes for a formula begins.
_FORMULA = re.compile(r" *[=+\-@\t\r]")
#: From here on a fraction says nothing.
_WHOLE = 10_000
_SHARES = ("_share", "_rate", "deviation")


def columns_of(frame: polars.DataFrame) -> list[TableColumn]:
    """The columns of some rows."""
    return [
        TableColumn(name, _texts(name, frame[name].to_list()), type.is_numeric())
        for name, type in frame.schema.items()
    ]


def _texts(name: str, values: list[Any]) -> list[str | None]:
    known = [value for value in values if value is not None]
    if known and isinstance(known[0], Decimal):
        texts = iter(numbers.aligned([numbers.shortest(amount) for amount in known]))
        return [None if value is None else next(texts) for value in values]
    told = _teller(name, known)
    return [None if value is None else told(value) for value in values]


def _teller(name: str, known: list[Any]) -> Callable[[Any], str]:
    first = known[0] if known else None
    if isinstance(first, datetime):
        return _day if all(_is_midnight(moment) for moment in known) else _moment
    if isinstance(first, bool):
        return lambda flag: "yes" if flag else "no"
    if isinstance(first, int):
        return lambda number: f"{number:,}"
    if isinstance(first, float):
        if name.endswith("_seconds"):
            return lambda seconds: numbers.duration(round(seconds * 1_000_000))
        return numbers.percent if name.endswith(_SHARES) else _number
    return str


def _number(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= _WHOLE else f"{number:,.4g}"


def _is_midnight(moment: datetime) -> bool:
    return (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _moment(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(" ", "seconds")


def csv_of(frame: polars.DataFrame) -> str:
    """All rows as CSV, each value exact and as `comptroller query` writes it."""
    written = io.StringIO(newline="")
    lines = csv.writer(written)
    lines.writerow(map(_exact, frame.columns))
    lines.writerows([_exact(value) for value in row] for row in frame.iter_rows())
    return written.getvalue()


def _exact(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return numbers.plain(value)
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat()
        return f"{text.rstrip('0') if value.microsecond else text}Z"
    if isinstance(value, bool):
        return str(value).lower()
    return defused(value) if isinstance(value, str) else str(value)


def defused(text: str) -> str:
    """A text for CSV: an apostrophe precedes what a spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text
