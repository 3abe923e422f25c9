"""The header Retry-After of a response (RFC 9110 section 10.2.3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST_S = 1e9


def retry_after_s(given: str | None) -> float | None:
    """Returns the seconds of a Retry-After, a number or a date; None if it is neither.

    A number is at most a billion.
    """
    if given is None:
        return None
    if re.fullmatch("[0-9]+", given):
        return min(float(given), _LONGEST_S)
    try:
        moment = parsedate_to_datetime(given)
        return (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):  # no date, or one of a year that no date has
        return None
