"""Runs the tests of identities with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_identities import *  # noqa: F403
