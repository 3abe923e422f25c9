"""What the service keeps: one frozen record for each kind.

Attributes are named like the members of the JSON. Amounts are :class:`decimal.Decimal` (at most 20
integer and 18 fraction digits), times aware UTC datetimes to the microsecond, coded words plain
``str``. A member that is not set is ``None``.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from threading import Lock
from typing import Annotated, Any, TypeVar, cast

import msgspec
import msgspec.inspect

from comptroller import arguments

Amount = Decimal
Time = Annotated[datetime, msgspec.Meta(tz=True)]

R = TypeVar("R")


class Record(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True
):
    """What all records share: frozen, built by keyword, and short when printed."""

    def to_dict(self) -> dict[str, Any]:
        """The members that are set as plain values, which :mod:`json` writes and `load` takes.

        Amounts and times are text, exact and as the service writes them.
        """
        members: dict[str, Any] = msgspec.json.decode(arguments.record(self))
        return members


class Control(Record, frozen=True, kw_only=True):
    """A restriction on an identity. Specification 2.1.

    `type` is SELL_ONLY, CLOSED, FROZEN or DORMANT; `set_by` is CLIENT or PROVIDER, the operator.
    A client may delete it where `is_overridable`. In force while `deleted_at` is None. `created_by`
    and `deleted_by` are the client's id, or ``operator``. `customer_id` is shown to the operator.
    """

    id: str
    type: str
    set_by: str
    is_overridable: bool
    reason_code: str | None = None
    reason: str | None = None
    created_at: Time
    deleted_at: Time | None = None
    identity_id: str
    created_by: str | None = None
    deleted_by: str | None = None
    deletion_reason: str | None = None
    customer_id: str | None = None


class StatusDetails(Record, frozen=True, kw_only=True):
    """Why an identity has its status: the controls in force, and what they leave permitted.

    `permitted_actions` are words of BUY, SELL, DEPOSIT, WITHDRAW.
    """

    active_controls: tuple[Control, ...]
    permitted_actions: tuple[str, ...]


class Identity(Record, frozen=True, kw_only=True):
    """Someone whose actions controls may restrict. Specification 1 and 3.1.

    `status` follows from the controls in force: ERROR under a FROZEN one, else DISABLED under any,
    else APPROVED. `user_disabled` and `admin_disabled` are the deprecated view of two controls.
    """

    id: str
    customer_id: str
    ref_id: str | None = None
    status: str
    status_details: StatusDetails
    user_disabled: bool
    admin_disabled: bool
    metadata: dict[str, str] | None = None
    created_at: Time
    updated_at: Time


class Transfer(Record, frozen=True, kw_only=True):
    """One of the two transfers of an orchestration: PENDING, PROCESSING, COMPLETED, FAILED, ..."""

    transfer_id: str | None = None
    status: str | None = None


class FailReason(Record, frozen=True, kw_only=True):
    """Why an orchestration failed, in words."""

    detail: str | None = None


class CryptoEndpoint(Record, frozen=True, kw_only=True):
    """A crypto address as the source or destination of an orchestration."""

    address_id: str | None = None
    address: str | None = None
    network: str | None = None


class FiatSource(Record, frozen=True, kw_only=True):
    """A fiat deposit as the source of an orchestration."""

    deposit_instructions_id: str | None = None
    memo: str | None = None


class FiatDestination(Record, frozen=True, kw_only=True):
    """A bank account as the destination of an orchestration."""

    bank_account_id: str | None = None
    memo: str | None = None


class ProfileEndpoint(Record, frozen=True, kw_only=True):
    """A profile as the source or destination of an orchestration."""

    profile_id: str | None = None


class Source(Record, frozen=True, kw_only=True):
    """Where an orchestration takes value from."""

    crypto: CryptoEndpoint | None = None
    fiat: FiatSource | None = None
    profile: ProfileEndpoint | None = None


class Destination(Record, frozen=True, kw_only=True):
    """Where an orchestration brings value to."""

    crypto: CryptoEndpoint | None = None
    fiat: FiatDestination | None = None
    profile: ProfileEndpoint | None = None


class Orchestration(Record, frozen=True, kw_only=True):
    """A movement of value from a source to a destination. Specification 2.2.

    `source_amount` is in units of `source_asset`. `status` is PENDING, PROCESSING, COMPLETED,
    FAILED, REJECTED, or a word a newer deployment has added.
    """

    id: str
    profile_id: str | None = None
    identity_id: str | None = None
    account_id: str | None = None
    customer_id: str
    ref_id: str | None = None
    source_asset: str | None = None
    destination_asset: str | None = None
    source_amount: Amount | None = None
    source_transfer: Transfer | None = None
    destination_transfer: Transfer | None = None
    status: str
    fail_reason: FailReason | None = None
    source: Source | None = None
    destination: Destination | None = None
    orchestration_rule_id: str | None = None
    created_at: Time
    updated_at: Time
    metadata: dict[str, str] | None = None


class PayoutGroup(Record, frozen=True, kw_only=True):
    """Reward addresses that are paid out together. Specification 2.3.

    `balance` is in units of `asset_type`, as observed at `balance_at`. `ledger` is ETHEREUM,
    SOLANA, INK, XLAYER or ARBITRUM_ONE; `schedule_type` DAILY. `customer_id` is shown to the
    operator.
    """

    id: str
    ledger: str
    asset_type: str | None = None
    rate_id: str | None = None
    jurisdiction: str | None = None
    claimer_address: str | None = None
    onchain_status: str | None = None
    balance: Amount | None = None
    created_at: Time
    updated_at: Time
    name: str | None = None
    manager_address: str | None = None
    destination_address: str | None = None
    onchain_group_id: str | None = None
    balance_at: Time | None = None
    last_claim_all_at: Time | None = None
    schedule_type: str | None = None
    customer_id: str | None = None


class RewardAddress(Record, frozen=True, kw_only=True):
    """A monitored address whose rewards are attributed to a payout group. Specification 2.4.

    `ledger` is ETHEREUM, SOLANA, INK, XLAYER or ARBITRUM_ONE. `balance` is in the asset of the
    address's group, and is there only when a list was asked to include it. `customer_id` is shown
    to the operator.
    """

    id: str
    ledger: str
    address: str
    name: str | None = None
    payout_group_id: str | None = None
    balance: Amount | None = None
    status: str | None = None
    created_at: Time
    customer_id: str | None = None


class Claim(Record, frozen=True, kw_only=True):
    """A transaction that claims a payout group's rewards. Specification 2.5.

    `amount` is in units of `asset_type`. `onchain_status` is PENDING, SUBMITTED, CONFIRMED or
    FAILED; `claim_type` CLAIM_ALL or a newer word. `customer_id` is shown to the operator.
    """

    id: str
    payout_group_id: str
    claim_type: str
    claim_schedule_id: str | None = None
    onchain_status: str
    amount: Amount
    tx_hash: str | None = None
    addresses: tuple[str, ...] | None = None
    error_message: str | None = None
    blockchain: str | None = None
    asset_type: str | None = None
    submitted_at: Time | None = None
    confirmed_at: Time | None = None
    created_at: Time
    updated_at: Time
    customer_id: str | None = None


class Balance(Record, frozen=True, kw_only=True):
    """The balance of a reward address at a time, in the asset of its payout group."""

    address_id: str
    balance: Amount
    at: Time


# msgspec takes more for a Decimal: NaN, 1_0, numbers that are not text.
_Amount = Annotated[str, msgspec.Meta(pattern=r"\A-?[0-9]{1,20}(\.[0-9]{1,18})?\Z")]


def _amounts(wanted: msgspec.inspect.Type) -> Any:
    """A type that has the amounts of another alone, as text; None if there are none."""
    if isinstance(wanted, msgspec.inspect.DecimalType):
        return _Amount
    if isinstance(wanted, (msgspec.inspect.ListType, msgspec.inspect.VarTupleType)):
        item = _amounts(wanted.item_type)
        return item and list[item]  # type: ignore[valid-type]
    if isinstance(wanted, msgspec.inspect.UnionType):
        found = next(filter(None, map(_amounts, wanted.types)), None)
        return found and (found | None if wanted.includes_none else found)
    if isinstance(wanted, msgspec.inspect.StructType):
        members = [(field.encode_name, _amounts(field.type)) for field in wanted.fields]
        shown = [(name, kind | msgspec.UnsetType, msgspec.UNSET) for name, kind in members if kind]
        return msgspec.defstruct(f"{wanted.cls.__name__}Amounts", shown) if shown else None
    return None


class _Decoder:
    """Reads documents of one type; amounts are plain decimals within their limits."""

    def __init__(self, wanted: Any) -> None:
        amounts = _amounts(msgspec.inspect.type_info(wanted))
        self._amounts = amounts and msgspec.json.Decoder(amounts)
        self._decoder = msgspec.json.Decoder(wanted)

    def decode(self, data: bytes) -> Any:
        if self._amounts:
            self._amounts.decode(data)
        return self._decoder.decode(data)


_decoders: dict[Any, _Decoder] = {}
_one_at_a_time = Lock()


def _decoder(wanted: Any) -> _Decoder:
    decoder = _decoders.get(wanted)
    if decoder is None:
        # msgspec crashes where two threads are the first to decode into a class at the same time.
        with _one_at_a_time:
            decoder = _decoders.setdefault(wanted, _Decoder(wanted))
    return decoder


def read(data: bytes, wanted: type[R]) -> R:
    """`data`, a JSON document, as a `wanted`; members it does not know are left out.

    Raises:
        msgspec.MsgspecError: it is not JSON, or not the JSON of such a record.
        UnicodeDecodeError: a text in it is not UTF-8.
    """
    answer: R = _decoder(cast(Any, wanted)).decode(data)
    return answer
