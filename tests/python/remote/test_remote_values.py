"""Runs the tests of values with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_ledger_addresses import *  # noqa: F403
from test_money import *  # noqa: F403
from test_money import _purse  # noqa: F401
from test_timestamps import *  # noqa: F403
from test_values import *  # noqa: F403
