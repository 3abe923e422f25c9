"""Days and times have one meaning at every door of a load."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from comptroller import InvalidRequest, Service
from examples import accounted, short_line

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def as_csv(rows: list[dict[str, Any]]) -> Any:
    return io.BytesIO(pl.DataFrame(rows).write_csv().encode())


def as_ndjson(rows: list[dict[str, Any]]) -> Any:
    return io.BytesIO(b"".join(json.dumps(row).encode() + b"\n" for row in rows))


DOORS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "rows": lambda rows: rows,
    "ndjson": as_ndjson,
    "json": lambda rows: io.BytesIO(json.dumps(rows).encode()),
    "csv": as_csv,
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "arrow": pa.Table.from_pylist,
}
OPTIONS: list[dict[str, Any]] = [{}, {"decimal": ","}, {"tz": "UTC"}, {"dayfirst": True}]
START = datetime(2026, 1, 31, tzinfo=UTC)

DAYS = ["2026-01-31", "31.01.2026", "31.1.2026", "2026/01/31", "2026.1.31", " 31.01.2026 "]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_day_is_its_start(operator: Service, door: str, options: dict[str, Any]) -> None:
    rows = [
        {**short_line("claims"), "id": f"c-{n}", "created_at": day, "amount": "1"}
        for n, day in enumerate(DAYS)
    ]
    result = accounted(operator.load("claims", DOORS[door](rows), **options))
    assert result.rejections == []
    assert {each.created_at for each in operator.claims.iter()} == {START}


YEAR = "write the year in full"
EITHER = "the day or the month may be first; give dayfirst"
ABSENT = "there is no such day"
CLOCK = "write the time of the day as 09:05 or 09:05:30"
ZONE = "no time zone; give tz"
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("31.01.26", {}, YEAR),
    ("31.01.26", {"dayfirst": True}, YEAR),
    ("3/4/26 12:00", {}, YEAR),
    ("01/31/2026", {}, "give dayfirst"),
    ("31-01-2026", {}, "give dayfirst"),
    ("01/31/2026", {"dayfirst": True}, f"{ABSENT}; give dayfirst=False if the month is first"),
    ("31/01/2026", {"dayfirst": False}, f"{ABSENT}; give dayfirst=True if the day is first"),
    ("31.02.2026", {}, ABSENT),
    ("2026-02-30", {"tz": "UTC"}, ABSENT),
    ("31.01.2026 13:00", {}, ZONE),
    ("2026/01/31 13:00", {"dayfirst": True}, ZONE),
    ("31.01.2026Z", {}, "a day has no offset"),
    ("2026-01-31 24:00", {}, CLOCK),
    ("2026-01-31 24:00", {"tz": "UTC"}, CLOCK),
    ("2026-01-31T23:59:60", {}, CLOCK),
    ("2026-01-31T24:00:00Z", {}, CLOCK),
    ("31.01.2026 9:05", {}, ZONE),
    ("31.01.2026 9:05:30", {}, ZONE),
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("given", "options", "why"), REFUSED)
def test_a_refused_day_says_what_is_wrong(
    operator: Service, door: str, given: str, options: dict[str, Any], why: str
) -> None:
    rows = [{**short_line("claims"), "created_at": given}]
    result = accounted(operator.load("claims", DOORS[door](rows), **options))
    (rejection,) = result.rejections
    assert rejection.member == "created_at"
    assert why in rejection.message
    assert why == ZONE or "time zone" not in rejection.message


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "text", ["31.01.2026 9:05:30", "2026-01-31 9:05:30.0", "2026/1/31 09:05:30"]
)
def test_an_hour_may_have_one_digit(operator: Service, door: str, text: str) -> None:
    rows = [{**short_line("claims"), "created_at": text}]
    result = accounted(operator.load("claims", DOORS[door](rows), tz="UTC"))
    assert result.rejections == []
    assert operator.claims.list().items[0].created_at == START.replace(hour=9, minute=5, second=30)


@pytest.mark.parametrize(
    "day",
    [date(2026, 1, 31), np.datetime64("2026-01-31"), np.datetime64("2026-01-31T00:00:00", "D")],
)
def test_days_of_python_and_numpy_are_their_starts(operator: Service, day: object) -> None:
    result = accounted(operator.load("claims", [{**short_line("claims"), "created_at": day}]))
    assert result.rejections == []
    assert operator.claims.list().items[0].created_at == START


def test_a_time_of_numpy_needs_a_zone(operator: Service) -> None:
    row = {**short_line("claims"), "created_at": np.datetime64("2026-01-31T00:00")}
    assert ZONE in accounted(operator.load("claims", [row])).rejections[0].message
    assert accounted(operator.load("claims", [row], tz="UTC")).inserted == 1


# Local times of Paris and New York, and the times in UTC; None if they are refused.
LOCAL: list[tuple[datetime, str, str | None]] = [
    (datetime(2100, 7, 1), "Europe/Paris", "2100-06-30T22:00:00Z"),
    (datetime(2100, 1, 1), "Europe/Paris", "2099-12-31T23:00:00Z"),
    (datetime(3000, 7, 1), "America/New_York", "3000-07-01T04:00:00Z"),
    (datetime(1890, 1, 1), "Europe/Paris", "1889-12-31T23:50:39Z"),
    (datetime(1, 1, 1), "Europe/Paris", None),
    (datetime(1, 1, 1), "America/New_York", "0001-01-01T04:56:02Z"),
    (datetime(9999, 12, 31, 23), "Europe/Paris", "9999-12-31T22:00:00Z"),
    (datetime(9999, 12, 31, 23), "America/New_York", None),
    (datetime(2026, 3, 29, 2, 30), "Europe/Paris", None),
    (datetime(2026, 10, 25, 2, 30), "Europe/Paris", None),
    (datetime(2026, 10, 25, 3), "Europe/Paris", "2026-10-25T02:00:00Z"),
    (datetime(2026, 3, 29, 1, 59, 59), "Europe/Paris", "2026-03-29T00:59:59Z"),
]


@pytest.mark.parametrize("is_text", [True, False])
@pytest.mark.parametrize(("local", "zone", "expected"), LOCAL, ids=str)
def test_a_local_time_is_one_time_at_every_door(
    operator: Service, local: datetime, zone: str, expected: str | None, is_text: bool
) -> None:
    given: object = str(local) if is_text else local
    outcomes = set()
    for door, of in DOORS.items():
        if not is_text and door in ("ndjson", "json"):
            continue
        row = {**short_line("claims"), "id": f"c-{door}", "created_at": given}
        result = accounted(operator.load("claims", of([row]), tz=zone))
        why = [each.message.removeprefix("item 1: ") for each in result.rejections]
        times = [operator.claims.get(f"c-{door}").created_at] if result.inserted else []
        outcomes.add((*why, *(f"{each.isoformat()}".replace("+00:00", "Z") for each in times)))
    assert len(outcomes) == 1, outcomes
    (outcome,) = outcomes
    if expected is None:
        assert outcome[0].startswith(f"created_at: {local.isoformat()} ")
    else:
        assert outcome == (expected,)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("before", ["2026-01-31", "2026-01-31 12:30:59", "2026-01-31T12:30:59"])
@pytest.mark.parametrize(
    "given",
    ["2026-01-31 12:30:60", "2026-01-31T23:59:60", "31.01.2026 12:30:60.5", "2026-01-31 24:00"],
)
def test_a_time_that_no_clock_shows_is_rejected(
    operator: Service, door: str, before: str, given: str
) -> None:
    rows = [
        {**short_line("claims"), "id": f"c-{n}", "created_at": time}
        for n, time in enumerate((before, given))
    ]
    result = accounted(operator.load("claims", DOORS[door](rows), tz="Europe/Zurich"))
    assert [each.id for each in result.rejections] == ["c-1"]


@pytest.mark.parametrize("zone", ["localtime", "posix/Europe/Paris", "right/Europe/Paris"])
def test_a_zone_that_only_this_machine_has_is_refused(operator: Service, zone: str) -> None:
    row = {**short_line("claims"), "created_at": datetime(2026, 7, 1)}
    for of in (DOORS["rows"], DOORS["csv"], DOORS["polars"]):
        with pytest.raises(InvalidRequest, match=f"^invalid-request: tz: .*{zone}.*Europe/Zurich"):
            operator.load("claims", of([row]), tz=zone)
        with pytest.raises(InvalidRequest, match=f"^invalid-request: tz: .*{zone}.*Europe/Zurich"):
            operator.reconcile("claims", of([row]), on="id", tz=zone)
