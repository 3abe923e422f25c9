"""What can be done: one class for each noun, every method one operation of a transport.

The classes know nothing of where the service runs; a :class:`Transport` carries their calls to a
store in this process or elsewhere.
"""

from comptroller.operations.claims import Claims
from comptroller.operations.controls import Controls
from comptroller.operations.identities import Identities
from comptroller.operations.noun import Transport
from comptroller.operations.orchestrations import Orchestrations
from comptroller.operations.payout_groups import PayoutGroups
from comptroller.operations.reward_addresses import Balances, RewardAddresses

__all__ = [
    "Balances",
    "Claims",
    "Controls",
    "Identities",
    "Orchestrations",
    "PayoutGroups",
    "RewardAddresses",
    "Transport",
]
