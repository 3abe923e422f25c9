"""Transactions that several claims name: a report, and a finding of the overview."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import comptroller
import pytest
from lines import at, claim, load
from reporting import only, ran

ONE, TWO = (f"0x{each * 32}" for each in ("ab", "cd"))


def paid(tx_hash: str | None, **members: Any) -> dict[str, Any]:
    hashed = {} if tx_hash is None else {"tx_hash": tx_hash}
    given = {"onchain_status": "CONFIRMED", "blockchain": "INK", "asset_type": "ETH", "amount": "2"}
    return claim(**{**given, **hashed, **members})


def test_a_transaction_of_several_claims_is_found(operator: comptroller.Service) -> None:
    load(
        operator,
        "claims",
        paid(ONE),
        paid(ONE, created_at=at(9)),
        paid(ONE, onchain_status="FAILED", asset_type="RPL"),
        paid(ONE, blockchain="BASE"),  # another chain has its own transactions
        paid(TWO),
        *(paid(None) for _ in range(2)),
    )
    rows = ran(operator, "shared_transactions")
    assert only(rows, "tx_hash", "chain", "asset", "claims", "groups", "confirmed_amount") == [
        (ONE, "INK", "ETH", 2, 2, Decimal(4)),
        (ONE, "INK", "RPL", 1, 1, Decimal(0)),
    ]
    assert (rows[0]["first_at"], rows[0]["last_at"]) == (at(0), at(9))
    findings = [each for each in operator.reports.overview().findings if "transaction" in each.text]
    (finding,) = findings
    assert finding.text == "1 transaction is named by 3 claims, which may count twice"
    assert finding.command == "comptroller report shared-transactions"
    assert ran(operator, "shared_transactions", chain="BASE") == []


def test_distinct_transactions_are_no_finding(operator: comptroller.Service) -> None:
    load(operator, "claims", paid(ONE), paid(TWO), paid(None), paid(None))
    assert ran(operator, "shared_transactions") == []
    texts = [each.text for each in operator.reports.overview().findings]
    assert not [text for text in texts if "transaction" in text]


SOLANA = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"

#: Two hashes, and whether they are one transaction.
SPELLINGS = [
    (ONE, ONE.upper(), True),
    (ONE, "0x" + ONE[2:].upper(), True),
    (SOLANA, SOLANA.swapcase(), False),
    ("0xab", "0xAB", False),
]


@pytest.mark.parametrize(("first", "second", "are_one"), SPELLINGS)
def test_the_spellings_of_an_evm_hash_are_one_transaction(
    operator: comptroller.Service, first: str, second: str, are_one: bool
) -> None:
    load(operator, "claims", paid(first), paid(second))
    rows = ran(operator, "shared_transactions")
    assert only(rows, "tx_hash", "claims") == ([(first, 2)] if are_one else [])
    for wanted in (first, second):
        assert len(operator.claims.list(tx_hash=wanted)) == (2 if are_one else 1)
