"""What the service stores: one frozen record for each kind.

Attributes have the names of the JSON members. Amounts are :class:`decimal.Decimal` (at most 20
integer and 18 fraction digits), times are aware UTC datetimes with microseconds. A member that is
not set is ``None``.
"""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from comptroller.decoding import Amount, Record, Time

if TYPE_CHECKING:
    from comptroller.values import (
        Action,
        ChangedResource,
        ClaimStatus,
        ControlType,
        IdentityStatus,
        Ledger,
        ScheduleType,
        SetBy,
        WebhookStatus,
    )
else:
    # Text at run time: a newer server may answer with a value that this version does not know.
    Action = ChangedResource = ClaimStatus = ControlType = IdentityStatus = Ledger = (
        ScheduleType
    ) = SetBy = WebhookStatus = str


class Identity(Record, frozen=True, kw_only=True):
    """A person or organisation that controls can restrict. Active controls set its status."""

    id: str
    """Identifies the identity."""
    customer_id: str
    """The customer it belongs to."""
    ref_id: str | None = None
    """Reference id given by the client."""
    status: IdentityStatus
    """Derived from the active controls (APPROVED, DISABLED or ERROR)."""
    status_details: StatusDetails
    """The active controls and the actions that they permit."""
    user_disabled: bool
    """Whether a client's SELL_ONLY control is active; deprecated."""
    admin_disabled: bool
    """Whether an enforced SELL_ONLY control of the operator is active; deprecated."""
    metadata: dict[str, str] | None = None
    """The client's own keys and values."""
    created_at: Time
    """Creation time."""
    updated_at: Time
    """Time of the last change."""


class StatusDetails(Record, frozen=True, kw_only=True):
    """The active controls of an identity, and the actions that they permit."""

    active_controls: tuple[Control, ...]
    """The active controls."""
    permitted_actions: tuple[Action, ...]
    """The actions that all of them permit (BUY, SELL, DEPOSIT or WITHDRAW)."""


class Control(Record, frozen=True, kw_only=True):
    """A restriction on an identity. It is active until it is deleted."""

    id: str
    """Identifies the control."""
    type: ControlType
    """What the identity may no longer do (SELL_ONLY, CLOSED, FROZEN or DORMANT)."""
    set_by: SetBy
    """Whether a client or the operator set it (CLIENT or PROVIDER)."""
    is_overridable: bool
    """Whether a client may delete it."""
    reason_code: str | None = None
    """Coded reason."""
    reason: str | None = None
    """Reason in prose, at most 1024 characters."""
    created_at: Time
    """When it came into force."""
    deleted_at: Time | None = None
    """When it was deleted; null while it is active."""
    identity_id: str
    """The identity it restricts."""
    created_by: str | None = None
    """Id of the client that created it, or a name of the operator such as ``operator:desk``."""
    deleted_by: str | None = None
    """Id of the client that deleted it, or a name of the operator such as ``operator:desk``."""
    deletion_reason: str | None = None
    """Reason for the deletion in prose."""
    customer_id: str | None = None
    """The customer it belongs to; shown to the operator only."""


class Permission(Record, frozen=True, kw_only=True):
    """Whether an action is permitted."""

    permitted: bool
    """Whether the action is permitted."""


class Orchestration(Record, frozen=True, kw_only=True):
    """A movement of value from a source to a destination."""

    id: str
    """Identifies the orchestration."""
    profile_id: str | None = None
    """The profile it belongs to."""
    identity_id: str | None = None
    """The identity it belongs to."""
    account_id: str | None = None
    """The account it belongs to."""
    customer_id: str
    """The customer it belongs to."""
    ref_id: str | None = None
    """Reference id given by the client."""
    source_asset: str | None = None
    """Asset that leaves the source."""
    destination_asset: str | None = None
    """Asset that arrives at the destination."""
    source_amount: Amount | None = None
    """Amount that leaves the source, in units of source_asset."""
    source_transfer: Transfer | None = None
    """The transfer out of the source."""
    destination_transfer: Transfer | None = None
    """The transfer into the destination."""
    status: str
    """PENDING, PROCESSING, COMPLETED, FAILED, REJECTED; later versions may add values."""
    fail_reason: FailReason | None = None
    """Why it failed."""
    source: Source | None = None
    """Where the value comes from."""
    destination: Destination | None = None
    """Where the value goes."""
    orchestration_rule_id: str | None = None
    """The rule that initiated it."""
    created_at: Time
    """Creation time."""
    updated_at: Time
    """Time of the last change."""
    metadata: dict[str, str] | None = None
    """The client's own keys and values."""


class Transfer(Record, frozen=True, kw_only=True):
    """One of the two transfers of an orchestration."""

    transfer_id: str | None = None
    """Identifies the transfer."""
    status: str | None = None
    """PENDING, PROCESSING, COMPLETED, FAILED; later versions may add values."""


class FailReason(Record, frozen=True, kw_only=True):
    """The reason why an orchestration failed."""

    detail: str | None = None
    """Why it failed, in prose."""


class Source(Record, frozen=True, kw_only=True):
    """The source of the value of an orchestration. One member is set."""

    crypto: CryptoEndpoint | None = None
    """A crypto address."""
    fiat: FiatSource | None = None
    """A fiat instrument."""
    profile: ProfileEndpoint | None = None
    """A profile."""


class CryptoEndpoint(Record, frozen=True, kw_only=True):
    """A crypto address as the source or destination of an orchestration."""

    address_id: str | None = None
    """Identifies the address."""
    address: str | None = None
    """The address as received."""
    network: str | None = None
    """Its network."""


class FiatSource(Record, frozen=True, kw_only=True):
    """A fiat deposit as the source of an orchestration."""

    deposit_instructions_id: str | None = None
    """Identifies the deposit instructions."""
    memo: str | None = None
    """Text sent with the payment."""


class ProfileEndpoint(Record, frozen=True, kw_only=True):
    """A profile as the source or destination of an orchestration."""

    profile_id: str | None = None
    """The profile."""


class Destination(Record, frozen=True, kw_only=True):
    """The destination of the value of an orchestration. One member is set."""

    crypto: CryptoEndpoint | None = None
    """A crypto address."""
    fiat: FiatDestination | None = None
    """A fiat instrument."""
    profile: ProfileEndpoint | None = None
    """A profile."""


class FiatDestination(Record, frozen=True, kw_only=True):
    """A bank account as the destination of an orchestration."""

    bank_account_id: str | None = None
    """Identifies the bank account."""
    memo: str | None = None
    """Text sent with the payment."""


class PayoutGroup(Record, frozen=True, kw_only=True):
    """Reward addresses that are paid out together."""

    id: str
    """Identifies the group, a UUID."""
    ledger: Ledger
    """The ledger it is paid on (ETHEREUM, SOLANA, INK, XLAYER or ARBITRUM_ONE)."""
    asset_type: str | None = None
    """The asset it is paid in."""
    rate_id: str | None = None
    """Id of the rate that applies, as observed."""
    jurisdiction: str | None = None
    """The country or region whose law applies to it."""
    claimer_address: str | None = None
    """Address that claims for the group."""
    onchain_status: str | None = None
    """Status as observed; an open set of values."""
    balance: Amount | None = None
    """Unclaimed balance, in units of asset_type."""
    created_at: Time
    """Creation time."""
    updated_at: Time
    """Time of the last change."""
    name: str | None = None
    """Name for people, at most 256 characters."""
    manager_address: str | None = None
    """Address that manages the group."""
    destination_address: str | None = None
    """Address that receives the payouts."""
    onchain_group_id: str | None = None
    """Its id on chain, as observed."""
    balance_at: Time | None = None
    """When the balance was observed."""
    last_claim_all_at: Time | None = None
    """When the latest CLAIM_ALL claim was confirmed."""
    schedule_type: ScheduleType | None = None
    """How often it is claimed (DAILY)."""
    customer_id: str | None = None
    """The customer it belongs to; shown to the operator only."""


class RewardAddress(Record, frozen=True, kw_only=True):
    """A monitored address whose rewards are attributed to a payout group."""

    id: str
    """Identifies the address, a UUID."""
    ledger: Ledger
    """The ledger of the address (ETHEREUM, SOLANA, INK, XLAYER or ARBITRUM_ONE)."""
    address: str
    """The monitored address."""
    name: str | None = None
    """Name for people, at most 256 characters."""
    payout_group_id: str | None = None
    """The group it is attributed to."""
    balance: Amount | None = None
    """Its balance at the requested time, in the asset of its group; set by lists with
       include_balance.
    """
    status: str | None = None
    """Status as observed; an open set of values."""
    created_at: Time
    """Creation time."""
    customer_id: str | None = None
    """The customer it belongs to; shown to the operator only."""


class Claim(Record, frozen=True, kw_only=True):
    """A transaction that claims a payout group's rewards."""

    id: str
    """Identifies the claim."""
    payout_group_id: str
    """The group it claims for."""
    claim_type: str
    """CLAIM_ALL; later versions may add values."""
    claim_schedule_id: str | None = None
    """The schedule that started it."""
    onchain_status: ClaimStatus
    """Status of the transaction (PENDING, SUBMITTED, CONFIRMED or FAILED)."""
    amount: Amount
    """Amount claimed, in units of asset_type."""
    tx_hash: str | None = None
    """Hash of the transaction."""
    addresses: tuple[str, ...] | None = None
    """The reward addresses claimed from."""
    error_message: str | None = None
    """Why it failed."""
    blockchain: str | None = None
    """The chain it runs on."""
    asset_type: str | None = None
    """The asset claimed."""
    submitted_at: Time | None = None
    """When it was sent to the chain."""
    confirmed_at: Time | None = None
    """When the chain confirmed it."""
    created_at: Time
    """Creation time."""
    updated_at: Time
    """Time of the last change."""
    customer_id: str | None = None
    """The customer it belongs to; shown to the operator only."""


class Balance(Record, frozen=True, kw_only=True):
    """The balance of a reward address at a time, as the operator recorded it."""

    address_id: str
    """The reward address."""
    balance: Amount
    """Its balance, in units of the asset of its payout group."""
    at: Time
    """Time of the balance."""


class ChangePage(Record, frozen=True, kw_only=True):
    """Changes in order of commit."""

    items: tuple[Change, ...]
    """The changes; a page that is not the last may have none."""
    next_cursor: str
    """The place after this page in the feed; never empty."""
    has_more: bool
    """Whether the feed goes on after this page."""


class Change(Record, frozen=True, kw_only=True):
    """A change of a record: what was written, when and by whom."""

    cursor: str
    """The place after this change in the feed; valid until changes after it are archived."""
    sequence: int | None = None
    """The entry of the journal; shown to the operator only."""
    recorded_at: Time
    """When it was written."""
    actor: str
    """Id of the client, or a name of the operator such as ``operator:desk``."""
    operation: str
    """Such as ``controls.create`` or ``claims.load``."""
    resource: ChangedResource
    """The resource of the record (identities, controls, orchestrations, payout_groups,
       reward_addresses, balances or claims).
    """
    id: str
    """Identifies the record; of a balance, its address."""
    customer_id: str | None = None
    """The customer of the record; shown to the operator only."""
    before: dict[str, Any] | None = None
    """The earlier values of the members that changed; the whole record if it was removed, unset if
       it was created.
    """
    after: dict[str, Any] | None = None
    """The new values of the members that changed; the whole record if it was created, unset if it
       was removed. A member that is not set is left out, and a document such as ``metadata`` is its
       JSON text.
    """


class JournalPage(Record, frozen=True, kw_only=True):
    """Entries of the journal in order of commit."""

    items: tuple[dict[str, Any], ...]
    """The entries; the canonical JSON (RFC 8785) of each is a leaf."""
    last: int
    """The number of the last entry that was visited; continue after it."""
    has_more: bool
    """Whether the journal goes on after this page."""


class InclusionProof(Record, frozen=True, kw_only=True):
    """A proof that an entry is in the journal (RFC 9162, section 2.1.3)."""

    entry: str
    """Its canonical JSON, whose SHA-256 behind a zero byte is a leaf of the tree."""
    sequence: int
    """The number of the leaf."""
    size: int
    """The number of leaves of the tree."""
    root: str
    """The root of the tree, in hexadecimal."""
    proof: tuple[str, ...]
    """The hashes that lead from the leaf to the root, in hexadecimal."""


class Webhooks(Record, frozen=True, kw_only=True):
    """The webhooks of a caller."""

    items: tuple[Webhook, ...]
    """The webhooks, oldest first."""


class Webhook(Record, frozen=True, kw_only=True):
    """An endpoint that gets a signed request for each change of a record."""

    id: str
    """Identifies the webhook, a UUID."""
    url: str
    """The URL that gets the requests."""
    event_types: tuple[str, ...]
    """The types of its events: ``claim.created``, ``claim.*`` for a group, ``*`` for all."""
    description: str | None = None
    """Text for people, at most 256 characters."""
    status: WebhookStatus
    """Whether events are delivered (ACTIVE or PAUSED)."""
    status_reason: str | None = None
    """Why it is paused."""
    secret_changed_at: Time
    """When its secret was created or rotated."""
    created_at: Time
    """Creation time."""
    updated_at: Time
    """Time of the last change."""
    customer_id: str | None = None
    """The customer whose events it gets; unset for those of all customers; shown to the operator
       only.
    """


class WebhookSecret(Record, frozen=True, kw_only=True):
    """What a receiver verifies the signatures of its requests with."""

    secret: str
    """Secret of signatures ``v1`` (HMAC-SHA256): ``whsec_`` and base64."""
    public_key: str
    """Public key of signatures ``v1a`` (Ed25519): ``whpk_`` and base64."""
    previous_until: Time | None = None
    """Until when requests also have signatures of the secret before the last rotation."""


class WebhookDelivery(Record, frozen=True, kw_only=True):
    """An event that was not delivered yet, or a test."""

    webhook_id: str
    """Identifies the event, as the header ``webhook-id``."""
    event_type: str
    """The type of the event, such as ``claim.created``."""
    occurred_at: Time
    """Time of the event."""
    attempts: int
    """How many attempts were made."""
    first_attempt_at: Time | None = None
    """Time of the first attempt."""
    last_attempt_at: Time | None = None
    """Time of the last attempt."""
    next_attempt_at: Time | None = None
    """Earliest time of the next attempt."""
    last_error: str | None = None
    """Why the last attempt failed."""


class WebhookDeliveries(Record, frozen=True, kw_only=True):
    """What a webhook has not delivered, and its last test."""

    items: tuple[WebhookDelivery, ...]
    """At most 1000 events in order, and the last test: it was delivered if it has an attempt and no
       ``last_error``.
    """
