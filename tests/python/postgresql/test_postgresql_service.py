"""Runs the tests of a service with a database."""

from test_service import *  # noqa: F403
