"""Addresses of ledgers: validation and formatting."""

from __future__ import annotations

import pytest
from lines import address_on, base58, made_group, refused

EVM_LEDGERS = ("ETHEREUM", "INK", "XLAYER", "ARBITRUM_ONE")

# The test addresses of EIP-55.
CHECKSUMMED = [
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
]
SOLANA = [
    "11111111111111111111111111111111",
    "So11111111111111111111111111111111111111112",
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
    base58(b"\xff" * 32),
    base58(b"\x00" * 31 + b"\x01"),
]
NO_EVM_ADDRESS = [
    "",
    "0x",
    CHECKSUMMED[0][:-1],
    CHECKSUMMED[0] + "0",
    CHECKSUMMED[0][2:],
    "0X" + CHECKSUMMED[0][2:],
    "0x" + "g" * 40,
    "0x" + "é" * 40,
    " " + CHECKSUMMED[0],
    CHECKSUMMED[0] + " ",
    CHECKSUMMED[0].swapcase().replace("0X", "0x"),
    "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD",
    SOLANA[1],
]
NO_SOLANA_ADDRESS = [
    "",
    "1" * 31,
    "1" * 33,
    base58(b"\x01" * 31),
    base58(b"\x01" * 33),
    "0" + SOLANA[1][1:],
    "O" + SOLANA[1][1:],
    "I" + SOLANA[1][1:],
    "l" + SOLANA[1][1:],
    SOLANA[1] + " ",
    "z" * 44,
    "z" * 45,
    CHECKSUMMED[0],
]


@pytest.fixture
def register(acme):
    """Registers an address; returns its stored form."""

    def registered(ledger: str, address: str) -> str:
        return acme.reward_addresses.create(ledger=ledger, address=address).address

    return registered


@pytest.mark.parametrize("ledger", EVM_LEDGERS)
def test_evm_addresses_are_shown_with_their_checksum(acme, register, ledger):
    for address in CHECKSUMMED:
        assert register(ledger, address.lower()) == address
        found = acme.reward_addresses.list(ledger=ledger, address="0x" + address[2:].upper())
        assert [item.address for item in found] == [address]


@pytest.mark.parametrize("address", CHECKSUMMED)
def test_an_evm_address_may_be_lower_upper_or_checksummed(register, address):
    spellings = {"INK": address, "ETHEREUM": address.lower(), "XLAYER": "0x" + address[2:].upper()}
    for ledger, spelled in spellings.items():
        assert register(ledger, spelled) == address


@pytest.mark.parametrize("address", SOLANA)
def test_solana_addresses_are_stored_unchanged(register, address):
    assert register("SOLANA", address) == address


def test_solana_addresses_that_differ_in_case_differ(acme, register):
    upper, lower = base58(b"\x01" * 32), base58(b"\x02" * 32)
    assert register("SOLANA", upper) != register("SOLANA", lower)
    assert [a.address for a in acme.reward_addresses.list(address=upper)] == [upper]


REFUSED = [("INK", text) for text in NO_EVM_ADDRESS]
REFUSED += [("SOLANA", text) for text in NO_SOLANA_ADDRESS]


@pytest.mark.parametrize(("ledger", "address"), REFUSED)
def test_an_invalid_address_is_refused(shared_acme, ledger, address):
    with refused("invalid-request", 400) as caught:
        shared_acme.reward_addresses.create(ledger=ledger, address=address)
    assert [error.field.split(".")[-1] for error in caught.value.errors] == ["address"]
    with refused("invalid-request", 400) as caught:
        made_group(shared_acme, ledger=ledger, claimer_address=address)
    assert [error.field for error in caught.value.errors] == ["claimer_address"]


@pytest.mark.parametrize("member", ["claimer_address", "manager_address", "destination_address"])
@pytest.mark.parametrize("ledger", [*EVM_LEDGERS, "SOLANA"])
def test_the_three_addresses_of_a_loaded_group_are_checked(operator, member, ledger):
    line = {"ledger": ledger, "created_at": "2026-01-01T00:00:00Z"}
    good, bad = (SOLANA[1], CHECKSUMMED[0]) if ledger == "SOLANA" else (CHECKSUMMED[0], SOLANA[1])
    number = "01900000-0000-7000-8000-00000000000"
    result = operator.load(
        "payout-groups",
        [
            line | {"id": number + "0", member: good.lower() if ledger != "SOLANA" else good},
            line | {"id": number + "1", member: bad},
        ],
        keep_going=True,
    )
    assert [(r.line, r.code) for r in result.rejections] == [(2, "invalid-request")]
    assert getattr(operator.payout_groups.get(number + "0"), member) == good


def test_addresses_of_orchestrations_and_claims_are_stored_unchanged(operator):
    odd = "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    moved = operator.orchestrations.put(
        {
            "id": "m",
            "status": "PENDING",
            "created_at": "2026-01-01T00:00:00Z",
            "source": {"crypto": {"address": odd, "network": "ETHEREUM"}},
        }
    )
    assert moved.source.crypto.address == odd
    claimed = operator.claims.put(
        {
            "id": "c",
            "payout_group_id": "01900000-0000-7000-8000-000000000000",
            "claim_type": "CLAIM_ALL",
            "onchain_status": "PENDING",
            "amount": "1",
            "created_at": "2026-01-01T00:00:00Z",
            "addresses": [odd, "no address at all", address_on("INK"), odd],
        }
    )
    assert claimed.addresses[0] == claimed.addresses[3] == odd
    assert claimed.addresses[1] == "no address at all"
