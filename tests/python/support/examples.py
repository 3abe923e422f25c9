"""A complete line of every kind, and helpers to write and load lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from comptroller import LoadResult, Service

KINDS = (
    "identities",
    "controls",
    "orchestrations",
    "payout-groups",
    "reward-addresses",
    "claims",
    "balances",
)

NOON = "2026-01-31T12:00:00.000000Z"
LATER = "2026-01-31T12:00:00.000001Z"
EARLIER = "2026-01-31T11:59:59.999999Z"

GROUP = "00000000-0000-4000-8000-000000000001"
ADDRESS = "00000000-0000-4000-8000-000000000002"
# The examples of EIP-55, and a Solana address.
EVM_ADDRESSES = (
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
)
SOLANA_ADDRESS = "So11111111111111111111111111111111111111112"
HASH = "0x" + "ab" * 32

LINES: dict[str, dict[str, Any]] = {
    "identities": {
        "id": "alice",
        "customer_id": "default",
        "ref_id": "user-1",
        "metadata": {"tier": "gold"},
        "created_at": NOON,
        "updated_at": NOON,
    },
    "controls": {
        "id": "control-1",
        "type": "CLOSED",
        "set_by": "CLIENT",
        "is_overridable": True,
        "reason_code": "CUSTOMER_REQUEST",
        "reason": "asked for it",
        "created_at": NOON,
        "deleted_at": None,
        "identity_id": "alice",
        "created_by": "operator",
        "customer_id": "default",
    },
    "orchestrations": {
        "id": "orchestration-1",
        "profile_id": "profile-1",
        "identity_id": "alice",
        "account_id": "account-1",
        "customer_id": "default",
        "ref_id": "order-1",
        "source_asset": "EUR",
        "destination_asset": "USDC",
        "source_amount": "10408.65",
        "source_transfer": {"transfer_id": "t-1", "status": "COMPLETED"},
        "destination_transfer": {"transfer_id": "t-2", "status": "FAILED"},
        "status": "FAILED",
        "fail_reason": {"detail": "the bank said no"},
        "source": {"fiat": {"deposit_instructions_id": "d-1", "memo": "rent"}},
        "destination": {
            "crypto": {"address_id": "a-1", "address": "bc1q", "network": "bitcoin"},
            "profile": {"profile_id": "profile-2"},
        },
        "orchestration_rule_id": "rule-1",
        "created_at": NOON,
        "updated_at": NOON,
        "metadata": {"channel": "rule"},
    },
    "payout-groups": {
        "id": GROUP,
        "ledger": "ETHEREUM",
        "asset_type": "RPL",
        "rate_id": "rate-1",
        "jurisdiction": "DE",
        "claimer_address": EVM_ADDRESSES[0],
        "onchain_status": "REGISTERED",
        "balance": "18308.303502000565607551",
        "created_at": NOON,
        "updated_at": NOON,
        "name": "Kestrel",
        "manager_address": EVM_ADDRESSES[1],
        "destination_address": EVM_ADDRESSES[2],
        "onchain_group_id": "1000",
        "balance_at": NOON,
        "last_claim_all_at": NOON,
        "schedule_type": "DAILY",
        "customer_id": "default",
    },
    "reward-addresses": {
        "id": ADDRESS,
        "ledger": "ETHEREUM",
        "address": EVM_ADDRESSES[3],
        "name": "delegate",
        "payout_group_id": GROUP,
        "status": "ACTIVE",
        "created_at": NOON,
        "customer_id": "default",
    },
    "claims": {
        "id": "claim-1",
        "payout_group_id": GROUP,
        "claim_type": "CLAIM_ALL",
        "claim_schedule_id": "daily",
        "onchain_status": "PENDING",
        "amount": "32.004899926312128277",
        "tx_hash": HASH,
        "addresses": [EVM_ADDRESSES[3].lower()],
        "error_message": "",
        "blockchain": "ETHEREUM",
        "asset_type": "RPL",
        "submitted_at": NOON,
        "confirmed_at": NOON,
        "created_at": NOON,
        "updated_at": NOON,
        "customer_id": "default",
    },
    "balances": {"address_id": ADDRESS, "balance": "12.50", "at": NOON},
}

REQUIRED = {
    "identities": ("id", "created_at"),
    "controls": ("id", "created_at", "identity_id", "type", "set_by", "is_overridable"),
    "orchestrations": ("id", "created_at", "status"),
    "payout-groups": ("id", "created_at", "ledger"),
    "reward-addresses": ("id", "created_at", "ledger", "address"),
    "claims": (
        *("id", "created_at", "claim_type", "onchain_status", "amount"),
        "payout_group_id",
    ),
    "balances": ("address_id", "balance", "at"),
}


def line(kind: str, **changes: object) -> dict[str, Any]:
    """Returns the complete line of a kind with some members changed; `...` removes a member."""
    members = LINES[kind] | changes
    return {name: value for name, value in members.items() if value is not ...}


def short_line(kind: str, **changes: object) -> dict[str, Any]:
    """Returns the shortest valid line of a kind."""
    return {name: LINES[kind][name] for name in REQUIRED[kind]} | changes


def group_id(number: int) -> str:
    """Returns one of many valid ids of payout groups and reward addresses."""
    return f"00000000-0000-4000-8000-{number:012d}"


def ndjson(rows: Iterable[object]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def padded(rows: Iterable[object]) -> bytes:
    """Returns NDJSON with 20,000 spaces in each line, so that few rows are a large input."""
    return b"".join(json.dumps(row).encode()[:-1] + b" " * 20_000 + b"}\n" for row in rows)


def accounted(result: LoadResult) -> LoadResult:
    """Checks that the result accounts for every line, and returns it."""
    kept = result.inserted + result.updated + result.unchanged
    assert result.read == kept + result.rejected + result.blank
    assert len(result.rejections) == min(result.rejected, 1000)
    return result


def loaded(svc: Service, kind: str, *rows: object, **options: Any) -> LoadResult:
    """Loads lines; returns the result."""
    return accounted(svc.load(kind, rows, **options))


def outcome(svc: Service, kind: str, row: object, **options: Any) -> str:
    """Returns the outcome of one line: inserted, updated, unchanged, or an error code."""
    result = loaded(svc, kind, row, **options)
    assert result.read == 1
    assert result.committed is (result.rejected == 0)
    if result.rejected:
        return result.rejections[0].code
    return next(name for name in ("inserted", "updated", "unchanged") if getattr(result, name))


def exported(svc: Service, kind: str, folder: Any, **filters: Any) -> list[dict[str, Any]]:
    """Exports a kind; returns its NDJSON lines."""
    path = folder / f"exported-{kind}.ndjson"
    count = svc.export(kind, path, **filters)
    lines = path.read_bytes().splitlines()
    assert len(lines) == count
    return [json.loads(text) for text in lines]
