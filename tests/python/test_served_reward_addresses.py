"""Reward addresses of a server: what holds of an opened store holds of a served one."""

from on_loopback import open_as, shared_open_as, start  # noqa: F401
from test_reward_addresses import *  # noqa: F403
