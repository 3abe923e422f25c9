"""Runs the tests of identities with a database."""

from test_identities import *  # noqa: F403
