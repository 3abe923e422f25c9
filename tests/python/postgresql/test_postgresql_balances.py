"""Runs the tests of balances with a database."""

from test_balances import *  # noqa: F403
