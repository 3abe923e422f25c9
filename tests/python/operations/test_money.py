"""Amounts are exact from a file to a sum, in any order."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import InvalidRequest, Service
from examples import ADDRESS, LATER, exported, line, loaded, outcome, short_line

# Accepted spellings: the text is shown unchanged, sums use the number.
AMOUNTS = (
    "0",
    "0.0",
    "000.10",
    "1.50",
    "0.000000000000000001",
    "0.1",
    "9007199254740993",
    "12345678901234567890.123456789012345678",
    "99999999999999999999.999999999999999999",
)
NOT_AMOUNTS = ("", "1e3", "NaN", "Infinity", "+1", ".5", "1.", " 1", "1 ", "1,0", "0x1", "--1", "-",
               "1_0", "\uff11", "1" * 21, "0." + "1" * 19)  # fmt: skip


@pytest.mark.parametrize("amount", AMOUNTS)
def test_an_amount_is_shown_unchanged_everywhere(
    operator: Service, tmp_path: Path, amount: str
) -> None:
    pa = pytest.importorskip("pyarrow")
    loaded(operator, "claims", short_line("claims", amount=amount))
    assert str(operator.claims.get("claim-1").amount) == str(Decimal(amount))
    assert exported(operator, "claims", tmp_path)[0]["amount"] == amount
    operator.export("claims", tmp_path / "rows.csv", "csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["amount"] == amount
    (streamed,) = pa.table(operator.claims.stream("amount"))["amount"].to_pylist()
    assert streamed == Decimal(amount)


@pytest.mark.parametrize("amount", NOT_AMOUNTS)
def test_an_invalid_amount_is_refused(shared_operator: Service, amount: str) -> None:
    assert outcome(shared_operator, "claims", short_line("claims", amount=amount)) == (
        "invalid-request"
    )
    with pytest.raises(InvalidRequest, match="amount"):
        shared_operator.claims.put(short_line("claims", amount=amount))
    with pytest.raises(InvalidRequest, match="balance"):
        shared_operator.balances.record(address_id=ADDRESS, balance=amount, at=LATER)


@pytest.mark.parametrize("kind", ["claims", "payout-groups", "balances"])
def test_claims_and_balances_are_not_negative(shared_operator: Service, kind: str) -> None:
    member = "amount" if kind == "claims" else "balance"
    row = line(kind, **{member: "-0.000000000000000001"})
    assert outcome(shared_operator, kind, row) == "invalid-request"
    moved = line("orchestrations", source_amount="-0.01")
    assert loaded(shared_operator, "orchestrations", moved, dry_run=True).inserted == 1


@pytest.mark.parametrize("amount", [1.5, 0.1, 1.0, float("nan")])
def test_a_float_is_refused_by_every_write(shared_operator: Service, amount: Any) -> None:
    for write in (
        lambda: shared_operator.claims.put(short_line("claims", amount=amount)),
        lambda: shared_operator.balances.record(address_id=ADDRESS, balance=amount, at=LATER),
        lambda: shared_operator.payout_groups.observe(ADDRESS, balance=amount),
    ):
        with pytest.raises(InvalidRequest, match="float"):
            write()


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (Decimal("1.50"), "1.50"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1E-18"), "0.000000000000000001"),
        (7, "7"),
        ("007.50", "007.50"),
    ],
)
def test_python_values_are_written_plainly(
    operator: Service, tmp_path: Path, amount: Any, shown: str
) -> None:
    assert operator.claims.put(short_line("claims", amount=amount)).amount == Decimal(shown)
    assert exported(operator, "claims", tmp_path)[0]["amount"] == shown


# ---- sums ----------------------------------------------------------------------------------------


@pytest.fixture(name="purse", scope="module")
def _purse() -> Iterator[tuple[Service, Decimal]]:
    """Ten thousand amounts of every size, and their sum by Python's Decimal."""
    chance = random.Random(17)
    amounts = [
        f"{chance.randrange(10 ** chance.randint(0, 16))}.{chance.randrange(10**18):018}"
        for _ in range(10_000)
    ]
    with localcontext(prec=80):
        total = sum(map(Decimal, amounts), Decimal())
    with comptroller.open(":memory:") as service:
        rows = (short_line("claims", id=f"c{n}", amount=text) for n, text in enumerate(amounts))
        assert loaded(service, "claims", *rows).committed
        yield service, total


def test_a_thousand_orders_give_one_total(purse: tuple[Service, Decimal]) -> None:
    pytest.importorskip("polars")
    service, total = purse
    amounts = service.claims.stream("amount").to_polars()["amount"]
    assert {amounts.shuffle(seed).sum() for seed in range(1000)} == {total}


def test_every_engine_gives_the_sum_of_python(purse: tuple[Service, Decimal]) -> None:
    service, total = purse
    stream = service.claims.stream("amount")
    compute = pytest.importorskip("pyarrow.compute")
    assert compute.sum(stream.to_arrow()["amount"]).as_py() == total
    pytest.importorskip("pandas")
    assert stream.to_pandas()["amount"].sum() == total
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("claims", stream)
        assert connection.execute("SELECT sum(amount) FROM claims").fetchone() == (total,)
    with localcontext(prec=80):
        assert sum((claim.amount for claim in service.claims.iter()), Decimal()) == total
