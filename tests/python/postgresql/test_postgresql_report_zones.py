"""Time zones of reports inside PostgreSQL: names that it reads as abbreviations, and far days."""

from __future__ import annotations

from datetime import date
from typing import Any

import comptroller
import pytest
from lines import claim, control, load

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("psycopg")

FIRST, LAST = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"


def days(svc: comptroller.Service, **given: Any) -> list[Any]:
    """Returns the days of the claims; checks that the engines agree."""
    here, there = (
        svc.reports.claims_summary("day", engine=engine, **given).to_dicts()
        for engine in ("duckdb", "postgresql")
    )
    assert here == there
    return [row["day"] for row in here]


@pytest.mark.parametrize("zone", ["CET", "EET", "WET", "MET", "EST5EDT", "UTC", "Etc/UTC"])
def test_a_short_name_is_the_zone_with_its_summer_time(
    operator: comptroller.Service, zone: str
) -> None:
    times = (f"2026-07-01T{hour:02}:30:00Z" for hour in range(24))
    load(operator, "claims", *(claim(created_at=each) for each in times))
    summer = {"CET": 2, "EET": 3, "WET": 1, "MET": 2}
    found = operator.reports.claims_summary("day", tz=zone, engine="postgresql").to_dicts()
    if zone in summer:
        assert [row["claims"] for row in found] == [24 - summer[zone], summer[zone]]
    days(operator, tz=zone)


@pytest.mark.parametrize("zone", ["America/New_York", "Africa/Cairo", "Pacific/Auckland"])
def test_the_first_and_the_last_day_have_the_times_beyond_them(
    operator: comptroller.Service, zone: str
) -> None:
    load(operator, "claims", claim(created_at=FIRST), claim(created_at=LAST))
    assert days(operator, tz=zone) == [date.min, date.max]
    for time in (FIRST, LAST):
        load(operator, "controls", control(identity_id=f"on-{time}", created_at=time))
        here, there = (
            operator.reports.restricted(tz=zone, engine=engine)
            for engine in ("duckdb", "postgresql")
        )
        assert here.summary == there.summary
        assert here.to_dicts() == there.to_dicts() != []
