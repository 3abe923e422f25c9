"""The summary of claims: counts, keys, exact sums, and invalid arguments."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from typing import Any

import comptroller
import pytest
from lines import claim, group, load
from reporting import MONEY, only, ran, total

AMOUNTS = ("confirmed_amount", "waiting_amount", "failed_amount")
GROUP = "01900000-0000-7000-8000-0000000000aa"


def confirmed(**members: Any) -> dict[str, Any]:
    return claim(**{"onchain_status": "CONFIRMED", **members})


def hour(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def claims(operator: comptroller.Service) -> comptroller.Service:
    """Four claims of two chains over a weekend, a Monday and a new month."""
    load(operator, "payout-groups", group(id=GROUP, jurisdiction="CH", asset_type="ETH"))
    rows: list[dict[str, Any]] = [
        {"blockchain": "INK", "amount": "1.5", "created_at": "2026-01-31T23:59:59.999999Z"},
        {"blockchain": "INK", "amount": "0.000000000000000001", "onchain_status": "FAILED"},
        {"blockchain": "BASE", "amount": "2", "created_at": "2026-02-02T00:00:00Z"},
        {"blockchain": None, "amount": "3", "onchain_status": "PENDING"},
    ]
    middle = {
        "payout_group_id": GROUP,
        "asset_type": "ETH",
        "created_at": "2026-02-01T12:30:00Z",
        "onchain_status": "CONFIRMED",
    }
    load(operator, "claims", *(claim(id=str(n), **(middle | row)) for n, row in enumerate(rows)))
    return operator


def test_it_counts_sums_and_computes_shares(claims: comptroller.Service) -> None:
    rows = ran(claims, "claims_summary", ("chain",))
    assert list(rows[0]) == [
        *("chain", "asset", "claims", "confirmed_amount", "waiting_amount", "failed_amount"),
        *("claims_share", "amount_share", "confirmed", "failed", "success_rate"),
    ]
    exact, none = Decimal("0.000000000000000001"), Decimal(0)
    assert only(rows, "chain", "claims", *AMOUNTS, "confirmed", "failed", "success_rate") == [
        ("BASE", 1, Decimal(2), none, none, 1, 0, 1.0),
        ("INK", 2, Decimal("1.5"), none, exact, 1, 1, 0.5),
        (None, 1, none, Decimal(3), none, 0, 0, None),
    ]
    assert [row["claims_share"] for row in rows] == [0.25, 0.5, 0.25]
    assert [row["amount_share"] for row in rows] == pytest.approx([2 / 3.5, 1.5 / 3.5, 0])


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("status", ["CONFIRMED", "FAILED", "PENDING"]),
        ("chain", ["BASE", "INK", None]),
        ("asset", ["ETH"]),
        ("jurisdiction", ["CH"]),
        ("group", [GROUP]),
        ("customer", ["default"]),
        ("claim_type", ["CLAIM_ALL"]),
        ("schedule", [None]),
        ("address", [None]),
        ("hour", [hour("2026-01-31T23:00"), hour("2026-02-01T12:00"), hour("2026-02-02")]),
        ("day", [date(2026, 1, 31), date(2026, 2, 1), date(2026, 2, 2)]),
        ("week", [date(2026, 1, 26), date(2026, 2, 2)]),
        ("month", [date(2026, 1, 1), date(2026, 2, 1)]),
    ],
)
def test_every_key_groups_the_claims(
    claims: comptroller.Service, by: str, keys: list[object]
) -> None:
    rows = ran(claims, "claims_summary", (by,))
    assert [row[by] for row in rows] == keys
    assert sum(row["claims"] for row in rows) == 4
    assert [total(rows, amount) for amount in AMOUNTS] == [
        Decimal("3.5"),
        Decimal(3),
        Decimal("0.000000000000000001"),
    ]


def test_keys_combine_in_the_order_they_are_given(claims: comptroller.Service) -> None:
    rows = ran(claims, "claims_summary", ("week", "status"))
    assert only(rows, "week", "status", "claims") == [
        (date(2026, 1, 26), "CONFIRMED", 1),
        (date(2026, 1, 26), "FAILED", 1),
        (date(2026, 1, 26), "PENDING", 1),
        (date(2026, 2, 2), "CONFIRMED", 1),
    ]


def test_without_keys_there_is_one_row(claims: comptroller.Service) -> None:
    (row,) = ran(claims, "claims_summary", ())
    assert (row["claims"], row["claims_share"], row["amount_share"]) == (4, 1.0, 1.0)


@pytest.mark.parametrize(
    ("since", "until", "found"),
    [
        ("2026-02-01T12:30:00Z", None, 3),
        ("2026-02-01T12:30:00.000001Z", None, 1),
        (None, "2026-02-01T12:30:00Z", 1),
        (None, "2026-02-01T12:30:00.000001Z", 3),
        ("2026-02-01", "2026-02-02", 2),
        (datetime(2026, 2, 1, tzinfo=UTC).date(), datetime(2026, 2, 2, tzinfo=UTC), 2),
        ("2026-02-01T14:00:00+01:30", None, 3),
    ],
)
def test_a_period_includes_its_start_and_not_its_end(
    claims: comptroller.Service, since: Any, until: Any, found: int
) -> None:
    (row,) = ran(claims, "claims_summary", (), since=since, until=until)
    assert row["claims"] == found


def test_a_period_that_ends_before_it_begins_is_refused(claims: comptroller.Service) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="until: must not be before since"):
        claims.reports.claims_summary(since="2026-02-02", until="2026-02-01")
    assert len(claims.reports.claims_summary(since="2026-02-01", until="2026-02-01")) == 0


def test_no_claims_give_no_rows(operator: comptroller.Service) -> None:
    for by in ((), ("chain", "day"), ("week", "jurisdiction")):
        assert ran(operator, "claims_summary", by) == []


def test_claims_of_an_unknown_group_have_no_jurisdiction(operator: comptroller.Service) -> None:
    load(operator, "claims", claim(id="1"))
    assert only(ran(operator, "claims_summary", "jurisdiction"), "jurisdiction", "claims") == [
        (None, 1)
    ]


def test_a_client_has_reports_of_its_own(claims: comptroller.Service, open_as: Any) -> None:
    load(claims, "claims", claim(id="theirs"), customer_id="other")
    mine = open_as(customer="default")
    assert mine.reports.claims_summary(()).to_dicts()[0]["claims"] == 4


def test_amounts_of_different_assets_are_never_summed(operator: comptroller.Service) -> None:
    assets = ("ETH", "RPL", "ETH", None)
    load(
        operator,
        "claims",
        *(confirmed(amount=f"{n}", asset_type=each) for n, each in enumerate(assets)),
    )
    rows = ran(operator, "claims_summary", ())
    assert only(rows, "asset", "claims", "confirmed_amount", "claims_share", "amount_share") == [
        ("ETH", 2, Decimal(2), 0.5, 1.0),
        ("RPL", 1, Decimal(1), 0.25, 1.0),
        (None, 1, Decimal(3), 0.25, 1.0),
    ]
    (first, *_) = ran(operator, "claims_summary", ("asset", "chain"))
    assert list(first)[:3] == ["asset", "chain", "claims"]


def test_schedules_and_addresses_group_claims(operator: comptroller.Service) -> None:
    one, two = (f"0x{digit * 40}" for digit in "ab")
    load(
        operator,
        "claims",
        confirmed(claim_schedule_id="daily", addresses=[one, two], amount="1"),
        confirmed(claim_schedule_id="daily", addresses=[one], amount="2"),
        confirmed(addresses=[], amount="4"),
    )
    rows = ran(operator, "claims_summary", "schedule")
    assert only(rows, "schedule", "claims") == [("daily", 2), (None, 1)]
    rows = ran(operator, "claims_summary", "address")  # a claim with two addresses counts for both
    assert only(rows, "address", "claims", "confirmed_amount") == [
        (one, 2, Decimal(3)),
        (two, 1, Decimal(1)),
        (None, 1, Decimal(4)),
    ]
    assert sum(row["claims"] for row in ran(operator, "claims_summary", ())) == 3


def test_sums_are_those_of_decimal(operator: comptroller.Service) -> None:
    operator.load("claims", comptroller.sample("claims", rows=5_000, seed=3))
    rows = ran(operator, "claims_summary", ("asset", "week"))
    sums: dict[tuple[object, ...], Decimal] = {}
    amounts = {"CONFIRMED": AMOUNTS[0], "FAILED": AMOUNTS[2]}
    with localcontext(prec=60):
        for each in operator.claims.iter():
            began = each.created_at.replace(hour=0, minute=0, second=0, microsecond=0)
            amount = amounts.get(each.onchain_status, AMOUNTS[1])
            key = (each.asset_type, began.toordinal() - began.weekday(), amount)
            sums[key] = sums.get(key, Decimal(0)) + each.amount
    found = {
        (row["asset"], row["week"].toordinal(), amount): row[amount]
        for row in rows
        for amount in AMOUNTS
    }
    assert {key: amount for key, amount in found.items() if amount} == sums


LARGEST = "99999999999999999999.999999999999999999"


@pytest.mark.parametrize("amounts", [(LARGEST, "0.000000000000000001"), (LARGEST, LARGEST)])
def test_an_oversized_sum_is_null(operator: comptroller.Service, amounts: tuple[str, ...]) -> None:
    large = (confirmed(id=str(n), amount=each, asset_type="ETH") for n, each in enumerate(amounts))
    ours = confirmed(amount="2", blockchain="INK", asset_type="ETH")
    load(operator, "claims", *large, ours, confirmed(amount="3", asset_type="LDO"))
    rows = ran(operator, "claims_summary", "chain")
    assert only(rows, "chain", "asset", "claims", "confirmed_amount", "amount_share") == [
        ("INK", "ETH", 1, Decimal(2), None),
        (None, "ETH", 2, None, None),
        (None, "LDO", 1, Decimal(3), 1.0),
    ]
    report = operator.reports.claims_summary("chain")
    assert report.summary.endswith(
        "3 rows, amounts of more than 20 digits before the point left empty"
    )
    load(
        operator,
        "claims",
        confirmed(id="0", amount="0", asset_type="ETH", updated_at="2027-01-01T00:00:00Z"),
    )
    assert "left empty" not in operator.reports.claims_summary("chain").summary


def test_shares_are_of_oversized_sums(operator: comptroller.Service) -> None:
    days = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z")
    load(operator, "claims", *(confirmed(amount=LARGEST, created_at=each) for each in days))
    rows = ran(operator, "claims_summary", "day")
    assert [row["confirmed_amount"] for row in rows] == [Decimal(LARGEST)] * 3
    assert [row["amount_share"] for row in rows] == pytest.approx([1 / 3] * 3)


def test_money_is_never_a_float(claims: comptroller.Service) -> None:
    assert claims.reports.claims_summary().to_polars().schema["confirmed_amount"] == MONEY


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by": ("colour",)}, "by: .* give some of status, chain"),
        ({"by": ("chain", "chain")}, "by: duplicate value chain"),
        ({"by": None}, "by: .* give some of status, chain"),
        ({"by": 5}, "by: .* give some of status, chain"),
        ({"since": "2026-01-01 00:00:00Z"}, "since: must be a date such as"),
        ({"engine": "polars"}, "engine: must be one of duckdb, postgresql, spark, or an engine"),
        ({"since": "yesterday"}, "since: must be a date such as"),
        ({"until": "2026-02-01T00:00:00"}, "until: must be a date such as"),
        ({"since": datetime(2026, 2, 1)}, "since"),
    ],
)
def test_invalid_arguments_of_the_summary_are_refused(
    operator: comptroller.Service, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(comptroller.InvalidRequest, match=message):
        operator.reports.claims_summary(**given)


@pytest.mark.parametrize("count", [999, 1001], ids=["enumeration", "texts"])
def test_many_assets_and_jurisdictions_keep_their_names_and_order(
    operator: comptroller.Service, count: int
) -> None:
    # Reports read up to 1,000 different texts as an enumeration.
    names = [f"it's {n}" for n in range(count)] + [None]
    groups = [f"{GROUP[:-4]}{n:04x}" for n in range(len(names))]
    load(
        operator,
        "payout-groups",
        *(group(id=id, jurisdiction=name) for id, name in zip(groups, names, strict=True)),
    )
    claims = (
        confirmed(id=str(n), payout_group_id=id, asset_type=name, amount=str(n))
        for n, (id, name) in enumerate(zip(groups, names, strict=True))
    )
    load(operator, "claims", *claims)
    rows = ran(operator, "claims_summary", ("jurisdiction",))
    assert only(rows, "jurisdiction", "asset") == [
        *((name, name) for name in sorted(names[:-1])),
        (None, None),
    ]
    amounts = [row["confirmed_amount"] for row in rows]
    assert amounts == [Decimal(names.index(row["asset"])) for row in rows]
