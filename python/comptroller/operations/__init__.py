"""The operations: one class for each resource, one method for each operation.

The classes do not know where the service runs: a :class:`Transport` carries their calls to a store
of this process or to a server.
"""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from comptroller.operations.balances import Balances
from comptroller.operations.claims import Claims
from comptroller.operations.controls import Controls
from comptroller.operations.identities import Identities
from comptroller.operations.orchestrations import Orchestrations
from comptroller.operations.payout_groups import PayoutGroups
from comptroller.operations.resource import Transport
from comptroller.operations.reward_addresses import RewardAddresses

__all__ = [
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
