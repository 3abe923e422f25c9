"""The rows of a report as text for people: exact amounts, spans of time, shares, dates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import polars

from comptroller import figures

#: From here on a fraction says nothing.
_WHOLE = 10_000
_SHARES = ("_share", "_rate", "deviation")


class Column(NamedTuple):
    """A column's name, its values as text (None where there is none), and whether they count."""

    name: str
    texts: Sequence[str | None]
    is_number: bool


def columns_of(frame: polars.DataFrame) -> list[Column]:
    """The columns of some rows."""
    return [
        Column(name, _texts(name, frame[name].to_list()), type.is_numeric())
        for name, type in frame.schema.items()
    ]


def _texts(name: str, values: list[Any]) -> list[str | None]:
    known = [value for value in values if value is not None]
    if known and isinstance(known[0], Decimal):
        texts = iter(figures.aligned([figures.shortest(amount) for amount in known]))
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
            return lambda seconds: figures.duration(round(seconds * 1_000_000))
        return figures.percent if name.endswith(_SHARES) else _number
    return str


def _number(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= _WHOLE else f"{number:,.4g}"


def _is_midnight(moment: datetime) -> bool:
    return (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _moment(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(" ", "seconds")
