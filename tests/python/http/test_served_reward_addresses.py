"""Runs the tests of reward addresses with a server in this process."""

from on_loopback import open_as, shared_open_as, start  # noqa: F401
from test_reward_addresses import *  # noqa: F403
