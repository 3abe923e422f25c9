"""Runs the tests of cursors with a database."""

from test_cursors import *  # noqa: F403
