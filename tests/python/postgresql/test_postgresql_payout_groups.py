"""Runs the tests of payout groups with a database."""

from test_payout_groups import *  # noqa: F403
