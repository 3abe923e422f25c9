"""Runs the tests of reward addresses with a database."""

from test_reward_addresses import *  # noqa: F403
