"""Failures: messages, recovered failures, exact sums, and invalid arguments."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from decimal import Decimal, localcontext
from typing import Any

import comptroller
import polars
import pytest
from lines import START, at, claim, group, load
from reporting import MONEY, only, ran

COLUMNS = (
    *("error_message", "failures", "amount", "groups", "made_good", "made_good_amount"),
    *("first_at", "last_at"),
)
ONE, TWO = (f"01900000-0000-7000-8000-0000000000{each}" for each in ("aa", "bb"))
LARGEST = "99999999999999999999.999999999999999999"
LEAST = "0.000000000000000001"


def failed(message: str | None, second: float, group_id: str = ONE, **members: Any) -> Any:
    """Returns a failed claim of a group, created at a time."""
    given = {"onchain_status": "FAILED", "error_message": message, "payout_group_id": group_id}
    return claim(**{**given, "created_at": at(second), "blockchain": "INK", **members})


def confirmed(second: float, group_id: str = ONE, **members: Any) -> Any:
    """Returns a confirmed claim of a group, created at a time."""
    return failed(None, second, group_id, onchain_status="CONFIRMED", **members)


def test_failures_are_grouped_by_message(operator: comptroller.Service) -> None:
    load(
        operator,
        "claims",
        failed("out of gas", 3, amount="2"),
        failed("out of gas", 1, amount=LEAST),
        failed("out of gas", 2, TWO, amount="4"),
        failed("out of gas", 9, amount="8"),
        failed("nonce too low", 5, TWO, amount="16"),
        failed(None, 0, TWO, blockchain="BASE", amount="32"),
        failed("out of gas", 6, amount="64", blockchain=None),
        confirmed(4, blockchain="SOLANA"),  # on any chain
        confirmed(5, TWO),
        claim(payout_group_id=ONE, created_at=at(60)),
        claim(payout_group_id=TWO, created_at=at(60), onchain_status="SUBMITTED"),
    )
    rows = ran(operator, "failures")
    assert list(rows[0]) == ["chain", "asset", *COLUMNS]
    six, good = Decimal("6.000000000000000001"), Decimal(32)
    assert only(rows, "chain", *COLUMNS) == [
        ("BASE", None, 1, Decimal(32), 1, 1, good, at(0), at(0)),
        # A claim that was created at the same time does not make it good.
        ("INK", "nonce too low", 1, Decimal(16), 1, 0, Decimal(0), at(5), at(5)),
        ("INK", "out of gas", 4, six + 8, 2, 3, six, at(1), at(9)),
        (None, "out of gas", 1, Decimal(64), 1, 0, Decimal(0), at(6), at(6)),
    ]


@pytest.mark.parametrize("by", [(), ("chain",), ("week", "jurisdiction")])
def test_without_failures_there_is_no_row(
    operator: comptroller.Service, by: tuple[str, ...]
) -> None:
    assert ran(operator, "failures", by) == []
    load(operator, "claims", confirmed(1), claim())
    assert ran(operator, "failures", by) == []


def test_without_confirmed_claims_nothing_is_made_good(operator: comptroller.Service) -> None:
    load(operator, "claims", *(failed("out of gas", n) for n in range(5)))
    rows = ran(operator, "failures", ())
    assert only(rows, "failures", "made_good", "made_good_amount") == [(5, 0, Decimal(0))]


def test_keys_may_be_unknown_values_and_missing_groups(operator: comptroller.Service) -> None:
    load(operator, "payout-groups", group(id=ONE, jurisdiction="CH"))
    load(
        operator,
        "claims",
        failed("gas", 1, claim_type="CLAIM_SOME"),
        failed("gas", 2, TWO),
        confirmed(3, TWO),
    )
    rows = ran(operator, "failures", ("claim_type", "jurisdiction"))
    assert only(rows, "claim_type", "jurisdiction", "failures", "made_good") == [
        ("CLAIM_ALL", None, 1, 1),
        ("CLAIM_SOME", "CH", 1, 0),
    ]


def test_a_claim_of_another_asset_makes_nothing_good(operator: comptroller.Service) -> None:
    load(
        operator,
        "claims",
        failed("gas", 1, asset_type="RPL", amount="1000"),
        failed("gas", 1, asset_type="ETH", amount="1"),
        failed("gas", 1, asset_type=None, amount="2"),
        confirmed(2, asset_type="ETH", amount="0.5"),
    )
    rows = ran(operator, "failures")
    assert only(rows, "asset", "made_good", "made_good_amount") == [
        ("ETH", 1, Decimal(1)),
        ("RPL", 0, Decimal(0)),
        (None, 0, Decimal(0)),
    ]


def test_a_period_omits_claims_created_outside(operator: comptroller.Service) -> None:
    load(operator, "claims", failed("gas", 0), failed("gas", 5), confirmed(9), failed("gas", 10))
    since, until = at(5).isoformat(), at(9)
    rows = ran(operator, "failures", (), since=since, until=until)
    assert only(rows, "failures", "made_good", "first_at") == [(1, 0, at(5))]
    rows = ran(operator, "failures", (), since=since)
    assert only(rows, "failures", "made_good", "last_at") == [(2, 1, at(10))]


@pytest.mark.parametrize(
    "by", [("asset",), ("asset", "month"), ("status", "jurisdiction", "asset")]
)
def test_a_sample_matches_a_python_loop(operator: comptroller.Service, by: tuple[str, ...]) -> None:
    operator.load("payout-groups", comptroller.sample("payout-groups", rows=20, seed=3))
    operator.load("claims", comptroller.sample("claims", rows=4_000, seed=3))
    jurisdictions = {each.id: each.jurisdiction for each in operator.payout_groups.iter()}
    claims = list(operator.claims.iter())
    latest: dict[tuple[str, str | None], datetime] = {}
    for each in claims:
        if each.onchain_status == "CONFIRMED":
            paid = (each.payout_group_id, each.asset_type)
            latest[paid] = max(latest.get(paid, each.created_at), each.created_at)
    parts: dict[tuple[object, ...], list[Any]] = defaultdict(list)
    for each in claims:
        key_values = {
            "asset": each.asset_type,
            "month": each.created_at.date().replace(day=1),
            "status": each.onchain_status,
            "jurisdiction": jurisdictions.get(each.payout_group_id),
        }
        if each.onchain_status == "FAILED":
            parts[(*(key_values[key] for key in by), each.error_message)].append(each)
    found = {}
    with localcontext(prec=60):
        for key, several in parts.items():
            good = [
                each
                for each in several
                if latest[each.payout_group_id, each.asset_type] > each.created_at
            ]
            found[key] = (
                len(several),
                sum((each.amount for each in several), Decimal(0)),
                len({each.payout_group_id for each in several}),
                len(good),
                sum((each.amount for each in good), Decimal(0)),
                min(each.created_at for each in several),
                max(each.created_at for each in several),
            )
    rows = ran(operator, "failures", by)
    assert rows
    keys = (*by, "error_message")
    assert {only([row], *keys)[0]: only([row], *COLUMNS[1:])[0] for row in rows} == found


@pytest.mark.parametrize("amounts", [(LARGEST, LEAST), (LARGEST, LARGEST)])
@pytest.mark.parametrize("later", [0, 60])
def test_an_oversized_sum_is_null(
    operator: comptroller.Service, amounts: tuple[str, ...], later: float
) -> None:
    load(operator, "claims", *(failed("gas", 1, amount=each) for each in amounts))
    load(operator, "claims", confirmed(later), failed("dust", 1, amount=LEAST))
    rows = ran(operator, "failures")
    assert only(rows, "error_message", "failures", "amount", "made_good_amount") == [
        ("dust", 1, Decimal(LEAST), Decimal(LEAST if later else 0)),
        ("gas", 2, None, None if later else Decimal(0)),
    ]


def test_amounts_at_both_limits_are_exact(operator: comptroller.Service) -> None:
    load(operator, "claims", failed("gas", 1, amount=LARGEST), failed("gas", 2, amount="0"))
    load(operator, "claims", failed("dust", 3, amount=LEAST), confirmed(4, amount=LARGEST))
    rows = ran(operator, "failures")
    assert only(rows, "amount", "made_good_amount") == [
        (Decimal(LEAST), Decimal(LEAST)),
        (Decimal(LARGEST), Decimal(LARGEST)),
    ]


def test_columns_have_their_types(operator: comptroller.Service) -> None:
    load(operator, "claims", failed("gas", 1))
    moment = polars.Datetime("us", "UTC")
    assert dict(operator.reports.failures(("day", "group")).to_polars().schema) == {
        "day": polars.Date,
        "group": polars.String,
        "group_name": polars.String,
        "asset": polars.String,
        "error_message": polars.String,
        "failures": polars.Int64,
        "amount": MONEY,
        "groups": polars.Int64,
        "made_good": polars.Int64,
        "made_good_amount": MONEY,
        "first_at": moment,
        "last_at": moment,
    }


def test_an_unknown_key_is_refused(operator: comptroller.Service) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="give some of status, chain"):
        operator.reports.failures(("colour",))
    load(operator, "claims", failed("gas", 0, created_at=START))
    assert len(operator.reports.failures("chain")) == 1
