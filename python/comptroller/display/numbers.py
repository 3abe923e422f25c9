"""Formatting of exact amounts, durations and percentages."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal


def align_amounts(amounts: Sequence[Decimal]) -> list[str]:
    """Formats exact amounts, all with the fraction digits of the longest."""
    digits = max((_fraction_digits(amount) for amount in amounts), default=0)
    return [with_fraction(amount, digits) for amount in amounts]


def plain(amount: Decimal) -> str:
    """Formats an exact amount without an exponent or trailing zeros."""
    # Decimal.normalize would round to the digits of the context.
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def shortest(amount: Decimal) -> Decimal:
    """Returns an exact amount without trailing zeros."""
    return Decimal(plain(amount))


def with_fraction(amount: Decimal, digits: int) -> str:
    """Formats an exact amount with separators and at least `digits` fraction digits."""
    whole, _, fraction = format(amount, "f").partition(".")
    negative, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    padded = fraction.ljust(digits, "0")
    return f"{negative}{int(whole):,}" + (f".{padded}" if padded else "")


def _fraction_digits(amount: Decimal) -> int:
    return len(format(amount, "f").partition(".")[2])


def duration(microseconds: int) -> str:
    """Formats a duration: ``12.3 s``, ``4 min 07 s``, ``3 h 05 min``, ``2 d 04 h``."""
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


def seconds(number: float) -> str:
    """Formats a duration in seconds."""
    return duration(round(number * 1_000_000))


def percent(ratio: float | None) -> str:
    """Formats a ratio as a percentage; only an exact ratio is shown as 0.00 % or 100.00 %."""
    if ratio is None:
        return "-"
    if 0 < ratio < 0.0001 or 0.9999 < ratio < 1:
        return "< 0.01 %" if ratio < 0.5 else "> 99.99 %"
    text = f"{ratio * 100:.2f} %"
    return "0.00 %" if text == "-0.00 %" else text
