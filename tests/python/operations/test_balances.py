"""Balances: the recorded holdings of an address, and its balance as of a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from lines import address, at, ids, load, refused

NUMBERED = "01900000-0000-7000-8000-00000000000"
FIRST, SECOND, UNKNOWN = NUMBERED + "1", NUMBERED + "2", NUMBERED + "f"
MOMENT = timedelta(microseconds=1)
SNAPSHOTS = {at(days=1): "10.5", at(days=3): "0", at(days=5): "7.000000000000000001"}


@pytest.fixture
def recorder(operator):
    """The operator, with two addresses of acme; the first has three snapshots."""
    load(operator, "reward-addresses", address(id=FIRST), address(id=SECOND), customer_id="acme")
    for moment, balance in SNAPSHOTS.items():
        operator.balances.record(address_id=FIRST, balance=balance, at=moment)
    return operator


@pytest.mark.parametrize(
    ("moment", "balance"),
    [
        (at(days=0), "0"),
        (at(days=1) - MOMENT, "0"),
        (at(days=1), "10.5"),
        (at(days=1) + MOMENT, "10.5"),
        (at(days=3) - MOMENT, "10.5"),
        (at(days=3), "0"),
        (at(days=5) - MOMENT, "0"),
        (at(days=5), "7.000000000000000001"),
        (at(days=9999), "7.000000000000000001"),
        ("2026-01-02T01:00:00+01:00", "10.5"),
        (None, "7.000000000000000001"),
    ],
)
def test_a_balance_is_the_newest_snapshot_at_or_before_the_time(recorder, acme, moment, balance):
    shown = acme.reward_addresses.list(id=FIRST, include_balance=True, balance_timestamp=moment)
    assert [(a.id, a.balance) for a in shown] == [(FIRST, Decimal(balance))]
    assert str(shown[0].balance) == balance


def test_now_is_the_default_so_that_later_snapshots_do_not_show(recorder):
    later = datetime.now(UTC) + timedelta(days=1)
    recorder.balances.record(address_id=SECOND, balance="3", at=later)
    (shown,) = recorder.reward_addresses.list(id=SECOND, include_balance=True)
    assert shown.balance == 0
    (shown,) = recorder.reward_addresses.list(
        id=SECOND, include_balance=True, balance_timestamp=later
    )
    assert shown.balance == 3


def test_an_address_without_snapshot_has_the_balance_zero(recorder, acme):
    shown = {a.id: a.balance for a in acme.reward_addresses.list(include_balance=True)}
    assert shown == {FIRST: Decimal("7.000000000000000001"), SECOND: Decimal(0)}


@pytest.mark.parametrize("how", [{}, {"include_balance": False}, {"balance_timestamp": at(days=9)}])
def test_a_balance_is_shown_only_on_request(recorder, acme, how):
    assert [a.balance for a in acme.reward_addresses.list(**how)] == [None, None]
    assert acme.reward_addresses.get(FIRST).balance is None


def test_an_unrequested_balance_is_omitted(recorder, core_client):
    shown = core_client("reward_addresses.list", {"id": FIRST})["items"][0]
    assert "balance" not in shown
    shown = core_client("reward_addresses.list", {"id": FIRST, "include_balance": "true"})["items"][
        0
    ]
    assert shown["balance"] == "7.000000000000000001"


def test_recording_answers_what_was_recorded(recorder):
    made = recorder.balances.record(address_id=SECOND.upper(), balance=Decimal("1.50"), at=at(1))
    assert (made.address_id, str(made.balance), made.at) == (SECOND, "1.50", at(1))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [(FIRST, 5), (SECOND, 3), (FIRST, 3), (FIRST, 1)]),
        ({"order": "ASC"}, [(FIRST, 1), (FIRST, 3), (SECOND, 3), (FIRST, 5)]),
        ({"address_id": FIRST}, [(FIRST, 5), (FIRST, 3), (FIRST, 1)]),
        ({"address_id": SECOND}, [(SECOND, 3)]),
        ({"address_id": UNKNOWN}, []),
    ],
    ids=repr,
)
def test_the_list_is_sorted_by_time_and_filtered_by_address(recorder, filters, expected):
    recorder.balances.record(address_id=SECOND, balance="4", at=at(days=3))
    shown = recorder.balances.list(**filters)
    assert [(b.address_id, b.at) for b in shown] == [(a, at(days=d)) for a, d in expected]
    assert list(recorder.balances.iter(limit=1, **filters)) == shown.items


def test_the_same_snapshot_again_changes_nothing(recorder):
    again = recorder.balances.record(address_id=FIRST, balance="10.50", at=at(days=1))
    assert again.balance == Decimal("10.5")
    assert len(recorder.balances.list(address_id=FIRST)) == 3


def test_another_value_at_the_same_time_is_a_conflict(recorder):
    with refused("already-exists", 409):
        recorder.balances.record(address_id=FIRST, balance="10.51", at=at(days=1))
    recorder.balances.record(address_id=SECOND, balance="10.51", at=at(days=1))
    assert len(recorder.balances.list()) == 4


@pytest.mark.parametrize("balance", ["-0.1", "1e3", "", "NaN", "1" * 21, "0." + "1" * 19])
def test_an_invalid_balance_is_refused(recorder, balance):
    with refused("invalid-request", 400):
        recorder.balances.record(address_id=SECOND, balance=balance, at=at(1))
    assert recorder.balances.list(address_id=SECOND).items == []


def test_a_float_balance_and_a_naive_time_are_refused(recorder):
    for members in ({"balance": 1.5, "at": at(1)}, {"balance": "1", "at": datetime(2026, 1, 1)}):
        with refused("invalid-request", 400):
            recorder.balances.record(address_id=SECOND, **members)
    assert recorder.balances.list(address_id=SECOND).items == []


def test_an_unknown_address_is_not_found(recorder):
    with refused("not-found", 404):
        recorder.balances.record(address_id=UNKNOWN, balance="1", at=at(1))


def test_a_malformed_address_id_is_an_invalid_request(recorder):
    with refused("invalid-request", 400):
        recorder.balances.record(address_id="no-uuid", balance="1", at=at(1))
    with refused("invalid-request", 400):
        recorder.balances.list(address_id="no-uuid")


def test_only_the_operator_may_use_balances(recorder, acme):
    with refused("insufficient-scope", 403):
        acme.balances.list()
    with refused("insufficient-scope", 403):
        acme.balances.record(address_id=FIRST, balance="1", at=at(1))


def test_balances_do_not_disturb_the_filters_of_addresses(recorder, acme):
    shown = acme.reward_addresses.list(include_balance=True, ledger="ETHEREUM", order="ASC")
    assert ids(shown) == [FIRST, SECOND]


def shown(service, **filters):
    rows = service.reward_addresses.stream(**filters).to_arrow().to_pylist()
    return {row["id"]: row["balance"] for row in rows}


def listed(service, **filters):
    return {record.id: record.balance for record in service.reward_addresses.iter(**filters)}


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"include_balance": False},
        {"include_balance": True},
        {"include_balance": True, "balance_timestamp": at(0)},
        {"balance_timestamp": at(0)},
    ],
)
def test_a_stream_shows_the_balances_that_the_list_shows(recorder, acme, filters):
    ahead = datetime.now(UTC) + timedelta(days=1000)
    for record in recorder.reward_addresses.list():
        recorder.balances.record(address_id=record.id, balance="777", at=ahead)
    for service in (recorder, acme):
        assert shown(service, **filters) == listed(service, **filters)


def test_the_stream_of_a_balance_alone_shows_it_only_when_asked(recorder):
    stream = recorder.reward_addresses.stream
    assert {row["balance"] for row in stream(["balance"]).to_arrow().to_pylist()} == {None}
    asked = stream(["balance"], include_balance=True).to_arrow().to_pylist()
    assert None not in {row["balance"] for row in asked}


def test_only_a_parquet_export_on_request_has_balances(recorder, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    recorder.export("reward-addresses", tmp_path / "a.ndjson", include_balance=True)
    assert '"balance"' not in (tmp_path / "a.ndjson").read_text()

    def balances(**filters):
        recorder.export("reward-addresses", tmp_path / "a.parquet", "parquet", **filters)
        query = f"SELECT count(balance) FROM '{tmp_path / 'a.parquet'}'"
        return duckdb.sql(query).fetchall()[0][0]

    assert balances() == 0
    assert balances(include_balance=True) == len(recorder.reward_addresses.list().items)


def test_recording_a_value_again_returns_the_stored_one(recorder):
    (first, *_) = recorder.reward_addresses.list()
    kept = recorder.balances.record(address_id=first.id, balance="1.50", at=at(days=300))
    again = recorder.balances.record(address_id=first.id, balance="1.5", at=at(days=300))
    assert str(again.balance) == str(kept.balance) == "1.50"
