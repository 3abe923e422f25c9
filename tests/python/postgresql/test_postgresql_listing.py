"""Runs the tests of listing with a database."""

from test_listing import *  # noqa: F403
