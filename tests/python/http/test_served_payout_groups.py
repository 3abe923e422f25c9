"""Runs the tests of payout groups with a server in this process."""

from on_loopback import open_as, shared_open_as, start  # noqa: F401
from test_payout_groups import *  # noqa: F403
