"""Times as text for people."""

from __future__ import annotations

from datetime import date, datetime


def bound(given: str | date, zone: str = "UTC") -> str:
    """Returns a bound on times; a day is its start in the zone, as in every filter and report."""
    is_day = len(given) == len("2026-01-31") if isinstance(given, str) else _is_day(given)
    return f"{given} 00:00 {zone}" if is_day else str(given)


def _is_day(given: date) -> bool:
    return not isinstance(given, datetime)
