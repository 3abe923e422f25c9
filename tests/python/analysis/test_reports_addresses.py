"""Addresses in reports: spellings of an EVM address are one address; others keep their case."""

from __future__ import annotations

from decimal import Decimal

import comptroller
from lines import address, claim, load, solana
from reporting import only, ran

# A checksummed address, and a Solana address whose case is significant.
EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
SOLANA = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
OTHER = SOLANA.swapcase()


def paid(amount: str, *addresses: str) -> dict[str, object]:
    return claim(onchain_status="CONFIRMED", amount=amount, addresses=list(addresses))


def test_spellings_of_an_evm_address_are_one_row(operator: comptroller.Service) -> None:
    spelled = (EVM, EVM.lower(), "0x" + EVM[2:].upper())
    load(operator, "claims", *(paid("1", each) for each in spelled), paid("2", *spelled))
    rows = ran(operator, "claims_summary", "address")
    assert only(rows, "address", "claims", "confirmed_amount") == [(EVM.lower(), 4, Decimal(5))]


def test_solana_addresses_that_differ_in_case_are_two_rows(operator: comptroller.Service) -> None:
    load(operator, "claims", paid("1", SOLANA), paid("2", OTHER), paid("4", SOLANA, OTHER))
    rows = ran(operator, "claims_summary", "address")
    assert only(rows, "address", "claims", "confirmed_amount") == [
        (OTHER, 2, Decimal(6)),
        (SOLANA, 2, Decimal(5)),
    ]


def created_in_history(svc: comptroller.Service, subject: str) -> list[str]:
    return [row["record"] for row in ran(svc, "history", subject) if row["event"] == "created"]


def test_a_history_finds_every_spelling_and_no_other_address(operator: comptroller.Service) -> None:
    evm = address(address=EVM)
    held = address(address=solana(), ledger="SOLANA")
    load(operator, "reward-addresses", evm, held)
    twin = held["address"].swapcase()
    load(operator, "claims", paid("1", EVM.lower()), paid("1", held["address"]), paid("1", twin))
    for given in (EVM, EVM.lower(), "0X" + EVM[2:].upper(), evm["id"]):
        assert len(created_in_history(operator, given)) == 2
    for given in (held["address"], held["id"]):
        assert created_in_history(operator, given) == ["address", "claim"]
    assert created_in_history(operator, twin) == ["claim"]
