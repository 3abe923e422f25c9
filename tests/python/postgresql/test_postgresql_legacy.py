"""Runs the tests of legacy with a database."""

from test_legacy import *  # noqa: F403
