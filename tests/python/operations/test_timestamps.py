"""Timestamps: validation and formatting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings, strategies as st
from lines import fresh, orchestration, refused

SHOWN = [
    ("2026-01-31T23:59:59Z", "2026-01-31T23:59:59.000000Z"),
    ("2026-01-31t23:59:59z", "2026-01-31T23:59:59.000000Z"),
    ("2026-01-31T23:59:59.1Z", "2026-01-31T23:59:59.100000Z"),
    ("2026-01-31T23:59:59.123456Z", "2026-01-31T23:59:59.123456Z"),
    ("2026-01-31T23:59:59.1234569Z", "2026-01-31T23:59:59.123456Z"),
    ("2026-01-31T23:59:59.9999999999Z", "2026-01-31T23:59:59.999999Z"),
    ("2026-01-31T23:59:59." + "9" * 100 + "Z", "2026-01-31T23:59:59.999999Z"),
    ("1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999Z"),
    ("1960-06-01T00:00:00.0000009Z", "1960-06-01T00:00:00.000000Z"),
    ("2026-01-31T23:59:59+00:00", "2026-01-31T23:59:59.000000Z"),
    ("2026-01-31T23:59:59-00:00", "2026-01-31T23:59:59.000000Z"),
    ("2026-02-01T01:29:59+01:30", "2026-01-31T23:59:59.000000Z"),
    ("2026-01-31T15:59:59-08:00", "2026-01-31T23:59:59.000000Z"),
    ("2026-02-01T23:58:59+23:59", "2026-01-31T23:59:59.000000Z"),
    ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00.000000Z"),
    ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000Z"),
    ("2026-01-31", "2026-01-31T00:00:00.000000Z"),
    ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999999Z"),
    ("2016-12-31T23:59:60.5Z", "2016-12-31T23:59:59.999999Z"),
    ("2017-01-01T08:59:60+09:00", "2016-12-31T23:59:59.999999Z"),
    ("2016-12-31T15:59:60-08:00", "2016-12-31T23:59:59.999999Z"),
    ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
    ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ("0001-01-01T05:00:00+05:00", "0001-01-01T00:00:00.000000Z"),
    ("9999-12-31T18:59:59-05:00", "9999-12-31T23:59:59.000000Z"),
]
NO_MOMENT = [
    "",
    "2026-02-29",
    "2026-01-31T23:59:59",
    "2026-01-31 23:59:59Z",
    "2026-01-31T23:59Z",
    "2026-01-31T23:59:59 Z",
    " 2026-01-31T23:59:59Z",
    "2026-01-31T23:59:59Z ",
    "2026-01-31T23:59:59.Z",
    "2026-01-31T23:59:59,5Z",
    "2026-1-31T23:59:59Z",
    "20260131T235959Z",
    "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T23:60:00Z",
    "2026-01-31T23:59:61Z",
    "2026-01-31T12:00:60Z",
    "2026-01-31T23:59:60+01:00",
    "2026-01-31T23:59:59+24:00",
    "2026-01-31T23:59:59+01:60",
    "2026-01-31T23:59:59+0100",
    "2026-01-31T23:59:59+01",
    "0000-12-31T23:59:59Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "10000-01-01T00:00:00Z",
    "-001-01-01T00:00:00Z",
    "\uff12\uff1026-01-31T23:59:59Z",
    "1769903999",
]


@pytest.mark.parametrize(("given", "shown"), SHOWN)
def test_a_time_is_shown_in_utc_with_microseconds_cut_not_rounded(
    shared_operator, shared_core_client, given, shown
):
    name = fresh("move")
    made = shared_operator.orchestrations.put(orchestration(id=name, created_at=given))
    assert made.created_at.utcoffset() == timedelta(0)
    assert shared_core_client("orchestrations.get", {"id": name})["created_at"] == shown
    if ":60" not in given:
        found = shared_operator.orchestrations.list(created_at_eq=given, orchestration_id=name)
        assert len(found) == 1


@pytest.mark.parametrize("text", NO_MOMENT)
def test_an_invalid_time_is_refused_in_bodies_and_parameters(shared_operator, text):
    with refused("invalid-request", 400) as caught:
        shared_operator.orchestrations.put(orchestration(created_at=text))
    assert [error.field for error in caught.value.errors] == ["created_at"]
    with refused("invalid-request", 400) as caught:
        shared_operator.claims.list(start_time=text)
    assert [error.field for error in caught.value.errors] == ["start_time"]


NAIVE = datetime(2026, 1, 31, 12)


@pytest.mark.parametrize(
    "ask",
    [
        lambda o: o.orchestrations.list(created_at_lt=NAIVE),
        lambda o: o.claims.list(start_time=NAIVE),
        lambda o: o.controls.list(active_at=NAIVE),
        lambda o: o.reward_addresses.list(balance_timestamp=NAIVE),
        lambda o: o.identities.permits("a", "BUY", at=NAIVE),
        lambda o: o.claims.submit("a", tx_hash="t", at=NAIVE),
        lambda o: o.claims.confirm("a", at=NAIVE),
        lambda o: o.orchestrations.put(orchestration(created_at=NAIVE)),
    ],
)
def test_the_error_for_a_naive_datetime_names_a_remedy(shared_operator, ask):
    with refused("invalid-request", 400) as caught:
        ask(shared_operator)
    assert "time zone" in caught.value.detail


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
        datetime(2026, 7, 1, 12, 0, 0, 1, timezone(timedelta(hours=5, minutes=30))),
        datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    ],
)
def test_an_aware_datetime_is_the_same_time(shared_operator, moment):
    made = shared_operator.orchestrations.put(orchestration(created_at=moment))
    assert made.created_at == moment
    assert made in shared_operator.orchestrations.list(created_at_eq=moment).items


@settings(max_examples=40)
@given(
    st.datetimes(
        min_value=datetime(1, 1, 2),
        max_value=datetime(9999, 12, 30),
        timezones=st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m))),
    )
)
def test_every_time_comes_back_to_the_microsecond(shared_operator, moment):
    made = shared_operator.orchestrations.put(orchestration(created_at=moment.isoformat()))
    assert made.created_at == moment
