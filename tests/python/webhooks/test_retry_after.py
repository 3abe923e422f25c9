"""Retry-After: seconds and dates, and what is neither."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from comptroller.retry_after import retry_after_s


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("0", 0),
        ("40", 40),
        ("999999999", 999_999_999),
        ("9999999999", 1e9),
        ("9" * 400, 1e9),
        (None, None),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("\u0665", None),  # a digit of another script
        ("Mon, 01 Jan 99999999999 00:00:00 GMT", None),
    ],
)
def test_a_number_of_any_length_is_capped(given: str | None, seconds: float | None) -> None:
    assert retry_after_s(given) == seconds


def test_a_date_is_the_time_until_then() -> None:
    then = datetime.now(UTC) + timedelta(hours=1)
    found = retry_after_s(format_datetime(then, usegmt=True))
    assert found is not None
    assert 3590 < found <= 3600
