"""Runs the tests of reward addresses with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_reward_addresses import *  # noqa: F403
