"""Runs the tests of claims with a database."""

from test_claims import *  # noqa: F403
