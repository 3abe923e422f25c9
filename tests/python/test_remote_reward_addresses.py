"""Reward addresses from afar: what holds of an opened store holds of a connected one."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_reward_addresses import *  # noqa: F403
