"""Runs the tests of balances with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_balances import *  # noqa: F403
