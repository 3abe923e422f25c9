"""Runs the rule vectors with a database."""

from test_vectors import *  # noqa: F403
