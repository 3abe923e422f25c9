"""Periods of reports: dates, quarters and years, and days of a time zone."""

from __future__ import annotations

import shutil
import zoneinfo
from datetime import date, datetime
from pathlib import Path
from typing import Any

import comptroller
import polars
import pytest
from lines import address, balance, claim, control, group, load
from reporting import only, ran

GROUP = "01900000-0000-7000-8000-0000000000aa"
ZURICH = "Europe/Zurich"


def paid(created_at: str, amount: str = "1", **members: Any) -> dict[str, Any]:
    given = {"onchain_status": "CONFIRMED", "created_at": created_at, "confirmed_at": created_at}
    return claim(
        **{**given, "payout_group_id": GROUP, "asset_type": "ETH", "amount": amount, **members}
    )


@pytest.mark.parametrize(
    ("key", "start"),
    [
        ("day", date(2026, 5, 14)),
        ("week", date(2026, 5, 11)),
        ("month", date(2026, 5, 1)),
        ("quarter", date(2026, 4, 1)),
        ("year", date(2026, 1, 1)),
    ],
)
def test_periods_of_a_day_and_longer_are_dates(
    operator: comptroller.Service, key: str, start: date
) -> None:
    load(
        operator,
        "claims",
        paid("2026-05-14T10:30:00Z"),
        paid("2026-05-14T11:00:00Z"),
    )
    for name in ("claims_summary", "failures", "confirmation_times"):
        assert getattr(operator.reports, name)((key,)).to_polars().schema[key] == polars.Date
    assert [row[key] for row in ran(operator, "claims_summary", (key,))] == [start]
    load(operator, "controls", control(identity_id="i", created_at="2026-05-14T10:30:00Z"))
    assert [row[key] for row in ran(operator, "restrictions", (key,))] == [start]


def test_an_hour_is_a_time(operator: comptroller.Service) -> None:
    load(operator, "claims", paid("2026-05-14T10:30:00Z"))
    (row,) = ran(operator, "claims_summary", "hour", tz=ZURICH)
    assert row["hour"] == datetime.fromisoformat("2026-05-14T10:00:00+00:00")


def test_days_are_those_of_the_zone(operator: comptroller.Service) -> None:
    times = (
        "2026-03-28T22:59:59Z",
        "2026-03-28T23:00:00Z",
        "2026-03-29T21:59:59Z",
        "2026-03-29T22:00:00Z",
    )
    load(operator, "claims", *(paid(each) for each in times))
    rows = ran(operator, "claims_summary", "day", tz=ZURICH)
    assert only(rows, "day", "claims") == [
        (date(2026, 3, 28), 1),
        (date(2026, 3, 29), 2),  # has 23 hours
        (date(2026, 3, 30), 1),
    ]
    (row,) = ran(operator, "claims_summary", (), since="2026-03-29", until="2026-03-30", tz=ZURICH)
    assert row["claims"] == 2
    (row,) = ran(operator, "claims_summary", (), since=date(2026, 3, 29), until="2026-03-30")
    assert row["claims"] == 2
    years = ran(operator, "claims_summary", "year", tz="Pacific/Kiritimati")
    assert [row["year"] for row in years] == [date(2026, 1, 1)]


def test_a_statement_has_the_days_of_the_zone(operator: comptroller.Service) -> None:
    load(operator, "payout-groups", group(id=GROUP, asset_type="ETH"))
    held = address(payout_group_id=GROUP)
    load(operator, "reward-addresses", held)
    load(
        operator, "balances", balance(address_id=held["id"], at="2026-02-28T23:30:00Z", balance="5")
    )
    load(operator, "claims", paid("2026-02-28T23:15:00Z"), paid("2026-03-31T22:15:00Z"))
    *days, month = ran(operator, "group_statement", GROUP, "2026-03", tz=ZURICH)
    assert (month["claims"], month["opening_holdings"], month["closing_holdings"]) == (1, None, 5)
    assert only(days[:1], "day", "claims", "closing_holdings") == [(date(2026, 3, 1), 1, 5)]
    assert len(days) == 31
    *_, month = ran(operator, "group_statement", GROUP, "2026-03")
    assert (month["claims"], month["opening_holdings"]) == (1, 5)
    months = only(
        ran(operator, "reconciliation", tz=ZURICH), "month", "claimed", "average_holdings"
    )
    assert months == [(date(2026, 3, 1), 1, 5.0), (date(2026, 4, 1), 1, 5.0)]


def test_nothing_known_is_null_and_not_zero(operator: comptroller.Service) -> None:
    load(operator, "payout-groups", group(id=GROUP, asset_type="ETH"))
    load(
        operator,
        "claims",
        paid("2026-03-05T00:00:00Z"),
        paid("2026-03-05T00:00:00Z", asset_type="RPL"),
    )
    rows = ran(operator, "group_statement", GROUP, "2026-03")
    assert {(row["opening_holdings"], row["closing_holdings"]) for row in rows} == {(None, None)}
    held = address(payout_group_id=GROUP)
    load(operator, "reward-addresses", held)
    load(
        operator, "balances", balance(address_id=held["id"], at="2026-03-10T12:00:00Z", balance="0")
    )
    rows = ran(operator, "group_statement", GROUP, "2026-03")
    known = [row["day"] for row in rows if row["closing_holdings"] is not None and row["day"]]
    assert known == [date(2026, 3, day) for day in range(10, 32)]
    assert {row["closing_holdings"] for row in rows if row["asset"] == "RPL"} == {None}
    operator.reports.group_statement(GROUP, "2026-03").plot().to_dict()


# The last ones are names of zoneinfo that other libraries lack or read differently.
@pytest.mark.parametrize(
    "zone",
    [
        *("Mars/Olympus", "", "../etc", "Europe", "localtime", "posixrules", "Factory"),
        *("posix/Europe/Zurich", "right/Europe/Zurich"),
    ],
)
def test_an_unknown_zone_is_refused(operator: comptroller.Service, zone: str) -> None:
    with pytest.raises(comptroller.InvalidRequest, match=r"tz: unknown time zone .*Europe/Zurich"):
        operator.reports.claims_summary(tz=zone)


ZONES = ["America/New_York", "Africa/Cairo", "Pacific/Auckland", "Etc/GMT+11"]
FIRST, LAST = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("time", "day"), [(FIRST, date.min), (LAST, date.max)])
def test_the_first_and_the_last_day_have_the_times_beyond_them(
    operator: comptroller.Service, tmp_path: Path, zone: str, time: str, day: date
) -> None:
    held = address(payout_group_id=GROUP, created_at=time)
    load(operator, "payout-groups", group(id=GROUP, asset_type="ETH", created_at=time))
    load(operator, "reward-addresses", held)
    load(operator, "balances", balance(address_id=held["id"], at=time, balance="5"))
    load(operator, "claims", paid(time), paid("2026-05-14T11:30:00Z"))
    load(operator, "controls", control(identity_id="i", created_at=time))
    for key in ("week", "month", "quarter", "year", "hour"):
        ran(operator, "claims_summary", key, tz=zone)
    rows = ran(operator, "claims_summary", "day", tz=zone)
    assert sorted(row["day"] for row in rows) == sorted([day, date(2026, 5, 14)])
    report = operator.reports.claims_summary("day", tz=zone)
    for suffix in ("csv", "xlsx", "parquet"):
        getattr(report, "to_excel" if suffix == "xlsx" else f"to_{suffix}")(
            tmp_path / f"report.{suffix}"
        )
    assert str(day) in report.html()
    (row,) = ran(operator, "restricted", tz=zone)
    assert row["created_at"].isoformat().replace("+00:00", "Z") == time
    assert operator.reports.restricted(tz=zone).summary == f"on {day}, 1 row"
    assert len(operator.reports.restricted(str(day), tz=zone)) == 1
    *days, month = ran(operator, "group_statement", GROUP, str(day)[:7], tz=zone)
    assert [each["day"] for each in days if each["claims"]] == [day]
    assert (month["claims"], month["closing_holdings"]) == (1, 5)
    months = ran(operator, "reconciliation", str(day)[:7], tz=zone)
    assert only(months, "month", "claimed") == [(day.replace(day=1), 1)]
    since = operator.reports.claims_summary((), since=str(day), tz=zone).to_dicts()
    assert [row["claims"] for row in since] == [2 if day == date.min else 1]


def test_a_chart_of_a_year_has_years_and_one_of_hours_has_times(
    operator: comptroller.Service,
) -> None:
    load(operator, "claims", paid("2024-05-14T10:30:00Z", id="c"))
    for record, has_times in (("c", True), (GROUP, False)):
        if not has_times:
            load(operator, "claims", paid("2026-05-14T10:30:00Z"))
        # Before the events of the journal, which are of today.
        chart = str(operator.reports.history(record, until="2026-06-01").plot().to_dict())
        assert "%Y-%m-%d" in chart
        assert "'%m-%d" not in chart
        assert ("%H:%M" in chart) == has_times


def test_a_zone_that_only_the_system_knows_is_refused(
    operator: comptroller.Service, tmp_path: Path
) -> None:
    load(operator, "claims", paid("2026-03-29T12:00:00Z"))
    (tmp_path / "Europe").mkdir()
    known = [path for path in (Path(each, ZURICH) for each in zoneinfo.TZPATH) if path.exists()]
    if not known:
        pytest.skip("the system has no time zones")
    shutil.copy(known[0], tmp_path / "Europe" / "Newtown")
    zoneinfo.reset_tzpath([tmp_path])
    try:
        with pytest.raises(comptroller.InvalidRequest, match="time zone Europe/Newtown"):
            operator.reports.claims_summary("day", tz="Europe/Newtown")
    finally:
        zoneinfo.reset_tzpath()
