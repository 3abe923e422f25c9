"""Runs the tests of orchestrations with a database."""

from test_orchestrations import *  # noqa: F403
