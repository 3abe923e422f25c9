"""The values of closed sets, the kinds of records, and names of members."""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from typing import Literal, TypeAlias

#: APPROVED: no control is active.
#: DISABLED: at least one control is active, and none is FROZEN.
#: ERROR: a FROZEN control is active.
IdentityStatus: TypeAlias = Literal["APPROVED", "DISABLED", "ERROR"]

#: SELL_ONLY: the identity may only sell.
#: CLOSED: the identity is closed and may do nothing.
#: FROZEN: the identity is frozen for compliance reasons; only the operator sets it.
#: DORMANT: the identity is dormant because it was inactive.
ControlType: TypeAlias = Literal["SELL_ONLY", "CLOSED", "FROZEN", "DORMANT"]

#: CLIENT: a client of the identity's customer.
#: PROVIDER: the operator of the service.
SetBy: TypeAlias = Literal["CLIENT", "PROVIDER"]

#: BUY: buy assets.
#: SELL: sell assets; the only action that SELL_ONLY permits.
#: DEPOSIT: pay funds in.
#: WITHDRAW: pay funds out.
Action: TypeAlias = Literal["BUY", "SELL", "DEPOSIT", "WITHDRAW"]

#: DESC: newest first.
#: ASC: oldest first.
Order: TypeAlias = Literal["DESC", "ASC"]

#: ETHEREUM: Ethereum; addresses are 20 bytes in hex.
#: SOLANA: Solana; addresses are 32 bytes in base58.
#: INK: Ink; same address format as ETHEREUM.
#: XLAYER: X Layer; same address format as ETHEREUM.
#: ARBITRUM_ONE: Arbitrum One; same address format as ETHEREUM.
Ledger: TypeAlias = Literal["ETHEREUM", "SOLANA", "INK", "XLAYER", "ARBITRUM_ONE"]

#: DAILY: rewards are claimed once a day.
ScheduleType: TypeAlias = Literal["DAILY"]

#: PENDING: not yet sent to the chain.
#: SUBMITTED: sent to the chain, not yet confirmed.
#: CONFIRMED: confirmed by the chain; final.
#: FAILED: the claim failed; final.
ClaimStatus: TypeAlias = Literal["PENDING", "SUBMITTED", "CONFIRMED", "FAILED"]

#: identities: identities.
#: controls: identity controls.
#: orchestrations: orchestrations.
#: payout_groups: payout groups.
#: reward_addresses: reward addresses.
#: balances: balances, which only the operator sees.
#: claims: reward claims.
ChangedResource: TypeAlias = Literal[
    "identities",
    "controls",
    "orchestrations",
    "payout_groups",
    "reward_addresses",
    "balances",
    "claims",
]

#: identities: identities.
#: controls: identity controls.
#: orchestrations: orchestrations.
#: payout_groups: payout groups.
#: reward_addresses: reward addresses.
#: balances: balances, which only the operator sees.
#: claims: reward claims.
#: webhooks: webhooks, which are no records of the feed.
JournalResource: TypeAlias = Literal[
    "identities",
    "controls",
    "orchestrations",
    "payout_groups",
    "reward_addresses",
    "balances",
    "claims",
    "webhooks",
]

#: ACTIVE: events are delivered to it.
#: PAUSED: no events are delivered to it until its status is set to ACTIVE.
WebhookStatus: TypeAlias = Literal["ACTIVE", "PAUSED"]

#: The kinds of records as loads, exports and streams name them, in an order in which they can be
#: loaded.
KINDS = (
    "identities",
    "controls",
    "orchestrations",
    "payout-groups",
    "reward-addresses",
    "claims",
    "balances",
)

#: The members that are amounts, whose values must be exact.
AMOUNTS = frozenset(["amount", "balance", "source_amount"])

#: The parameters whose names no argument can have, by the names of the arguments.
RENAMED = {
    "created_at_lt": "created_at.lt",
    "created_at_lte": "created_at.lte",
    "created_at_eq": "created_at.eq",
    "created_at_gte": "created_at.gte",
    "created_at_gt": "created_at.gt",
    "updated_at_lt": "updated_at.lt",
    "updated_at_lte": "updated_at.lte",
    "updated_at_eq": "updated_at.eq",
    "updated_at_gte": "updated_at.gte",
    "updated_at_gt": "updated_at.gt",
}
