"""Runs the tests of controls with a database."""

from test_controls import *  # noqa: F403
