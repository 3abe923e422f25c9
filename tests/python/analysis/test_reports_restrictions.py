"""Restrictions: controls created, deleted and active, their durations, invalid arguments."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import comptroller
import polars
import pytest
from lines import control, fresh, load
from reporting import only, ran

KINDS = ("type", "set_by", "reason_code")
COUNTS = ("created", "deleted", "active", "median_days")
DAY = timedelta(days=1)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def made(on: str, until: str | None = None, **members: Any) -> dict[str, Any]:
    """Returns a control that is active from one day to another."""
    given = {"created_at": day(on), "deleted_at": until and day(until)}
    return control(identity_id=fresh("owner"), **{**given, **members})


def test_each_month_counts_changes_and_controls_in_force(operator: comptroller.Service) -> None:
    load(
        operator,
        "controls",
        made("2026-01-01", "2026-01-04"),
        made("2026-01-10", "2026-03-01"),
        made("2026-01-20"),
        made("2026-03-31T23:59:59.999999", "2026-04-01"),
        made("2026-03-02", type="FROZEN", set_by="PROVIDER", is_overridable=False),
        made("2026-03-02", "2026-05-01", reason_code=None),
    )
    rows = ran(operator, "restrictions")
    assert list(rows[0]) == ["month", *KINDS, *COUNTS]
    frozen = ("FROZEN", "PROVIDER", "REQUESTED")
    sell, other = ("SELL_ONLY", "CLIENT", "REQUESTED"), ("SELL_ONLY", "CLIENT", None)
    instant = 1 / 86_400_000_000
    assert only(rows, "month", *KINDS, *COUNTS) == [
        (day("2026-01-01").date(), *sell, 3, 1, 2, 50.0),
        (day("2026-03-01").date(), *frozen, 1, 0, 1, None),
        (day("2026-03-01").date(), *sell, 1, 1, 2, instant),
        (day("2026-03-01").date(), *other, 1, 0, 1, 60.0),
        (day("2026-04-01").date(), *frozen, 0, 0, 1, None),
        (day("2026-04-01").date(), *sell, 0, 1, 1, None),
        (day("2026-04-01").date(), *other, 0, 0, 1, None),
        (day("2026-05-01").date(), *frozen, 0, 0, 1, None),
        (day("2026-05-01").date(), *sell, 0, 0, 1, None),
        (day("2026-05-01").date(), *other, 0, 1, 0, None),
    ]


def test_controls_in_force_count_as_longer_durations(operator: comptroller.Service) -> None:
    load(
        operator,
        "controls",
        *(made("2026-01-01", f"2026-01-0{n}") for n in (2, 3, 4, 5)),
        made("2026-01-03"),  # for two days, until the newest time of all controls
    )
    (row,) = ran(operator, "restrictions", ())
    assert only([row], *KINDS, *COUNTS) == [("SELL_ONLY", "CLIENT", "REQUESTED", 5, 4, 1, 3.0)]


@pytest.mark.parametrize(
    ("by", "periods"),
    [
        ("hour", ["2026-02-01T13:00", "2026-02-02T00:00", "2026-02-09T10:00"]),
        ("day", ["2026-02-01", "2026-02-02", "2026-02-09"]),
        ("week", ["2026-01-26", "2026-02-02", "2026-02-09"]),
        ("month", ["2026-02-01"]),
    ],
)
def test_every_period_groups_them(
    operator: comptroller.Service, by: str, periods: list[str]
) -> None:
    load(operator, "controls", made("2026-02-01T13:30", "2026-02-09T10:59:59"), made("2026-02-02"))
    rows = ran(operator, "restrictions", by)
    starts = [day(each) if by == "hour" else day(each).date() for each in periods]
    assert [row[by] for row in rows] == starts
    assert rows[-1]["active"] == 1


def test_customers_group_them(operator: comptroller.Service) -> None:
    load(operator, "controls", made("2026-01-01", "2026-01-02"))
    load(operator, "controls", made("2026-01-01"), customer_id="acme")
    rows = ran(operator, "restrictions", ("customer", "month"))
    assert only(rows, "customer", "created", "active") == [("acme", 1, 1), ("default", 1, 0)]
    rows = ran(operator, "restrictions", "customer")
    assert only(rows, "customer", "created", "active") == [("acme", 1, 1), ("default", 1, 0)]


def test_without_controls_there_is_no_row(operator: comptroller.Service) -> None:
    for by in ((), ("month",), ("customer", "week")):
        assert ran(operator, "restrictions", by) == []


def test_a_control_is_never_in_force_before_its_creation(
    operator: comptroller.Service,
) -> None:
    load(operator, "controls", made("2026-02-10", "2026-01-01"))
    rows = ran(operator, "restrictions")
    assert only(rows, "month", *COUNTS) == [(day("2026-02-01").date(), 1, 1, 0, 0.0)]


def test_controls_created_outside_a_period_are_omitted(operator: comptroller.Service) -> None:
    load(operator, "controls", *(made(f"2026-0{n}-01", f"2026-0{n + 1}-01") for n in (1, 2, 3)))
    rows = ran(operator, "restrictions", since="2026-02-01", until="2026-03-01")
    assert only(rows, "month", *COUNTS) == [
        (day("2026-02-01").date(), 1, 0, 1, 28.0),
        (day("2026-03-01").date(), 0, 1, 0, None),
    ]


def test_the_longest_possible_time_is_supported(operator: comptroller.Service) -> None:
    load(operator, "controls", made("0001-01-01", "9999-12-31T23:59:59.999999"))
    first, last = ran(operator, "restrictions", "week")
    assert (first["week"], last["week"]) == (day("0001-01-01").date(), day("9999-12-27").date())
    assert first["median_days"] == pytest.approx(3_652_059)


def test_a_client_has_a_report_on_its_own_controls(
    operator: comptroller.Service, acme: comptroller.Service
) -> None:
    load(operator, "controls", made("2026-01-01"))
    load(operator, "controls", made("2026-01-01", "2026-01-02"), customer_id="acme")
    assert only(acme.reports.restrictions().to_dicts(), "created", "active") == [(1, 0)]


def median_days(several: list[comptroller.Control], newest: datetime) -> float | None:
    """The definition of Kaplan and Meier, in fractions."""
    times = [((each.deleted_at or newest) - each.created_at, each.deleted_at) for each in several]
    survivors = Fraction(1)
    for time in sorted({took for took, deleted in times if deleted}):
        ended = sum(took == time and deleted is not None for took, deleted in times)
        survivors *= 1 - Fraction(ended, sum(took >= time for took, _ in times))
        if survivors <= Fraction(1, 2) + Fraction(1, 10**12):
            return time // timedelta(microseconds=1) / 86_400_000_000
    return None


def test_a_sample_matches_a_python_loop(operator: comptroller.Service, tmp_path: Any) -> None:
    comptroller.sample("all", 4_000, seed=5, out=tmp_path / "lines")
    operator.load("controls", tmp_path / "lines" / "controls.ndjson")
    controls = list(operator.controls.iter(include_deleted=True))
    moments = [m for each in controls for m in (each.created_at, each.deleted_at) if m]
    starts = sorted({m.replace(day=1, hour=0, minute=0, second=0, microsecond=0) for m in moments})

    def within(moment: datetime | None, start: datetime) -> bool:
        return moment is not None and starts[bisect_right(starts, moment) - 1] == start

    found = {}
    for start in starts:
        end = (start + 31 * DAY).replace(day=1)
        for kind in {(each.type, each.set_by, each.reason_code) for each in controls}:
            of_kind = [c for c in controls if (c.type, c.set_by, c.reason_code) == kind]
            created = [each for each in of_kind if within(each.created_at, start)]
            lifted = sum(within(each.deleted_at, start) for each in of_kind)
            active = sum(
                each.created_at < end and (each.deleted_at is None or each.deleted_at >= end)
                for each in of_kind
            )
            if created or lifted or active:
                median = median_days(created, max(moments))
                found[start.date(), *kind] = (len(created), lifted, active, median)
    rows = ran(operator, "restrictions")
    assert len(rows) > 50
    assert {only([row], "month", *KINDS)[0]: only([row], *COUNTS)[0] for row in rows} == found


def test_columns_have_their_types(operator: comptroller.Service) -> None:
    assert dict(operator.reports.restrictions().to_polars().schema) == {
        "month": polars.Date,
        **dict.fromkeys(KINDS, polars.String),
        **dict.fromkeys(COUNTS[:3], polars.Int64),
        "median_days": polars.Float64,
    }


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (("chain",), "by: .* give some of customer, hour, day, week, month"),
        (("type",), "by: .* give some of customer"),
        (("day", "month"), "by: several periods"),
        (("month", "month"), "by: duplicate value month"),
    ],
)
def test_invalid_arguments_of_the_summary_are_refused(
    operator: comptroller.Service, by: tuple[str, ...], message: str
) -> None:
    with pytest.raises(comptroller.InvalidRequest, match=message):
        operator.reports.restrictions(by)
