"""The report of claims: exact, per asset, and the same whoever counts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any

import comptroller
import pytest
from comptroller.counting.totals import DIMENSIONS, Totals
from comptroller.report import ClaimsReport, claims_report, day_bounds
from hypothesis import given, settings
from hypothesis import strategies as st

ENGINES = ["python", "duckdb"]
GROUPS = {
    "11111111-1111-4111-8111-111111111111": "DE",
    "22222222-2222-4222-8222-222222222222": "SG",
    "33333333-3333-4333-8333-333333333333": None,  # not in the store
}
FIRST, SECOND, UNKNOWN = GROUPS
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
HUGE = "99999999999999999999.999999999999999999"


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "duckdb":
        pytest.importorskip("duckdb")
    return str(request.param)


@pytest.fixture
def svc() -> Iterator[comptroller.Service]:
    with store_of([]) as made:
        yield made


def store_of(claims: Iterable[dict[str, Any]]) -> comptroller.Service:
    svc = comptroller.open(":memory:")
    groups = [
        {"id": id, "ledger": "ETHEREUM", "jurisdiction": place, "created_at": NOON}
        for id, place in GROUPS.items()
        if place
    ]
    assert svc.load("payout-groups", groups).committed
    load(svc, claims)
    return svc


def load(svc: comptroller.Service, claims: Iterable[dict[str, Any]]) -> None:
    result = svc.load("claims", claims)
    assert result.committed, result.rejections


def claim(number: int, status: str = "PENDING", **members: object) -> dict[str, Any]:
    given = {
        "id": f"claim-{number}",
        "payout_group_id": FIRST,
        "claim_type": "CLAIM_ALL",
        "onchain_status": status,
        "amount": "1",
        "blockchain": "ETHEREUM",
        "asset_type": "RPL",
        "created_at": NOON,
        **members,
    }
    return {name: value for name, value in given.items() if value is not None}


def confirmed(number: int, seconds: float, **members: object) -> dict[str, Any]:
    times = {"submitted_at": NOON, "confirmed_at": NOON + timedelta(seconds=seconds)}
    return claim(number, "CONFIRMED", **times, **members)


def rows(report: ClaimsReport, *by: str) -> dict[Any, Totals]:
    (found,) = (each for each in report.breakdowns if each.by == by)
    return {row.key if len(by) > 1 else row.key[0]: row for row in found.rows}


def test_an_empty_store_has_an_empty_report(svc: comptroller.Service, engine: str) -> None:
    report = claims_report(svc, engine=engine)
    assert report.total == Totals(key=(), claims=0, confirmed=0, failed=0, assets=())
    assert report.total.success_rate is None
    assert [each.rows for each in report.breakdowns] == [(), (), (), ()]
    assert report.failures == ()


def test_assets_are_never_added_to_each_other(svc: comptroller.Service, engine: str) -> None:
    load(
        svc,
        [
            claim(1, amount="1.50", asset_type="RPL"),
            claim(2, amount="0.000000000000000001", asset_type="ETH"),
            claim(3, amount="0.50", asset_type="RPL"),
            claim(4, amount="7", asset_type=None),
        ],
    )
    assets = claims_report(svc, engine=engine).total.assets
    assert [(each.asset, each.claims, str(each.amount)) for each in assets] == [
        ("ETH", 1, "1E-18"),
        ("RPL", 2, "2"),
        (None, 1, "7"),
    ]


def test_sums_pass_the_digits_of_a_decimal(svc: comptroller.Service, engine: str) -> None:
    load(svc, (claim(n, amount=HUGE) for n in range(1000)))
    (asset,) = claims_report(svc, engine=engine).total.assets
    with localcontext(prec=60):
        assert asset.amount == Decimal(HUGE) * 1000


def test_shuffled_amounts_have_one_sum(engine: str) -> None:
    dice = random.Random(7)
    amounts = [Decimal(dice.randrange(10**38)).scaleb(-18) for _ in range(200)]
    with localcontext(prec=60):
        total = sum(amounts)
    for _ in range(5):
        dice.shuffle(amounts)
        with store_of(claim(n, amount=each) for n, each in enumerate(amounts)) as svc:
            (asset,) = claims_report(svc, engine=engine).total.assets
            assert asset.amount == total


def test_success_is_confirmed_of_what_has_ended(svc: comptroller.Service, engine: str) -> None:
    load(
        svc,
        [
            claim(1, "PENDING"),
            claim(2, "SUBMITTED", submitted_at=NOON),
            confirmed(3, 1),
            confirmed(4, 1),
            claim(5, "FAILED", error_message="out of gas"),
            claim(6, "FAILED", error_message="out of gas", blockchain="INK"),
        ],
    )
    report = claims_report(svc, engine=engine)
    assert report.total.success_rate == 0.5
    assert {key: row.success_rate for key, row in rows(report, "chain").items()} == {
        "ETHEREUM": 0.666667,
        "INK": 0.0,
    }
    assert list(rows(report, "status")) == ["PENDING", "SUBMITTED", "CONFIRMED", "FAILED"]


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([5], (5, 5, 5)),
        ([1, 2], (1, 2, 2)),
        (range(1, 101), (50, 90, 99)),
        (range(1, 102), (51, 91, 100)),
        ([3, 1, 2], (2, 3, 3)),
        ([-1, 0.000001], (-1, 0.000001, 0.000001)),
    ],
)
def test_times_to_confirm_are_by_nearest_rank(
    engine: str, spans: Iterable[float], expected: tuple[float, ...]
) -> None:
    with store_of(confirmed(n, seconds) for n, seconds in enumerate(spans)) as svc:
        times = claims_report(svc, engine=engine).total.time_to_confirm
    assert times is not None
    assert (times.p50_us, times.p90_us, times.p99_us) == tuple(
        round(seconds * 1_000_000) for seconds in expected
    )


def test_only_confirmed_claims_with_both_times_have_a_time(
    svc: comptroller.Service, engine: str
) -> None:
    load(
        svc,
        [
            confirmed(1, 10),
            claim(2, "CONFIRMED", confirmed_at=NOON),
            claim(3, "CONFIRMED", submitted_at=NOON),
            claim(4, "FAILED", submitted_at=NOON, confirmed_at=NOON, error_message="reverted"),
        ],
    )
    report = claims_report(svc, engine=engine)
    assert report.total.confirmed == 3
    assert report.total.time_to_confirm is not None
    assert report.total.time_to_confirm.claims == 1
    assert rows(report, "status")["FAILED"].time_to_confirm is None


def test_failures_are_counted_by_message(svc: comptroller.Service, engine: str) -> None:
    messages = ["out of gas", "nonce too low", "out of gas", None, "a"]
    load(svc, (claim(n, "FAILED", error_message=each) for n, each in enumerate(messages)))
    # A message that a claim carries though it did not fail is no failure.
    load(svc, [claim(9, "PENDING", error_message="nonce too low")])
    failures = claims_report(svc, engine=engine).failures
    assert [(each.message, each.claims) for each in failures] == [
        ("out of gas", 2),
        ("a", 1),
        ("nonce too low", 1),
        (None, 1),
    ]


def test_a_jurisdiction_is_the_present_one_of_the_group(
    svc: comptroller.Service, engine: str
) -> None:
    load(svc, [claim(1, payout_group_id=SECOND), claim(2, payout_group_id=UNKNOWN)])
    svc.payout_groups.update(SECOND, jurisdiction="US")
    assert list(rows(claims_report(svc, engine=engine), "jurisdiction")) == ["US", None]


def test_days_are_of_utc(svc: comptroller.Service, engine: str) -> None:
    moments = [
        "2026-01-31T23:59:59.999999Z",
        "2026-02-01T01:00:00+02:00",
        "2026-02-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    ]
    load(svc, (claim(n, created_at=each) for n, each in enumerate(moments)))
    days = rows(claims_report(svc, engine=engine), "day")
    assert {day: row.claims for day, row in days.items()} == {
        "0001-01-01": 1,
        "2026-01-31": 2,
        "2026-02-01": 1,
        "9999-12-31": 1,
    }


def test_a_period_includes_both_its_bounds(svc: comptroller.Service, engine: str) -> None:
    microsecond = timedelta(microseconds=1)
    moments = [NOON - microsecond, NOON, NOON + microsecond, NOON + 2 * microsecond]
    load(svc, (claim(n, created_at=each) for n, each in enumerate(moments)))
    report = claims_report(svc, start=NOON, end=NOON + microsecond, engine=engine)
    assert report.total.claims == 2
    assert (report.start, report.end) == (
        "2026-01-31T12:00:00.000000Z",
        "2026-01-31T12:00:00.000001Z",
    )


def test_a_customer_is_reported_alone(svc: comptroller.Service, engine: str) -> None:
    group = {"id": UNKNOWN, "ledger": "INK", "jurisdiction": "FR", "created_at": NOON}
    assert svc.load("payout-groups", [group], customer_id="acme").committed
    load(svc, [claim(1)])
    assert svc.load("claims", [claim(2, payout_group_id=UNKNOWN)], customer_id="acme").committed
    assert claims_report(svc, engine=engine).total.claims == 2
    report = claims_report(svc, customer_id="acme", engine=engine)
    assert list(rows(report, "jurisdiction")) == ["FR"]
    assert claims_report(svc, customer_id="nobody", engine=engine).total.claims == 0


def test_dimensions_combine(svc: comptroller.Service, engine: str) -> None:
    load(svc, [claim(1), claim(2, blockchain="INK"), claim(3, blockchain="INK"), confirmed(4, 1)])
    report = claims_report(svc, by=[("chain", "status"), ("day",)], engine=engine)
    assert {key: row.claims for key, row in rows(report, "chain", "status").items()} == {
        ("ETHEREUM", "PENDING"): 1,
        ("ETHEREUM", "CONFIRMED"): 1,
        ("INK", "PENDING"): 2,
    }


def test_unknown_words_are_refused(svc: comptroller.Service) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="did you mean 'chain'"):
        claims_report(svc, by=[("chian",)])
    with pytest.raises(comptroller.InvalidRequest, match="allowed are duckdb, python"):
        claims_report(svc, engine="x")
    with pytest.raises(comptroller.InvalidRequest, match="start"):
        claims_report(svc, start="yesterday")


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=4)
amounts = st.decimals(0, HUGE, places=18).map(lambda amount: format(amount, "f"))
claims = st.lists(
    st.fixed_dictionaries(
        {
            "status": st.sampled_from(["PENDING", "SUBMITTED", "CONFIRMED", "FAILED"]),
            "amount": st.one_of(amounts, st.sampled_from([HUGE, "0", "1.0", "1"])),
            "payout_group_id": st.sampled_from(list(GROUPS)),
            "asset_type": st.one_of(st.sampled_from(["RPL", "ETH", None]), words),
            "blockchain": st.one_of(st.sampled_from(["ETHEREUM", "INK", None]), words),
            "error_message": st.sampled_from(["out of gas", "reverted", None]),
            "created_at": st.datetimes(timezones=st.just(UTC)),
            "submitted_at": st.one_of(st.none(), st.datetimes(timezones=st.just(UTC))),
            "confirmed_at": st.one_of(st.none(), st.datetimes(timezones=st.just(UTC))),
        }
    ),
    max_size=40,
)


@settings(max_examples=40, deadline=None)
@given(claims)
def test_both_engines_give_the_same_answer(given: list[dict[str, Any]]) -> None:
    pytest.importorskip("duckdb")
    by = [*((name,) for name in DIMENSIONS), ("chain", "day"), DIMENSIONS]
    with store_of(claim(n, **each) for n, each in enumerate(given)) as svc:
        by_duckdb = claims_report(svc, by=by, engine="duckdb")
        by_python = claims_report(svc, by=by, engine="python")
    assert by_duckdb == by_python
    # Equal decimals may still be written differently.
    assert repr(by_duckdb) == repr(by_python)
    assert by_python.total.claims == len(given)
    for breakdown in by_python.breakdowns:
        assert sum(row.claims for row in breakdown.rows) == len(given)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (None, None, (None, None)),
        (
            "2026-01-31",
            "2026-01-31",
            ("2026-01-31T00:00:00Z", "2026-01-31T23:59:59.999999Z"),
        ),
        ("2026-02-30", "0000-01-01", ("2026-02-30", "0000-01-01")),
        ("2026-01-31T12:00:00Z", None, ("2026-01-31T12:00:00Z", None)),
        ("9999-12-31", "9999-12-31", ("9999-12-31T00:00:00Z", "9999-12-31T23:59:59.999999Z")),
    ],
)
def test_a_date_stands_for_its_whole_day(
    start: str | None, end: str | None, expected: tuple[str | None, str | None]
) -> None:
    assert day_bounds(start, end) == expected
