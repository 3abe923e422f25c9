"""Runs the tests of payout groups with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_payout_groups import *  # noqa: F403
