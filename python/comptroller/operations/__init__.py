"""The operations: one class for each resource, one method for each operation.

The classes do not know where the service runs: a :class:`Transport` carries their calls to a store
of this process or to a server.
"""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from comptroller.operations.balances import AsyncBalances, Balances
from comptroller.operations.claims import AsyncClaims, Claims
from comptroller.operations.controls import AsyncControls, Controls
from comptroller.operations.identities import AsyncIdentities, Identities
from comptroller.operations.orchestrations import AsyncOrchestrations, Orchestrations
from comptroller.operations.payout_groups import AsyncPayoutGroups, PayoutGroups
from comptroller.operations.resource import AsyncTransport, Transport
from comptroller.operations.reward_addresses import AsyncRewardAddresses, RewardAddresses

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
    "Balances",
    "Claims",
    "Controls",
    "Identities",
    "Orchestrations",
    "PayoutGroups",
    "Resources",
    "RewardAddresses",
    "Transport",
]


class Resources:
    """The resources of a service, each with its operations."""

    identities: Identities
    controls: Controls
    orchestrations: Orchestrations
    payout_groups: PayoutGroups
    reward_addresses: RewardAddresses
    claims: Claims
    balances: Balances

    def __init__(self, transport: Transport) -> None:
        self.identities = Identities(transport)
        self.controls = Controls(transport)
        self.orchestrations = Orchestrations(transport)
        self.payout_groups = PayoutGroups(transport)
        self.reward_addresses = RewardAddresses(transport)
        self.claims = Claims(transport)
        self.balances = Balances(transport)


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
