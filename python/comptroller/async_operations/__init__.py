"""The asynchronous twins of the operations: the same methods, as coroutines."""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from comptroller.async_operations.balances import AsyncBalances
from comptroller.async_operations.claims import AsyncClaims
from comptroller.async_operations.controls import AsyncControls
from comptroller.async_operations.identities import AsyncIdentities
from comptroller.async_operations.orchestrations import AsyncOrchestrations
from comptroller.async_operations.payout_groups import AsyncPayoutGroups
from comptroller.async_operations.resource import AsyncTransport
from comptroller.async_operations.reward_addresses import AsyncRewardAddresses

__all__ = [
    "AsyncBalances",
    "AsyncClaims",
    "AsyncControls",
    "AsyncIdentities",
    "AsyncOrchestrations",
    "AsyncPayoutGroups",
    "AsyncResources",
    "AsyncRewardAddresses",
    "AsyncTransport",
]


class AsyncResources:
    """The resources of a service, each with its operations."""

    identities: AsyncIdentities
    controls: AsyncControls
    orchestrations: AsyncOrchestrations
    payout_groups: AsyncPayoutGroups
    reward_addresses: AsyncRewardAddresses
    claims: AsyncClaims
    balances: AsyncBalances

    def __init__(self, transport: AsyncTransport) -> None:
        self.identities = AsyncIdentities(transport)
        self.controls = AsyncControls(transport)
        self.orchestrations = AsyncOrchestrations(transport)
        self.payout_groups = AsyncPayoutGroups(transport)
        self.reward_addresses = AsyncRewardAddresses(transport)
        self.claims = AsyncClaims(transport)
        self.balances = AsyncBalances(transport)
