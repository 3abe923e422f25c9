"""Figures as people read them: exact amounts, spans of time, shares."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal


def aligned(amounts: Sequence[Decimal]) -> list[str]:
    """Exact amounts, all with as many fraction digits as the longest has."""
    digits = max((_fraction_digits(amount) for amount in amounts), default=0)
    return [with_fraction(amount, digits) for amount in amounts]


def plain(amount: Decimal) -> str:
    """An exact amount as digits, without an exponent or zeros at its end."""
    # As text, since a context would round.
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def shortest(amount: Decimal) -> Decimal:
    """An exact amount without zeros at its end."""
    return Decimal(plain(amount))


def with_fraction(amount: Decimal, digits: int) -> str:
    """An exact amount with separators and `digits` fraction digits, no less than it has."""
    whole, _, fraction = format(amount, "f").partition(".")
    negative, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    padded = fraction.ljust(digits, "0")
    return f"{negative}{int(whole):,}" + (f".{padded}" if padded else "")


def _fraction_digits(amount: Decimal) -> int:
    return len(format(amount, "f").partition(".")[2])


def duration(microseconds: int) -> str:
    """A time span for people: ``12.3 s``, ``4 min 07 s``, ``3 h 05 min``, ``2 d 04 h``."""
    if microseconds <= -1000:
        return "-" + duration(-microseconds)
    seconds = microseconds / 1_000_000
    if seconds < 1:
        return f"{max(microseconds, 0) // 1000} ms"
    if seconds < 60:
        return f"{microseconds // 100_000 / 10:.1f} s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02} h"


def percent(ratio: float | None) -> str:
    """A ratio as a percentage; 100 % and 0 % are exact."""
    if ratio is None:
        return "-"
    if 0 < ratio < 0.0001 or 0.9999 < ratio < 1:
        return "< 0.01 %" if ratio < 0.5 else "> 99.99 %"
    text = f"{ratio * 100:.2f} %"
    return "0.00 %" if text == "-0.00 %" else text
