"""Runs the tests of tenancy with a database."""

from test_tenancy import *  # noqa: F403
