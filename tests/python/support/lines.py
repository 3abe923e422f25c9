"""Minimal lines of each kind with unique ids; members add to or replace those of the line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import uuid4

import comptroller
import pytest
from examples import GROUP

START = datetime(2026, 1, 1, tzinfo=UTC)
ALL_ACTIONS = ("BUY", "SELL", "DEPOSIT", "WITHDRAW")
LEDGERS = ("ETHEREUM", "SOLANA", "INK", "XLAYER", "ARBITRUM_ONE")

_numbers = count(1)
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def at(seconds: float = 0, *, days: float = 0) -> datetime:
    """Returns a time in seconds and days after the start time of the tests."""
    return START + timedelta(days=days, seconds=seconds)


def fresh(resource: str) -> str:
    """Returns an id that is unique in this process."""
    return f"{resource}-{next(_numbers)}"


def evm() -> str:
    """Returns a unique EVM address in lower case."""
    return f"0x{next(_numbers) + (0xABCDEF << 64):040x}"


def base58(data: bytes) -> str:
    """Encodes bytes in base58."""
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = _BASE58[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def solana() -> str:
    """Returns a unique Solana address."""
    return base58((next(_numbers) + (0xABCDEF << 200)).to_bytes(32, "big"))


def address_on(ledger: str) -> str:
    """Returns a valid address on a ledger."""
    return solana() if ledger == "SOLANA" else evm()


def numbered_claim(number: int, time: str, **members: Any) -> dict[str, Any]:
    """Returns the claim `claim-<number>` of the group of the examples, for a load."""
    return {
        "id": f"claim-{number}",
        "payout_group_id": GROUP,
        "claim_type": "CLAIM_ALL",
        "onchain_status": "PENDING",
        "amount": f"{number}.50",
        "created_at": time,
        "updated_at": time,
        **members,
    }


def identity(**members: Any) -> dict[str, Any]:
    return {"id": fresh("identity"), "created_at": START, **members}


def control(**members: Any) -> dict[str, Any]:
    given = {
        "id": fresh("control"),
        "type": "SELL_ONLY",
        "set_by": "CLIENT",
        "is_overridable": True,
        "reason_code": "REQUESTED",
        "created_at": START,
    }
    return given | members


def orchestration(**members: Any) -> dict[str, Any]:
    return {"id": fresh("move"), "status": "PROCESSING", "created_at": START, **members}


def group(**members: Any) -> dict[str, Any]:
    return {"id": str(uuid4()), "ledger": "ETHEREUM", "created_at": START, **members}


def address(**members: Any) -> dict[str, Any]:
    given = {"id": str(uuid4()), "ledger": "ETHEREUM", "created_at": START}
    made = {"address": address_on(members.get("ledger", "ETHEREUM"))}
    return given | made | members


def claim(**members: Any) -> dict[str, Any]:
    given = {
        "id": fresh("claim"),
        "payout_group_id": str(uuid4()),
        "claim_type": "CLAIM_ALL",
        "onchain_status": "PENDING",
        "amount": "1.5",
        "created_at": START,
    }
    return given | members


def load(operator: comptroller.Service, kind: str, *lines: dict[str, Any], **how: Any) -> None:
    """Loads lines, all of which must be valid."""
    result = operator.load(kind, list(lines), **how)
    assert result.committed, result.rejections


def made_group(service: comptroller.Service, **members: Any) -> comptroller.PayoutGroup:
    """Creates a payout group through the service."""
    given = {
        "ledger": "ETHEREUM",
        "asset_type": "ETH",
        "jurisdiction": "CH",
        "name": "North",
        **members,
    }
    given.setdefault("claimer_address", address_on(given["ledger"]))
    return service.payout_groups.create(**given)


def ids(items: Any) -> list[str]:
    """Returns the ids of records, in order."""
    return [item.id for item in items]


@contextmanager
def refused(code: str, status: int | None = None) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expects the block to raise an Error with this code and a detail."""
    with pytest.raises(comptroller.Error) as caught:
        yield caught
    error = caught.value
    assert error.code == code, str(error)
    assert status is None or error.status == status
    assert error.detail


def balance(**members: Any) -> dict[str, Any]:
    return {"address_id": str(uuid4()), "balance": "1", "at": START, **members}


#: How to make a line of each resource, its kind in a load, and its member of creation.
NOUNS = {
    "identities": (identity, "identities", "created_at"),
    "controls": (lambda **m: control(identity_id=fresh("owner"), **m), "controls", "created_at"),
    "orchestrations": (orchestration, "orchestrations", "created_at"),
    "payout_groups": (group, "payout-groups", "created_at"),
    "reward_addresses": (address, "reward-addresses", "created_at"),
    "claims": (claim, "claims", "created_at"),
    "balances": (balance, "balances", "at"),
}


def key_of(record: Any) -> str:
    """Returns the members that distinguish records of a resource."""
    return getattr(record, "id", None) or record.address_id


def fill(
    operator: comptroller.Service, resource: str, moments: list[datetime], **how: Any
) -> list[str]:
    """Loads a line for each time, in this order; returns what distinguishes each."""
    make, kind, time = NOUNS[resource]
    lines = [make(**{time: moment}) for moment in moments]
    if resource == "balances":
        owners = [address(id=line["address_id"]) for line in lines]
        load(operator, "reward-addresses", *owners, **how)
    load(operator, kind, *lines, **how)
    return [line.get("id") or line["address_id"] for line in lines]
